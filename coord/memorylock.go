package coord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// memoryLock is a lock that is held.
type memoryLock struct {
	token string
	until time.Time
	end   *time.Timer
}

// owner is the incarnation that took the lock.
func (l *memoryLock) owner() string { return l.token[:strings.LastIndexByte(l.token, '/')] }

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
	k := h.rouse(memorySlot{KindLock, key})
	l := &memoryLock{token: fmt.Sprintf("%s/%d", c.incarnation, c.numbers.Add(1)), until: time.Now().Add(ttl)}
	l.end = time.AfterFunc(ttl, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.locked(key)
	})
	k.lock = l
	return Lock{Key: key, Token: l.token, Fence: h.grant(k, 0)}, nil
}

// RenewLock implements [Locker].
func (c *MemoryCoordinator) RenewLock(ctx context.Context, key, token string, ttl time.Duration) error {
	if err := ValidateLock(key, ttl); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("coord: lock %s: %w: %w", key, context.Cause(ctx), botmesh.ErrRefused)
	}
	return c.withLock(key, token, func(k *memoryKey) {
		k.lock.until = time.Now().Add(ttl)
		k.lock.end.Reset(ttl)
	})
}

// ReleaseLock implements [Locker].
func (c *MemoryCoordinator) ReleaseLock(_ context.Context, key, token string) error {
	return c.withLock(key, token, func(k *memoryKey) { c.hub.unlock(k, true) })
}

// withLock does something to a lock that the token holds.
func (c *MemoryCoordinator) withLock(key, token string, do func(*memoryKey)) error {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	switch k := c.hub.locked(key); {
	case c.gone:
		return fmt.Errorf("coord: lock %s: the coordinator is closed: %w", key, botmesh.ErrRefused)
	case k == nil:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossExpired}
	case k.lock.token != token:
		return &botmesh.LeaseLostError{Key: key, Reason: botmesh.LossSuperseded}
	default:
		do(k)
		return nil
	}
}

// locked returns the key of a lock that is held, nil if it is not, and ends one
// whose time is over.
func (h *MemoryHub) locked(key string) *memoryKey {
	k := h.keys[memorySlot{KindLock, key}]
	if k == nil || k.lock == nil {
		return nil
	}
	if time.Until(k.lock.until) <= 0 {
		h.unlock(k, false)
		return nil
	}
	return k
}

// unlock ends a lock, which its holder released or which ran out.
func (h *MemoryHub) unlock(k *memoryKey, released bool) {
	k.lock.end.Stop()
	k.before = Previous{Incarnation: k.lock.owner(), Released: released}
	k.lock = nil
	h.rest(k)
}
