package flowtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Transcript plays a chat and writes it down. Each line is what the user writes,
// or "! " and the label of a button to press. In what it returns the user's lines
// begin with "> " or "! ", and the bot's with "< ", followed by its buttons in
// brackets. It ends with the first error.
func Transcript(b Bot, lines ...string) string {
	var out strings.Builder
	c := &chat{bot: b}
	for _, line := range lines {
		r := message(line)
		if label, ok := strings.CutPrefix(line, "! "); ok {
			var err error
			if r, err = c.tap(label); err != nil {
				fmt.Fprintf(&out, "error: %v\n", err)
				break
			}
			fmt.Fprintf(&out, "! %s\n", label)
		} else {
			fmt.Fprintf(&out, "> %s\n", line)
		}
		m := &midway{}
		o, err := c.run(context.Background(), c.journal(r), 1, m)
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
			break
		}
		for _, s := range c.commit(o, m) {
			writeSend(&out, s)
		}
	}
	return out.String()
}

func writeSend(out *strings.Builder, s botmesh.Send) {
	out.WriteString("< " + strings.ReplaceAll(s.Text, "\n", "\n  "))
	for _, row := range s.Buttons {
		for _, b := range row {
			out.WriteString(" [" + b.Label + "]")
		}
	}
	out.WriteString("\n")
}
