package coord

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errNoName = errors.New("coord: a leadership without a name")

// TryLead implements [Elector].
func (c *MemoryCoordinator) TryLead(ctx context.Context, name string) (Leadership, error) {
	if name == "" {
		return nil, errNoName
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.gone {
		return nil, unavailable(name, "the coordinator is closed")
	}
	at := memorySlot{KindLead, name}
	k := c.hub.keys[at]
	if c.cool.Left(name) > 0 || k != nil && k.holder != nil {
		return nil, fmt.Errorf("coord: leading %s: %w", name, ErrHeld)
	}
	return &memoryLeadership{c.join(at, Request{Key: name}).turn}, nil
}

// Campaign implements [Elector].
func (c *MemoryCoordinator) Campaign(ctx context.Context, name string) (Leadership, error) {
	if name == "" {
		return nil, errNoName
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.cool.Wait(ctx, name, c.done); err != nil {
		return nil, err
	}
	turn, err := c.stand(ctx, memorySlot{KindLead, name}, Request{Key: name}, 0)
	if err != nil {
		return nil, err
	}
	return &memoryLeadership{turn}, nil
}

// memoryLeadership implements [Leadership].
type memoryLeadership struct{ turn *memoryTurn }

func (l *memoryLeadership) Name() string             { return l.turn.Key() }
func (l *memoryLeadership) Context() context.Context { return l.turn.ctx }
func (l *memoryLeadership) Fence() uint64            { return l.turn.fence }
func (l *memoryLeadership) Previous() Previous       { return l.turn.before }

func (l *memoryLeadership) Confirm(context.Context) error {
	t := l.turn.ticket
	t.owner.hub.mu.Lock()
	defer t.owner.hub.mu.Unlock()
	if l.turn.ctx.Err() == nil {
		t.check()
	}
	return context.Cause(l.turn.ctx)
}

func (l *memoryLeadership) StepDown(ctx context.Context, coolOff time.Duration) error {
	l.turn.ticket.owner.cool.Add(l.Name(), coolOff)
	return l.turn.Release(ctx, 0)
}
