package rediscoord

import (
	"context"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// repair is a release, of a turn, a ticket or a lock, that must be made, perhaps
// again.
type repair struct {
	key    string // in Redis
	ticket string // or the lock's token
	passed uint64
	fence  uint64
	used   bool // the turn was handed out
	lock   bool

	asked lease.Instant // when it was asked for first
	due   time.Time
	tries int
}

// mender holds the repairs that are to be made.
type mender struct {
	wake   chan struct{} // there is a new one
	mu     sync.Mutex
	list   []repair
	closed bool
}

// add asks for a repair after a delay. After drain it does nothing.
func (m *mender) add(r repair, after time.Duration) {
	if r.tries == 0 {
		r.asked = lease.Now()
	}
	r.due = time.Now().Add(after)
	m.mu.Lock()
	if !m.closed {
		m.list = append(m.list, r)
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take removes and returns what is due.
func (m *mender) take() []repair {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due, rest []repair
	for _, r := range m.list {
		if time.Until(r.due) <= 0 {
			due = append(due, r)
		} else {
			rest = append(rest, r)
		}
	}
	m.list = rest
	return due
}

// next is how long it is until the next one is due.
func (m *mender) next() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := time.Hour
	for _, r := range m.list {
		next = min(next, time.Until(r.due))
	}
	return max(next, 0)
}

// drain removes everything, due or not, for good.
func (m *mender) drain() []repair {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.list
	m.list, m.closed = nil, true
	return all
}

// repairCall is the call that makes a repair.
func (c *Coordinator) repairCall(r repair) *call {
	if r.lock {
		return c.lockCall(r.key, r.ticket, "release", 0)
	}
	return c.lineCall(releaseScript, r.key, r.ticket, r.passed, flag(r.used), r.fence)
}

// repair makes the repairs that are due, each until it is done or Redis has let
// the lease run out by itself.
func (c *Coordinator) repair() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due := c.mend.take()
		calls := make([]*call, len(due))
		for i, r := range due {
			calls[i] = c.repairCall(r)
			c.wires.start(calls[i])
		}
		for i, r := range due {
			if _, err := calls[i].wait(context.Background()); err != nil && r.asked.Elapsed() < 2*c.cfg.Lease {
				r.tries++
				c.mend.add(r, min(minPoll<<min(r.tries, 10), c.cfg.Lease/6))
			}
		}
		timer.Reset(c.mend.next())
		select {
		case <-c.mend.wake:
		case <-timer.C:
		case <-c.ended.Done():
			return
		}
	}
}
