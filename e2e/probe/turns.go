package probe

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/provider"
)

// Coordinator watches the turns of a coordinator.
func (p *Probe) Coordinator(c coord.Coordinator) coord.Coordinator { return &coordinator{c, p} }

type coordinator struct {
	coord.Coordinator
	p *Probe
}

// Call and Heed are those of the coordinator, which is one that can call.
func (c *coordinator) Call(ctx context.Context, incarnation, message string) error {
	caller, _ := coord.As[coord.Caller](c.Coordinator)
	return caller.Call(ctx, incarnation, message)
}

func (c *coordinator) Heed(hear func(message string)) {
	caller, _ := coord.As[coord.Caller](c.Coordinator)
	caller.Heed(hear)
}

// Take notes a turn that was asked for, and how it came.
func (c *coordinator) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	c.p.at("take"+before, r.Key)
	e := history.Event{Kind: history.Take, Chat: r.Key, By: c.Incarnation(), Place: r.Place, Floor: r.Floor}
	call := c.p.log.Begin(e)
	t, err := c.Coordinator.Take(ctx, r)
	done := history.Event{Kind: e.Kind, Chat: e.Chat, By: e.By}
	var passed *coord.PassedError
	switch {
	case err == nil:
		prev := t.Previous()
		done.Outcome, done.Fence, done.Previous, done.Released, done.Blind = history.Granted, t.Fence(), prev.Incarnation, prev.Released, prev.Blind
	case errors.As(err, &passed):
		done.Outcome, done.Passed = history.Passed, passed.Passed
	default:
		done.Outcome, done.Error = history.Refused, brief(err)
	}
	c.p.log.End(call, done)
	if err != nil {
		return nil, err
	}
	c.p.at("take"+after, r.Key)
	context.AfterFunc(t.Context(), func() { c.p.over(t) })
	return &turn{t, c.p}, nil
}

// over notes a turn that ended otherwise than by its release.
func (p *Probe) over(t coord.Turn) {
	var lost *botmesh.LeaseLostError
	if errors.As(context.Cause(t.Context()), &lost) && lost.Reason != botmesh.LossReleased {
		p.log.Note(history.Event{Kind: history.Lost, Chat: t.Key(), Fence: t.Fence(), Error: string(lost.Reason)})
	}
}

type turn struct {
	coord.Turn
	p *Probe
}

// Release notes that a turn is given up, and how that went.
func (t *turn) Release(ctx context.Context, passed uint64) error {
	t.p.at("release"+before, t.Key())
	e := history.Event{Kind: history.Release, Chat: t.Key(), Fence: t.Fence(), Passed: passed}
	call := t.p.log.Begin(e)
	err := t.Turn.Release(ctx, passed)
	t.p.log.End(call, ended(e, err))
	t.p.at("release"+after, t.Key())
	return err
}

// Sender watches the calls to a platform, but not signs. What else the sender can do, the
// one that is returned can do too.
func (p *Probe) Sender(s provider.Sender) provider.Sender {
	watched := &sender{s, p}
	if e, ok := s.(provider.Editor); ok {
		return &editor{watched, e}
	}
	return watched
}

type sender struct {
	provider.Sender
	p *Probe
}

// Call notes a call to the platform, and what it said.
func (s *sender) Call(ctx context.Context, c provider.Call) (sent provider.Sent, err error) {
	err = s.watch(c, func() error {
		sent, err = s.Sender.Call(ctx, c)
		return err
	})
	return sent, err
}

func (s *sender) watch(c provider.Call, make func() error) error {
	s.p.at("call"+before, c.Chat.Key())
	e := history.Event{Kind: history.Call, Chat: c.Chat.Key(), Part: c.Part, Text: history.Digest(c.Send.Text)}
	call := s.p.log.Begin(e)
	err := make()
	done := history.Event{Kind: e.Kind, Chat: e.Chat, Part: e.Part, Outcome: history.Done}
	if err != nil {
		done.Outcome, done.Error = refusal(err), brief(err)
	}
	s.p.log.End(call, done)
	s.p.at("call"+after, c.Chat.Key())
	return err
}

func refusal(err error) history.Outcome {
	switch {
	case provider.IsPermanent(err):
		return history.Permanent
	case provider.InDoubt(err):
		return history.Doubt
	}
	return history.Retry
}

// IdempotentCalls is the word of the sender that is watched.
func (s *sender) IdempotentCalls() bool {
	i, ok := s.Sender.(provider.Idempotent)
	return ok && i.IdempotentCalls()
}

// Limits are those of the sender that is watched.
func (s *sender) Limits(chat botmesh.ChatKey) provider.Limits {
	if l, ok := s.Sender.(provider.Limited); ok {
		return l.Limits(chat)
	}
	return provider.Limits{}
}

// Typing passes the sign on, if the sender that is watched can give it.
func (s *sender) Typing(ctx context.Context, chat botmesh.ChatKey, messageID string) (time.Duration, error) {
	if t, ok := s.Sender.(provider.Typist); ok {
		return t.Typing(ctx, chat, messageID)
	}
	return 0, provider.Permanent(errors.New("probe: the sender shows no signs"))
}

// Open passes a file on, if the sender that is watched can read it.
func (s *sender) Open(ctx context.Context, chat botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	if o, ok := s.Sender.(provider.Opener); ok {
		return o.Open(ctx, chat, m)
	}
	return nil, botmesh.ErrFileUnsupported
}

// editor is a sender that can change messages.
type editor struct {
	*sender
	provider.Editor
}

// passing is the id of a part that is sent before the end of its run. What is shown in the
// place of another part is a part of its own.
var passing = regexp.MustCompile(`/e\d+\.\d+$`)

// Edit notes the call of a part, as Call does, but not what is shown for a moment.
func (e *editor) Edit(ctx context.Context, c provider.Call, messageID string) error {
	if passing.MatchString(c.Part) {
		return e.Editor.Edit(ctx, c, messageID)
	}
	return e.watch(c, func() error { return e.Editor.Edit(ctx, c, messageID) })
}
