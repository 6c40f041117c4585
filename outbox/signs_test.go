package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// grown is the part that [process.grow] sends.
var grown = botmesh.EagerLetterID(chatA, "j1", 1, 0) + ".0"

// shown waits until a text is shown, and returns how long that took.
func (p *process) shown(d *Delivery, text string) time.Duration {
	began := time.Now()
	for {
		again, shown := d.Show(p.w.Context(), grown, botmesh.Send{Text: text})
		if shown {
			return time.Since(began)
		}
		if again <= 0 || time.Since(began) > time.Minute {
			p.w.Fatalf("%q: got it never shown, want it shown", text)
		}
		<-time.After(again)
	}
}

// What a message says in between is shown in it, cut to one part, no more often than the
// platform bears; also by a replica that did not send it. It leaves nothing in the chain.
//
// DESIGN: C7
func TestATextIsShownInAMessageThatGrows(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", editing), w.process("b", editing)
		d := a.Deliver(w.Context(), chatA)
		a.wait(d, a.grow("…"))
		entries := len(w.chain())
		a.shown(d, "half,more")
		if took := a.shown(d, "whole"); took != minPace {
			t.Errorf("the next text: got it after %v, want %v", took, minPace)
		}
		if got := len(w.chain()); got != entries {
			t.Errorf("entries: got %d, want %d as before", got, entries)
		}
		a.end(d)
		if again, shown := d.Show(w.Context(), grown, botmesh.Send{Text: "late"}); shown || again == 0 {
			t.Errorf("after Close: got shown %v, want it not shown", shown)
		}
		d = b.Deliver(w.Context(), chatA)
		b.shown(d, "again")
		b.end(d)
		b.deliver(b.replace("done"))
		want(w, "calls", w.called(), []string{"a:…", "a:m-…=half", "a:m-…=whole", "b:m-…=again", "b:m-…=done"})
	})
}

// A sign is not given where it would be in the way of what is sent, or is not wanted.
//
// SPEC: O4 O5
func TestASignGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		before func(a *process)
	}{
		"the chat is paused": {func(c *Config) { c.Paused = func(botmesh.ChatKey) bool { return true } }, nil},
		"over the limits": {func(c *Config) {
			c.Limiter = limiter{allow: func(Demand) time.Duration { return time.Second }}
		}, nil},
		"the account is down": {nil, func(a *process) {
			for n := range downCalls {
				heard, err := a.breakers["test"].allow(chatN("test", n))
				if err != nil {
					a.w.Fatal(err)
				}
				heard(errors.New("away"))
			}
		}},
		"the platform asked for a pause": {nil, func(a *process) { a.breakers["test"].keepQuiet(time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				first := w.process("a", editing)
				first.deliver(first.grow("…"))
				config := []func(*Config){editing}
				if c.change != nil {
					config = append(config, c.change)
				}
				b := w.process("b", config...)
				d := b.Deliver(w.Context(), chatA)
				b.wait(d, w.out)
				if c.before != nil {
					c.before(b)
				}
				if again, shown := d.Show(w.Context(), grown, botmesh.Send{Text: "half"}); shown || again < minPace {
					t.Errorf("got shown %v and again after %v, want it not shown and again after %v or more", shown, again, minPace)
				}
				b.end(d)
				want(w, "calls", w.called(), []string{"a:…"})
			})
		})
	}
}

// While a letter waits for its call no sign takes the call that the platform allows.
func TestASignWaitsForLetters(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a", editing)
		d := a.Deliver(w.Context(), chatA)
		a.wait(d, a.grow("…"))
		var free atomic.Bool
		a.answer = func(_ context.Context, part string) error {
			if part == "2" && !free.Load() {
				return provider.Retry(errors.New("later"), 5*time.Second)
			}
			return nil
		}
		seq := a.sayIn(botmesh.EagerLetterID(chatA, "j1", 1, 1), botmesh.Send{Text: "2"})
		s := a.wait(d, seq) // till it is put off
		<-time.After(minPace)
		if _, shown := d.Show(w.Context(), grown, botmesh.Send{Text: "half"}); shown {
			t.Error("got a sign, want the letter first")
		}
		free.Store(true)
		<-time.After(time.Until(s.NotBefore))
		a.wait(d, seq)
		a.shown(d, "half")
		a.end(d)
		want(w, "calls", w.called(), []string{"a:…", "a:2", "a:2", "a:m-…=half"})
	})
}

// typist is a process whose platform shows for five seconds that the bot is at work.
type typist struct {
	*process
	chat provider.Rate
}

func (s typist) Limits(botmesh.ChatKey) provider.Limits { return provider.Limits{Chat: s.chat} }

func (s typist) Typing(ctx context.Context, _ botmesh.ChatKey, messageID string) (time.Duration, error) {
	_, err := s.Call(ctx, provider.Call{Send: botmesh.Send{Text: "typing " + messageID}})
	return 5 * time.Second, err
}

// That the bot is at work is shown anew a little before it is gone, or as seldom as two
// calls of the chat are apart.
func TestTypingIsShown(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration
		err   error
		again time.Duration
		shown bool
	}{
		{"in time", time.Second, nil, 4 * time.Second, true},
		{"in a chat that bears little", 4 * time.Second, nil, 8 * time.Second, true},
		{"refused for good", 0, provider.Permanent(errors.New("no")), 0, false},
		{"refused for now", 0, provider.Retry(errors.New("later"), time.Minute), time.Minute, false},
		{"without an answer", 0, errTook, 2 * minPace, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a", func(cfg *Config) {
					cfg.Senders[0] = typist{cfg.Senders[0].(*process), provider.Rate{Every: c.every, Burst: 1}}
				})
				a.answer = func(context.Context, string) error { return c.err }
				d := a.Deliver(w.Context(), chatA)
				if again, shown := d.Typing(w.Context(), "m7"); again != c.again || shown != c.shown {
					t.Errorf("got %v, %v, want %v, %v", again, shown, c.again, c.shown)
				}
				a.end(d)
				want(w, "calls", w.called(), []string{"a:typing m7"})
			})
		})
	}
}
