// Package lease is a holder's own view of a lease: until when it may act, by its
// own clock, whatever the coordinator says later.
//
// The view is pessimistic. It counts from the moment the last successful call
// was begun, ends a margin early, and takes the larger of monotonic and wall
// time for what has passed: a suspended machine stops the first.
package lease

import (
	"context"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Instant is a reading of both clocks.
type Instant struct {
	mono time.Duration
	wall time.Time
}

var start = time.Now()

// Now reads both clocks.
func Now() Instant {
	now := time.Now()
	return Instant{mono: now.Sub(start), wall: now.Round(0)}
}

// Until is the time that passed from i to later: the larger of what the two
// clocks say.
func (i Instant) Until(later Instant) time.Duration {
	return max(later.mono-i.mono, later.wall.Sub(i.wall))
}

// Elapsed is the time that passed since i.
func (i Instant) Elapsed() time.Duration { return i.Until(Now()) }

// Lease is the right to act on a key for a while. Safe for concurrent use.
type Lease struct {
	key    string
	length time.Duration
	now    func() Instant
	inner  context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	from    Instant
	failing bool // a renewal failed since from
	timer   *time.Timer
}

// Begin returns a lease on key that lasts length from an instant: the one before
// the call that obtained it was sent. The length is without the margin.
func Begin(key string, length time.Duration, from Instant) *Lease {
	return beginAt(key, length, from, Now)
}

func beginAt(key string, length time.Duration, from Instant, now func() Instant) *Lease {
	l := &Lease{key: key, length: length, from: from, now: now}
	l.inner, l.cancel = context.WithCancelCause(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(max(length-from.Until(now()), 0), l.expire)
	return l
}

// Context ends when the lease does, with a *botmesh.LeaseLostError as its cause.
//
// A process that stood still has not run its timers when it goes on: Err and Done
// look at the clock themselves, so that whoever asks before acting is told the
// truth. A context derived from it follows as soon as one of them was asked, or
// the timer has run.
func (l *Lease) Context() context.Context { return clockContext{l.inner, l} }

// Renew lets the lease last its length from an instant: the one before the call
// that renewed it was sent. It does not revive a lease that has ended.
func (l *Lease) Renew(from Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from.mono < from.mono {
		l.from, l.failing = from, false
	}
}

// Fail notes that a renewal failed: if the lease runs out now, it is since the
// coordinator did not answer, not since this process stood still.
func (l *Lease) Fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = true
}

// End ends the lease for a reason, unless it has ended. It reports whether this
// call did.
func (l *Lease) End(reason botmesh.LossReason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end(reason)
}

// Err returns nil while the lease lasts, then a *botmesh.LeaseLostError.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner.Err() == nil && l.from.Until(l.now()) >= l.length {
		reason := botmesh.LossStalled
		if l.failing {
			reason = botmesh.LossUnavailable
		}
		l.end(reason)
	}
	if l.inner.Err() == nil {
		return nil
	}
	return context.Cause(l.inner)
}

func (l *Lease) end(reason botmesh.LossReason) bool {
	if l.inner.Err() != nil {
		return false
	}
	l.timer.Stop()
	l.cancel(&botmesh.LeaseLostError{Key: l.key, Reason: reason})
	return true
}

// expire runs when the lease should have run out, and again if it was renewed.
func (l *Lease) expire() {
	if l.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner.Err() == nil {
		l.timer.Reset(max(l.length-l.from.Until(l.now()), 0))
	}
}

// clockContext is the context of a lease.
type clockContext struct {
	context.Context
	lease *Lease
}

func (c clockContext) Done() <-chan struct{} {
	c.lease.Err()
	return c.Context.Done()
}

func (c clockContext) Err() error {
	c.lease.Err()
	return c.Context.Err()
}
