package flowtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Transcript plays a chat and writes it down. Each line is what the user writes,
// or "! " and the label of a button to press, or "~ " and a time that passes. In what
// it returns the user's lines begin with "> ", "! " or "~ ", and the bot's with "< ",
// followed by its buttons in brackets; a file is as in [Player.Bot]. It ends with the first error.
func Transcript(b Bot, lines ...string) string {
	var out strings.Builder
	c := newChat(b)
	defer func() { _ = c.stop() }()
	for _, line := range lines {
		ok := false
		if label, tap := strings.CutPrefix(line, "! "); tap {
			ok = c.press(context.Background(), &out, label)
		} else if after, pass := strings.CutPrefix(line, "~ "); pass {
			ok = c.pass(context.Background(), &out, after)
		} else {
			ok = c.write(context.Background(), &out, message(line), line)
		}
		if !ok {
			break
		}
	}
	return out.String()
}

// write plays what the user writes and writes it down. It reports whether that
// went well.
func (c *chat) write(ctx context.Context, out *strings.Builder, r botmesh.Record, text string) bool {
	fmt.Fprintf(out, "> %s\n", indented(text))
	return c.play(ctx, out, c.journal(r))
}

// press plays the press of a button and writes it down.
func (c *chat) press(ctx context.Context, out *strings.Builder, label string) bool {
	r, err := c.tap(label)
	if err != nil {
		fmt.Fprintf(out, "error: %v\n", err)
		return false
	}
	fmt.Fprintf(out, "! %s\n", label)
	return c.play(ctx, out, c.journal(r))
}

// pass lets time pass and writes it down.
func (c *chat) pass(ctx context.Context, out *strings.Builder, after string) bool {
	d, err := time.ParseDuration(after)
	if err != nil || d < 0 {
		fmt.Fprintf(out, "error: %q is no time that passes, such as 15m\n", after)
		return false
	}
	fmt.Fprintf(out, "~ %s\n", after)
	return c.advance(d, func(r botmesh.Record) bool { return c.play(ctx, out, r) })
}

func (c *chat) play(ctx context.Context, out *strings.Builder, r botmesh.Record) bool {
	m := &midway{}
	o, err := c.run(ctx, r, 1, m)
	if err != nil {
		fmt.Fprintf(out, "error: %v\n", err)
		return false
	}
	for _, s := range c.commit(o, m) {
		writeSend(out, s)
	}
	return true
}

func writeSend(out *strings.Builder, s botmesh.Send) {
	out.WriteString("< " + indented(s.Shown()))
	for _, row := range s.Buttons {
		for _, b := range row {
			out.WriteString(" [" + b.Label + "]")
		}
	}
	out.WriteString("\n")
}

// indented writes the lines of a text below each other.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }
