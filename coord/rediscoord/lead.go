package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

var errNoName = errors.New("rediscoord: a leadership without a name")

// TryLead implements [coord.Elector]. It waits for Redis no longer than two of its
// answers may take.
func (c *Coordinator) TryLead(ctx context.Context, name string) (coord.Leadership, error) {
	if name == "" {
		return nil, errNoName
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c.cool.Left(name) > 0 {
		return nil, fmt.Errorf("rediscoord: leading %s: it cools off here: %w", name, coord.ErrHeld)
	}
	t, err := c.admit(coord.KindLead, coord.Request{Key: name})
	if err != nil {
		return nil, err
	}
	defer c.busy.Done()
	t.try = true
	turn, err := c.tryOnce(ctx, t)
	if err != nil {
		c.withdraw(t, err)
		return nil, err
	}
	return &leadership{turn}, nil
}

// tryOnce asks for the turn of a ticket that does not wait.
func (c *Coordinator) tryOnce(ctx context.Context, t *ticket) (*turn, error) {
	if err := c.reachable(ctx, t.key); err != nil {
		return nil, err
	}
	sent := lease.Now()
	said, err := c.ask(ctx, t)
	switch {
	case said.granted:
		return c.hold(t, said.grant, sent), nil
	case err == nil:
		t.asked = false // it is not in line
		return nil, fmt.Errorf("rediscoord: leading %s: %w", t.key, coord.ErrHeld)
	}
	return nil, fmt.Errorf("rediscoord: leading %s: %w: %w", t.key, err, botmesh.ErrCoordinationUnavailable)
}

// reachable waits a little for the first answer of Redis, and says whether the
// prefix is ours to use.
func (c *Coordinator) reachable(ctx context.Context, key string) error {
	late := fmt.Errorf("rediscoord: %s: Redis does not answer: %w", key, botmesh.ErrCoordinationUnavailable)
	ctx, cancel := context.WithTimeoutCause(ctx, c.wires.timeout, late)
	defer cancel()
	if err := c.awaitReady(ctx, func() {}); err != nil {
		return err
	}
	return c.refusal()
}

// Campaign implements [coord.Elector].
func (c *Coordinator) Campaign(ctx context.Context, name string) (coord.Leadership, error) {
	if name == "" {
		return nil, errNoName
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.cool.Wait(ctx, name, c.closing.Done()); err != nil {
		return nil, err
	}
	turn, err := c.queue(ctx, coord.KindLead, coord.Request{Key: name})
	if err != nil {
		return nil, err
	}
	return &leadership{turn}, nil
}

// leadership implements [coord.Leadership] by the turn at a name.
type leadership struct{ turn *turn }

func (l *leadership) Name() string             { return l.turn.key }
func (l *leadership) Context() context.Context { return l.turn.Context() }
func (l *leadership) Fence() uint64            { return l.turn.fence }
func (l *leadership) Previous() coord.Previous { return l.turn.previous }

func (l *leadership) Confirm(ctx context.Context) error {
	t := l.turn
	if err := t.lease.Err(); err != nil {
		return err
	}
	sent := lease.Now()
	r, err := t.coordinator.wires.do(ctx, t.renewal())
	if err == nil {
		err = t.renewed(r, sent)
	} else {
		t.unanswered(err)
	}
	if lost := t.lease.Err(); lost != nil {
		return lost
	}
	return err
}

func (l *leadership) StepDown(ctx context.Context, coolOff time.Duration) error {
	l.turn.coordinator.cool.Add(l.turn.key, coolOff)
	return l.turn.Release(ctx, 0)
}
