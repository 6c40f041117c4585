package probe

import (
	"context"
	"errors"

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

// Sender watches the calls to a platform.
func (p *Probe) Sender(s provider.Sender) provider.Sender { return &sender{s, p} }

type sender struct {
	provider.Sender
	p *Probe
}

// Call notes a call to the platform, and what it said.
func (s *sender) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	s.p.at("call"+before, c.Chat.Key())
	e := history.Event{Kind: history.Call, Chat: c.Chat.Key(), Part: c.Part, Text: history.Digest(c.Send.Text)}
	call := s.p.log.Begin(e)
	sent, err := s.Sender.Call(ctx, c)
	done := history.Event{Kind: e.Kind, Chat: e.Chat, Part: e.Part, Outcome: history.Done}
	if err != nil {
		done.Outcome, done.Error = refusal(err), brief(err)
	}
	s.p.log.End(call, done)
	s.p.at("call"+after, c.Chat.Key())
	return sent, err
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
