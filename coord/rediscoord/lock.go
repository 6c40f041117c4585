package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// AcquireLockFenced implements [coord.Locker]. It waits for Redis no longer than
// two of its answers may take.
func (c *Coordinator) AcquireLockFenced(ctx context.Context, key string, ttl time.Duration) (coord.Lock, error) {
	if err := coord.ValidateLock(key, ttl); err != nil {
		return coord.Lock{}, err
	}
	if ctx.Err() != nil {
		return coord.Lock{}, context.Cause(ctx)
	}
	if err := c.enter(key); err != nil {
		return coord.Lock{}, err
	}
	defer c.busy.Done()
	if err := c.reachable(ctx, key); err != nil {
		return coord.Lock{}, err
	}
	at, token := c.names.key(coord.KindLock, key), c.newTicket()
	status, r, err := c.lockDo(ctx, c.lockCall(at, token, "take", ttl))
	switch {
	case status == 1:
		return coord.Lock{Key: key, Token: token, Fence: r.number(1)}, nil
	case err == nil:
		return coord.Lock{}, fmt.Errorf("rediscoord: locking %s: %w", key, coord.ErrHeld)
	case errors.Is(err, botmesh.ErrUnknown): // it may have been taken, or may be yet
		c.mend.add(repair{key: at, ticket: token, lock: true}, minPoll)
		c.mend.add(repair{key: at, ticket: token, lock: true}, c.cfg.Lease/6)
	}
	return coord.Lock{}, fmt.Errorf("rediscoord: locking %s: %w: %w", key, err, botmesh.ErrCoordinationUnavailable)
}

// RenewLock implements [coord.Locker].
func (c *Coordinator) RenewLock(ctx context.Context, key, token string, ttl time.Duration) error {
	if err := coord.ValidateLock(key, ttl); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("rediscoord: lock %s: %w: %w", key, context.Cause(ctx), botmesh.ErrRefused)
	}
	return c.withLock(ctx, key, c.lockCall(c.names.key(coord.KindLock, key), token, "renew", ttl), nil)
}

// ReleaseLock implements [coord.Locker].
func (c *Coordinator) ReleaseLock(ctx context.Context, key, token string) error {
	release := repair{key: c.names.key(coord.KindLock, key), ticket: token, lock: true}
	return c.withLock(ctx, key, c.repairCall(release), func() { c.mend.add(release, minPoll) })
}

// withLock makes a call to a lock that a token should hold, and lets it be repeated
// if it has no answer.
func (c *Coordinator) withLock(ctx context.Context, key string, call *call, repeat func()) error {
	if c.enter(key) != nil {
		return fmt.Errorf("rediscoord: lock %s: the coordinator is closed: %w", key, botmesh.ErrRefused)
	}
	defer c.busy.Done()
	status, _, err := c.lockDo(ctx, call)
	switch {
	case status == 1:
		return nil
	case status == 2:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossSuperseded}
	case status == 3:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossExpired}
	case repeat != nil:
		repeat()
	}
	return fmt.Errorf("rediscoord: lock %s: %w", key, err)
}

// lockCall is a run of the lock script.
func (c *Coordinator) lockCall(at, token, verb string, ttl time.Duration) *call {
	return &call{script: lockScript, key: at, args: []any{token, verb, c.cfg.Idle.Milliseconds(), ttl.Milliseconds()}}
}

// lockDo makes a call of the lock script. The status is zero if it failed.
func (c *Coordinator) lockDo(ctx context.Context, call *call) (status int, r reply, err error) {
	if r, err = c.wires.do(ctx, call); err == nil {
		status, err = r.status(1, 2, 3)
	}
	return status, r, err
}
