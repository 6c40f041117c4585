package replay

import (
	"fmt"
	"strings"
)

// String shows a step to an operator: what the record said, and what the bot would.
func (s Step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d  %s", s.Seq, s.Type)
	if s.Result != Applied {
		fmt.Fprintf(&b, "  %s", s.Result)
	}
	if s.Error != "" {
		first, _, _ := strings.Cut(s.Error, "\n")
		fmt.Fprintf(&b, "  after %d tries: %s", s.Tries, first)
	}
	b.WriteByte('\n')
	say := func(who, text string) {
		if text != "" {
			b.WriteString(who + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", len(who))) + "\n")
		}
	}
	say("    user: ", s.Text)
	for _, send := range s.Sends {
		say("    bot:  ", send.Text)
		for _, row := range send.Buttons {
			for _, button := range row {
				fmt.Fprintf(&b, "          [%s]\n", button.Label)
			}
		}
	}
	return b.String()
}
