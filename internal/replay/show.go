package replay

import (
	"fmt"
	"strings"

	"github.com/botmesh-go/botmesh"
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
	line(&b, "    user: ", s.Text)
	sends(&b, "    bot:  ", s.Sends)
	return b.String()
}

// line writes what somebody said.
func line(b *strings.Builder, who, text string) {
	if text != "" {
		b.WriteString(who + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", len(who))) + "\n")
	}
}

// sends writes what the bot said.
func sends(b *strings.Builder, who string, of []botmesh.Send) {
	for _, send := range of {
		line(b, who, send.Shown())
		for _, row := range send.Buttons {
			for _, button := range row {
				fmt.Fprintf(b, "%s[%s]\n", strings.Repeat(" ", len(who)), button.Label)
			}
		}
	}
}

// String shows to an operator what came of comparing a chat.
func (c Compared) String() string {
	var b strings.Builder
	b.WriteString(c.Chat + "  " + string(c.Verdict))
	if c.Seq > 0 {
		fmt.Fprintf(&b, " at #%d  %s", c.Seq, c.Type)
	}
	fmt.Fprintf(&b, "  (%d records are the same", c.Records)
	if c.Skipped > 0 {
		fmt.Fprintf(&b, ", %d can not be compared", c.Skipped)
	}
	b.WriteByte(')')
	if c.Why != "" {
		b.WriteString("  " + c.Why)
	}
	b.WriteByte('\n')
	if c.Verdict != Differs {
		return b.String()
	}
	line(&b, "    user: ", c.Text)
	for _, a := range []struct {
		who  string
		said []botmesh.Send
	}{{"    then: ", c.Then}, {"    now:  ", c.Now}} {
		if len(a.said) == 0 {
			b.WriteString(a.who + "nothing\n")
		}
		sends(&b, a.who, a.said)
	}
	if c.Error != "" {
		line(&b, "    it fails: ", c.Error)
	}
	return b.String()
}
