package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
)

var (
	_ Elector = (*MemoryCoordinator)(nil)
	_ Locker  = (*MemoryCoordinator)(nil)
	_ Viewer  = (*MemoryCoordinator)(nil)

	errNoName = errors.New("coord: a leadership without a name")
)

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
	if left := time.Until(c.cool[name]); left > 0 || k != nil && k.holder != nil {
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
	c.hub.mu.Lock()
	left := time.Until(c.cool[name])
	c.hub.mu.Unlock()
	cool := time.NewTimer(left)
	defer cool.Stop()
	select {
	case <-cool.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.done:
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
	c := l.turn.ticket.owner
	c.hub.mu.Lock()
	c.cool[l.Name()] = time.Now().Add(coolOff)
	for name, until := range c.cool {
		if time.Until(until) <= 0 {
			delete(c.cool, name)
		}
	}
	c.hub.mu.Unlock()
	return l.turn.Release(ctx, 0)
}

// memoryLock is a lock that is held.
type memoryLock struct {
	token string
	fence uint64
	since time.Time
	until time.Time
	end   *time.Timer
}

// AcquireLockFenced implements [Locker].
func (c *MemoryCoordinator) AcquireLockFenced(ctx context.Context, key string, ttl time.Duration) (Lock, error) {
	if err := ValidateLock(key, ttl); err != nil {
		return Lock{}, err
	}
	if ctx.Err() != nil {
		return Lock{}, context.Cause(ctx)
	}
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.gone {
		return Lock{}, unavailable(key, "the coordinator is closed")
	}
	if h.locked(key) != nil {
		return Lock{}, fmt.Errorf("coord: locking %s: %w", key, ErrHeld)
	}
	h.floor++
	l := &memoryLock{token: fmt.Sprintf("%s/%d", c.incarnation, c.numbers.Add(1)), fence: h.floor, since: time.Now()}
	l.until = l.since.Add(ttl)
	l.end = time.AfterFunc(ttl, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.locked(key)
	})
	h.locks[key] = l
	return Lock{Key: key, Token: l.token, Fence: l.fence}, nil
}

// RenewLock implements [Locker].
func (c *MemoryCoordinator) RenewLock(ctx context.Context, key, token string, ttl time.Duration) error {
	if err := ValidateLock(key, ttl); err != nil {
		return err
	}
	return c.withLock(ctx, key, token, func(l *memoryLock) {
		l.until = time.Now().Add(ttl)
		l.end.Reset(ttl)
	})
}

// ReleaseLock implements [Locker].
func (c *MemoryCoordinator) ReleaseLock(ctx context.Context, key, token string) error {
	return c.withLock(ctx, key, token, func(l *memoryLock) { c.hub.unlock(key, l) })
}

// withLock does something to a lock that the token holds.
func (c *MemoryCoordinator) withLock(ctx context.Context, key, token string, do func(*memoryLock)) error {
	if ctx.Err() != nil {
		return fmt.Errorf("coord: lock %s: %w: %w", key, context.Cause(ctx), botmesh.ErrRefused)
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	switch l := c.hub.locked(key); {
	case c.gone:
		return fmt.Errorf("coord: lock %s: the coordinator is closed: %w", key, botmesh.ErrRefused)
	case l == nil:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossExpired}
	case l.token != token:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossSuperseded}
	default:
		do(l)
		return nil
	}
}

// locked returns who holds a lock, and ends one whose time is over.
func (h *MemoryHub) locked(key string) *memoryLock {
	l := h.locks[key]
	if l != nil && time.Until(l.until) <= 0 {
		h.unlock(key, l)
		return nil
	}
	return l
}

func (h *MemoryHub) unlock(key string, l *memoryLock) {
	l.end.Stop()
	delete(h.locks, key)
}
