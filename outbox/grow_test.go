package outbox

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// editor is a process whose platform can change a message.
type editor struct{ *process }

// Edit notes the call like [process.Call], under the message and what it is to say.
func (e editor) Edit(ctx context.Context, c provider.Call, messageID string) error {
	c.Send.Text = messageID + "=" + c.Send.Text
	_, err := e.Call(ctx, c)
	return err
}

func editing(c *Config) { c.Senders = []provider.Sender{editor{c.Senders[0].(*process)}} }

// sayIn appends the n-th letter of one record: eager ones that grow, then the commit's.
func (p *process) sayIn(id string, s botmesh.Send) uint64 {
	p.w.Helper()
	l, err := p.Letter(id, chatA, []botmesh.Send{s}, time.Now(), nil)
	if err != nil {
		p.w.Fatal(err)
	}
	if p.w.out, err = p.Append(p.w.Context(), l, p.w.out); err != nil {
		p.w.Fatal(err)
	}
	return p.w.out
}

func (p *process) grow(text string) uint64 {
	p.w.Helper()
	return p.sayIn(botmesh.EagerLetterID(chatA, "j1", 1, 0), botmesh.Send{Text: text, Grows: true})
}

func (p *process) replace(text string) uint64 {
	p.w.Helper()
	return p.sayIn(botmesh.LetterID(chatA, "j1", 1), botmesh.Send{Text: text, Replaces: 1})
}

// DESIGN C7: the message that one replica sent is edited by the next, and what is too
// long for it follows. Only the first part of what grows is sent.
func TestALetterTakesTheMessageOfAnother(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", editing), w.process("b", editing)
		a.deliver(a.grow("…,cut"))
		a.kill()
		b.deliver(b.replace("yes,more"))
		want(w, "calls", w.called(), []string{"a:…", "b:m-…=yes", "b:more"})
		if got := w.lastEntry().Growing; got != nil {
			t.Errorf("when the record's letter is settled: got %v, want nothing kept", got)
		}
		seq, _ := b.append("other")
		b.deliver(seq)
		want(w, "last call", w.lastCall().part, "other")
	})
}

// What can not be edited is a message of its own, so that the text reaches the user.
func TestALetterThatFindsNoMessageIsOne(t *testing.T) {
	refused := provider.Permanent(errors.New("refused"))
	for name, c := range map[string]struct {
		change func(*Config)
		refuse string
		want   []string
	}{
		"the platform can not edit":    {func(*Config) {}, "", []string{"a:…", "a:yes"}},
		"the first text was refused":   {editing, "…", []string{"a:…", "a:yes"}},
		"the message is gone":          {editing, "m-…=yes", []string{"a:…", "a:m-…=yes", "a:yes"}},
		"the message is there as ever": {editing, "", []string{"a:…", "a:m-…=yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a", c.change)
				a.answer = func(_ context.Context, part string) error {
					if part == c.refuse {
						return refused
					}
					return nil
				}
				a.grow("…")
				a.deliver(a.replace("yes"))
				want(w, "calls", w.called(), c.want)
			})
		})
	}
}

// An edit whose answer was lost, by its process or on the wire, is made again, also where
// parts in doubt are held: it is never a second message, and not in doubt.
func TestAnEditInDoubtIsMadeAgain(t *testing.T) {
	t.Run("resend", func(t *testing.T) { anEditInDoubt(t) })
	t.Run("hold", func(t *testing.T) { anEditInDoubt(t, holding) })
}

// A message that was to be edited and can not be is held, if a call was made of which nobody
// knows whether it said the text anew.
func TestAnEditThatIsRefusedInDoubtIsHeld(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", editing, holding), w.process("b", editing, holding)
		gone := func(_ context.Context, part string) error {
			if part == "m-…=yes" {
				return provider.Permanent(errors.New("message to edit not found"))
			}
			a.kill() // as it says the text anew
			return nil
		}
		a.deliver(a.grow("…"))
		seq := a.replace("yes")
		a.answer, b.answer = gone, gone
		end := a.background(seq)
		end()
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"a:…", "a:m-…=yes", "a:yes", "b:m-…=yes"})
		if r := w.lastEntry().Receipt; r == nil || r.Result != botmesh.ResultHeld || !r.InDoubt {
			t.Errorf("receipt: got %+v, want it held in doubt", r)
		}
	})
}

func anEditInDoubt(t *testing.T, policy ...func(*Config)) {
	t.Helper()
	bubble(t, func(w *world) {
		config := append(policy, editing)
		a, b := w.process("a", config...), w.process("b", config...)
		a.deliver(a.grow("…"))
		seq := a.replace("yes")
		a.answer = func(context.Context, string) error { a.kill(); return nil }
		end := a.background(seq)
		end()
		lost := false
		b.answer = func(context.Context, string) error {
			if lost {
				return nil
			}
			lost = true
			return errTook
		}
		s := b.deliver(seq)
		time.Sleep(time.Until(s.NotBefore))
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"a:…", "a:m-…=yes", "b:m-…=yes", "b:m-…=yes"})
		if r := w.lastEntry().Receipt; r == nil || r.Result != botmesh.ResultDelivered || r.InDoubt {
			t.Errorf("receipt: got %+v, want it delivered without a doubt", r)
		}
	})
}

// What can be replaced is bounded: of one record alone, and not of any number of parts.
func TestWhatCanBeReplacedIsOfOneRecord(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a", editing)
		a.deliver(a.grow("…")) // of a record that never ends well
		for n := range maxGrowing + 1 {
			id := botmesh.EagerLetterID(chatA, "j1", 2, n)
			a.deliver(a.sayIn(id, botmesh.Send{Text: strconv.Itoa(n), Grows: true}))
		}
		got := w.lastEntry().Growing
		if first := botmesh.EagerLetterID(chatA, "j1", 2, 0) + ".0"; len(got) != maxGrowing || got[first] != "m-0" {
			t.Errorf("got %d messages, the first is %q, want the %d of record 2, the first m-0", len(got), got[first], maxGrowing)
		}
	})
}

// An earlier message becomes another: by its id, in the chat's order, and once more after a
// crash. What follows its first part, and what the platform can not change, is of its own.
func TestALetterEditsAnEarlierMessage(t *testing.T) {
	gone := provider.Permanent(errors.New("gone"))
	for name, c := range map[string]struct {
		change func(*Config)
		refuse string
		send   botmesh.Send
		want   []string
	}{
		"it can":                         {editing, "", botmesh.Send{Text: "yes,more", Edits: "7"}, []string{"a:7=yes", "a:more"}},
		"the platform can not edit":      {func(*Config) {}, "", botmesh.Send{Text: "yes", Edits: "7"}, []string{"a:yes"}},
		"the message is gone":            {editing, "7=yes", botmesh.Send{Text: "yes", Edits: "7"}, []string{"a:7=yes", "a:yes"}},
		"a file is a message of its own": {attaching, "", botmesh.Send{Text: "yes", Edits: "7", Media: image("").Media}, []string{"a:yes", "a:end"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a", c.change)
				a.answer = func(_ context.Context, part string) error {
					if part == c.refuse {
						return gone
					}
					return nil
				}
				a.deliver(a.sayIn(botmesh.LetterID(chatA, "j1", 1), c.send))
				want(w, "calls", w.called(), c.want)
			})
		})
	}
}
