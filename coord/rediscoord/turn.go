package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// turn implements [coord.Turn].
type turn struct {
	coordinator *Coordinator
	id          string // of its ticket
	at          string // the key's name in Redis
	key         string
	place       uint64
	doubt       atomic.Bool // a call without an answer may yet put the ticket in line or give it the turn
	fence       uint64
	previous    coord.Previous
	lease       *lease.Lease

	mu      sync.Mutex
	waiting coord.Waiting
}

func (t *turn) Key() string              { return t.key }
func (t *turn) Context() context.Context { return t.lease.Context() }
func (t *turn) Fence() uint64            { return t.fence }
func (t *turn) Previous() coord.Previous { return t.previous }

func (t *turn) Waiting() coord.Waiting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}

// Release implements [coord.Turn].
func (t *turn) Release(ctx context.Context, passed uint64) error {
	c := t.coordinator
	if !t.lease.End(botmesh.LossReleased) {
		c.drop(t.id)
		return t.lease.Err()
	}
	c.drop(t.id) // not renewed from here on, whatever becomes of the call
	if c.enter(t.key) == nil {
		defer c.busy.Done()
	} // else it is closing already, and repeats nothing
	status, err := c.giveBack(ctx, t.givenUp(passed), t.doubt.Load())
	switch {
	case err != nil:
		return fmt.Errorf("rediscoord: releasing %s: %w", t.key, err)
	case status == 3:
		return &botmesh.LeaseLostError{Key: t.key, Reason: botmesh.LossSuperseded}
	case status == 2:
		return &botmesh.LeaseLostError{Key: t.key, Reason: botmesh.LossExpired}
	}
	return nil
}

// givenUp is the repair that gives the turn up.
func (t *turn) givenUp(passed uint64) repair {
	return repair{key: t.at, ticket: t.id, passed: passed, fence: t.fence, used: true}
}

// renewal is the call that lets the turn last another lease.
func (t *turn) renewal() *call {
	c := t.coordinator
	return c.lineCall(renewScript, t.at, t.id, c.cfg.Lease.Milliseconds(), t.fence)
}

// renewed takes in what a renewal said, which was sent at from.
func (t *turn) renewed(r reply, from lease.Instant) error {
	status, err := r.status(0, 1)
	switch {
	case err != nil:
		t.unanswered(err)
	case status == 1:
		t.mu.Lock()
		t.waiting = coord.Waiting{Tickets: int(r.number(1)), Highest: max(t.place, r.number(2))}
		t.mu.Unlock()
		t.lease.Renew(from)
	case r.number(1) == 1:
		t.lease.End(botmesh.LossSuperseded)
	default:
		t.lease.End(botmesh.LossExpired)
	}
	if t.lease.Err() != nil {
		t.coordinator.drop(t.id)
	}
	return err
}

// unanswered notes that a renewal failed.
func (t *turn) unanswered(err error) {
	t.lease.Fail()
	if errors.Is(err, botmesh.ErrUnknown) {
		t.doubt.Store(true)
	}
}
