package rediscoord

import (
	"fmt"
	"slices"
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
	heard    time.Time // the first answer since it is away, if none failed after it
	away     bool
	answered bool  // the last call was
	denied   error // what the last call was answered, if it is not let in
}

// note takes in what became of a call that was sent at a time: an error if it failed.
func (r *reach) note(sent time.Time, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied, r.answered = nil, failed == nil
	switch {
	case failed != nil:
		if says(failed, denials...) {
			r.denied = failed
		}
		if r.failures++; r.failures == 1 {
			r.since = sent
		}
		r.heard = time.Time{}
		r.away = r.away || r.failures >= minFailures && time.Since(r.since) >= r.after
	case !r.away:
		r.failures, r.since = 0, time.Time{}
	case r.heard.IsZero():
		r.heard = time.Now()
	case time.Since(r.heard) >= r.after:
		r.away, r.failures, r.since, r.heard = false, 0, time.Time{}, time.Time{}
	}
}

// troubled reports whether the last call failed, or it is away.
func (r *reach) troubled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures > 0
}

// answers reports whether the last call was answered.
func (r *reach) answers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered
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

// shut says why it does not let us in, as of its last answer, or nil.
func (r *reach) shut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denied
}

// Away implements [coord.Reacher]. On a cluster a part may be away and the others
// not.
func (c *Coordinator) Away(key string) bool {
	return !c.wires.of(c.names.key(coord.KindTurn, key)).reach.gone().IsZero()
}

// AwaySince implements [coord.Reacher].
func (c *Coordinator) AwaySince() (since time.Time) {
	for _, w := range c.wires.all {
		if at := w.reach.gone(); !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}

// Denied implements [coord.Reacher].
func (c *Coordinator) Denied() error {
	for _, r := range c.reaches() {
		if err := r.shut(); err != nil {
			return fmt.Errorf("rediscoord: Redis does not let this replica in: %w", err)
		}
	}
	return nil
}

// reaches are all that is known of whether Redis answers.
func (c *Coordinator) reaches() []*reach {
	all := []*reach{&c.heart}
	for _, w := range c.wires.all {
		all = append(all, &w.reach)
	}
	return all
}

// troubled reports whether Redis, or a part of it, may be away.
func (c *Coordinator) troubled() bool {
	return slices.ContainsFunc(c.reaches(), (*reach).troubled)
}

// watch knocks at what may be away, every twelfth of a lease. A server that hangs
// holds up nothing but this.
func (c *Coordinator) watch() {
	tick := time.NewTicker(c.cfg.Lease / 12)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.knock()
		case <-c.ended.Done():
			return
		}
	}
}

// knock makes a call to every part of Redis that may be away, or to all if the
// heartbeat fails, so that it is known whether they answer though nobody wants
// anything of them. It writes, as a server that only reads grants no turn.
func (c *Coordinator) knock() {
	all := c.heart.troubled()
	var calls []*call
	for i, w := range c.wires.all {
		if all || w.reach.troubled() {
			knock := c.lockCall(c.door(i), c.incarnation, "take", c.cfg.Lease)
			c.wires.start(knock)
			calls = append(calls, knock)
		}
	}
	for _, call := range calls {
		_, _ = call.wait(c.ended) // its wire has noted it
	}
}

// door is a name of this incarnation's own in a part of Redis. It lasts a lease.
func (c *Coordinator) door(wire int) string {
	for n := 0; ; n++ {
		name := c.names.door(c.incarnation + "/" + strconv.Itoa(n))
		if c.wires.of(name) == c.wires.all[wire] {
			return name
		}
	}
}
