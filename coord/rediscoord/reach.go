package rediscoord

import (
	"strconv"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/coord"
)

// minFailures is how many calls in a row must have failed before Redis is away: a
// process that stood still makes one look very long.
const minFailures = 3

// reach is what is known of whether a part of Redis answers. It is away when every
// call has failed for a while, and back when none has for as long: what comes and
// goes is not gone.
type reach struct {
	after time.Duration // that while

	mu       sync.Mutex
	failures int       // in a row
	since    time.Time // the first of those was sent; when away, before it was
	answers  time.Time // the first answer since it is away, if none failed after it
	away     bool
}

// note takes in how a call ended that was sent at a time.
func (r *reach) note(sent time.Time, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case answered && !r.away:
		r.failures, r.since = 0, time.Time{}
	case answered && r.answers.IsZero():
		r.answers = time.Now()
	case answered && time.Since(r.answers) >= r.after:
		r.away, r.failures, r.since, r.answers = false, 0, time.Time{}, time.Time{}
	case answered:
	default:
		if r.failures++; r.failures == 1 {
			r.since = sent
		}
		r.answers = time.Time{}
		r.away = r.away || r.failures >= minFailures && time.Since(r.since) >= r.after
	}
}

// troubled reports whether the last call failed, or it is away.
func (r *reach) troubled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures > 0
}

// gone says since when it is away, and the zero time if it is not.
func (r *reach) gone() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.away {
		return time.Time{}
	}
	return r.since
}

// Away implements [coord.Reacher]. On a cluster a part may be away and the others
// not.
func (c *Coordinator) Away(key string) bool {
	return !c.calls.of(c.names.key(coord.KindTurn, key)).reach.gone().IsZero()
}

// AwaySince implements [coord.Reacher].
func (c *Coordinator) AwaySince() (since time.Time) {
	for _, l := range c.calls.lanes {
		if at := l.reach.gone(); !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}

// knock makes a call to every part of Redis that may be away, or to all, so that it
// is known whether they answer though nobody wants anything of them. It writes, as
// a server that only reads grants no turn.
func (c *Coordinator) knock(all bool) {
	var calls []*call
	for i, l := range c.calls.lanes {
		if all || l.reach.troubled() {
			calls = append(calls, &call{script: lockScript, key: c.door(i), args: []any{c.incarnation, "take", 0, c.cfg.Lease.Milliseconds()}})
		}
	}
	for _, call := range calls {
		c.calls.start(call)
	}
	for _, call := range calls {
		_, _ = call.wait(c.ended) // its lane has noted it
	}
}

// door is a name of this incarnation's own in a part of Redis. It lasts a lease.
func (c *Coordinator) door(lane int) string {
	for n := 0; ; n++ {
		name := c.names.door(c.incarnation + "/" + strconv.Itoa(n))
		if c.calls.of(name) == c.calls.lanes[lane] {
			return name
		}
	}
}
