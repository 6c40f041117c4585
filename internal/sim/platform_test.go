package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// The platforms, by what becomes of a part in doubt.
const (
	resends = "resend"
	holds   = "hold"
	knows   = "idem" // it recognises a repeated call
	edits   = "edit" // it can change a message; in doubt it holds in every other schedule
)

// platform is a process's way to a platform.
type platform struct {
	p  *process
	id string
}

func (f platform) ID() string { return f.id }

// Split cuts a text at its bars.
func (f platform) Split(s botmesh.Send) (parts []botmesh.Send) {
	for i, text := range strings.Split(s.Text, "|") {
		if text == "" {
			text = fmt.Sprint("part ", i, " of ", s.Text)
		}
		parts = append(parts, botmesh.Send{Text: text})
	}
	parts[0].Media = s.Media
	return parts
}

// Attaches implements [provider.Attacher]: some platforms take files.
func (f platform) Attaches(botmesh.Media) bool { return f.id == resends || f.id == edits }

// Call implements [provider.Sender].
func (f platform) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	made := f.p.s.judge.calls(f.p, c)
	return provider.Sent{MessageID: message(c.Part)}, f.answer(ctx, made, c, "call", func() { f.p.s.judge.takes(made, false) })
}

// message is the id of the message that a part became.
func message(part string) string { return "m:" + part }

// answer is what the platform says to a call, which it may have taken.
func (f platform) answer(ctx context.Context, made *made, c provider.Call, what string, take func()) error {
	s := f.p.s
	k := &call{by: f.p, class: calling, key: what + " " + c.Part + " " + c.Chat.Key(), ctx: ctx, real: func() (any, error) {
		take()
		return nil, nil
	}}
	switch s.park(k) {
	case pass:
		return nil
	case later:
		return provider.Retry(errors.New("not now"), s.pause(c.Part))
	case never:
		return provider.Permanent(errors.New("never"))
	}
	return errors.New("no answer")
}

// pause is how long the platform asks to be left alone, for some parts.
func (s *sim) pause(part string) time.Duration {
	return time.Duration(len(part)%3) * 3 * time.Second
}

// knowing is a platform that recognises a repeated call.
type knowing struct{ platform }

// IdempotentCalls implements [provider.Idempotent].
func (knowing) IdempotentCalls() bool { return true }

// changing is a platform that can change a message, but some, which are gone.
type changing struct{ platform }

// Edit implements [provider.Editor].
func (f changing) Edit(ctx context.Context, c provider.Call, messageID string) error {
	s := f.p.s
	made := s.judge.calls(f.p, c)
	s.judge.edits(made, messageID)
	gone := len(c.Send.Text)%4 == 0
	err := f.answer(ctx, made, c, "edit", func() {
		if !gone {
			s.judge.takes(made, true)
		}
	})
	if err == nil && gone {
		return provider.Permanent(errors.New("the message is gone"))
	}
	return err
}

// inDoubt says what becomes of parts in doubt.
func (s *sim) inDoubt() map[string]outbox.Policy {
	held := map[string]outbox.Policy{holds: outbox.Hold}
	if s.seed%2 == 0 {
		held[edits] = outbox.Hold
	}
	return held
}
