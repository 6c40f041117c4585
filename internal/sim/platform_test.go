package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// The platforms, by what becomes of a part in doubt.
const (
	resends = "resend"
	holds   = "hold"
	knows   = "idem" // it recognises a repeated call
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
	return parts
}

// Call implements [provider.Sender].
func (f platform) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	s := f.p.s
	made := s.judge.calls(f.p, c)
	k := &call{by: f.p, class: calling, key: "call " + c.Part + " " + c.Chat.Key(), ctx: ctx, real: func() (any, error) {
		s.judge.takes(made)
		return nil, nil
	}}
	switch s.park(k) {
	case pass:
		return provider.Sent{MessageID: "m"}, nil
	case later:
		return provider.Sent{}, provider.Retry(errors.New("not now"), s.pause(c.Part))
	case never:
		return provider.Sent{}, provider.Permanent(errors.New("never"))
	}
	return provider.Sent{}, errors.New("no answer")
}

// pause is how long the platform asks to be left alone, for some parts.
func (s *sim) pause(part string) time.Duration {
	return time.Duration(len(part)%3) * 3 * time.Second
}

// knowing is a platform that recognises a repeated call.
type knowing struct{ platform }

// IdempotentCalls implements [provider.Idempotent].
func (knowing) IdempotentCalls() bool { return true }
