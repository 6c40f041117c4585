package provider

import (
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Numbered writes the buttons of s below its text, one numbered line each, for a
// platform that can not show them. They are then not pressed but answered in words.
func Numbered(s botmesh.Send) botmesh.Send {
	var b strings.Builder
	b.WriteString(s.Text)
	n := 0
	for _, row := range s.Buttons {
		for _, button := range row {
			if n++; n == 1 && s.Text != "" {
				b.WriteString("\n")
			}
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString(strconv.Itoa(n) + ". " + button.Label)
		}
	}
	return botmesh.Send{Text: b.String()}
}
