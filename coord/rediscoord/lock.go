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
	if c.closing.Err() != nil {
		return coord.Lock{}, closedError(key)
	}
	if err := c.reachable(ctx, key); err != nil {
		return coord.Lock{}, err
	}
	at, token := c.names.key(coord.KindLock, key), c.newTicket()
	r, err := c.calls.do(ctx, c.lockCall(at, token, "take", ttl))
	status := 0
	if err == nil {
		status, err = r.status()
	}
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
	r, err := c.calls.do(ctx, c.lockCall(c.names.key(coord.KindLock, key), token, "renew", ttl))
	return lockOutcome(key, r, err)
}

// ReleaseLock implements [coord.Locker].
func (c *Coordinator) ReleaseLock(ctx context.Context, key, token string) error {
	release := repair{key: c.names.key(coord.KindLock, key), ticket: token, lock: true}
	r, err := c.calls.do(ctx, c.release(release))
	if err != nil {
		c.mend.add(release, minPoll)
	}
	return lockOutcome(key, r, err)
}

func lockOutcome(key string, r reply, err error) error {
	if err != nil {
		return fmt.Errorf("rediscoord: lock %s: %w", key, err)
	}
	switch status, err := r.status(); status {
	case 1:
		return nil
	case 2:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossSuperseded}
	case 3:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossExpired}
	default:
		return err
	}
}

// lockCall is a run of the lock script.
func (c *Coordinator) lockCall(at, token, verb string, ttl time.Duration) *call {
	return &call{script: lockScript, key: at, args: []any{token, verb, c.cfg.Idle.Milliseconds(), ttl.Milliseconds()}}
}
