package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// minPoll is the first pause of a waiter that has no subscription to wake it.
const minPoll = 5 * time.Millisecond

// ticket is a place in a key's line, while its Take waits.
type ticket struct {
	id    string
	at    string // the key's name in Redis
	key   string
	place uint64
	floor uint64
	try   bool        // it does not wait
	heard chan answer // pushed
	asked bool        // Redis may know it
	doubt bool        // a call had no answer, and may yet put the ticket in line
}

// hear hands what was pushed to the ticket's Take, if it does not have to look
// itself anyway.
func (t *ticket) hear(pushed answer) {
	select {
	case t.heard <- pushed:
	default:
	}
}

// unhear drops what was pushed.
func (t *ticket) unhear() {
	select {
	case <-t.heard:
	default:
	}
}

// grant is what Redis says of a turn when it grants it.
type grant struct {
	fence    uint64
	previous coord.Previous
	waiting  coord.Waiting
}

// Take implements [coord.Coordinator].
func (c *Coordinator) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(c.cfg.TurnWait, func() {
		cancel(fmt.Errorf("rediscoord: taking %s: no turn within %s: %w", r.Key, c.cfg.TurnWait, botmesh.ErrCoordinationUnavailable))
	})
	defer late.Stop()
	turn, err := c.queue(ctx, coord.KindTurn, r)
	if err != nil {
		return nil, err
	}
	return turn, nil
}

// queue puts a ticket in the line of a key and waits for its turn.
func (c *Coordinator) queue(ctx context.Context, kind coord.Kind, r coord.Request) (*turn, error) {
	t, err := c.admit(kind, r)
	if err != nil {
		return nil, err
	}
	defer c.busy.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.closing, func() { cancel(closedError(r.Key)) })()
	turn, err := c.stand(ctx, t, r.Waiting)
	if err != nil {
		c.withdraw(t, err)
		return nil, err
	}
	return turn, nil
}

func closedError(key string) error {
	return fmt.Errorf("rediscoord: taking %s: the coordinator is closed: %w", key, botmesh.ErrCoordinationUnavailable)
}

// admit registers a ticket, so that a push finds it.
func (c *Coordinator) admit(kind coord.Kind, r coord.Request) (*ticket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused != nil {
		return nil, c.refused
	}
	if c.closing.Err() != nil {
		return nil, closedError(r.Key)
	}
	t := &ticket{
		id: c.newTicket(), at: c.names.key(kind, r.Key), key: r.Key, place: r.Place, floor: r.Floor, heard: make(chan answer, 1),
	}
	c.tickets[t.id] = t
	c.busy.Add(1)
	return t, nil
}

// stand puts the ticket in line and keeps it there until its turn comes.
func (c *Coordinator) stand(ctx context.Context, t *ticket, waiting func()) (*turn, error) {
	told := sync.OnceFunc(func() {
		if waiting != nil {
			waiting()
		}
	})
	if err := c.awaitReady(ctx, told); err != nil {
		return nil, err
	}
	var failed error // what became of the call before, if it failed
	for pause := minPoll; ; {
		if err := c.refusal(); err != nil {
			return nil, err
		}
		t.unhear() // what is older than what the call will say
		sent, changed := lease.Now(), c.push.watch()
		said, err := c.ask(ctx, t)
		if said.final() {
			return c.take(t, said, sent)
		}
		told()
		look := pause
		if err == nil && c.push.live() {
			look, pause = c.nextLook(said), minPoll
		} else {
			pause = min(2*pause, c.cfg.MaxPoll)
		}
		pushed := await(ctx, t, changed, look)
		// A grant is left to the next call if too little is left of it, or if a server
		// may have said it that is the master no more.
		if pushed.passed != nil || pushed.granted && err == nil && sent.Elapsed() < c.cfg.Lease/2 {
			return c.take(t, pushed, sent)
		}
		if ctx.Err() != nil {
			return nil, ended(ctx, failed)
		}
		failed = err
	}
}

// take ends a wait: with the turn, whose lease counts from a moment, or without.
func (c *Coordinator) take(t *ticket, a answer, from lease.Instant) (*turn, error) {
	if a.passed != nil {
		return nil, a.passed
	}
	return c.hold(t, a.grant, from), nil
}

// awaitReady waits for the first heartbeat: it is there before the first lease is.
func (c *Coordinator) awaitReady(ctx context.Context, waiting func()) error {
	select {
	case <-c.ready:
		return nil
	default:
	}
	waiting()
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// nextLook is how long a waiter that a push will wake may wait before it looks
// itself: it does when the holder's lease ends, and often enough to keep its ticket.
func (c *Coordinator) nextLook(a answer) time.Duration {
	return min(a.holder+time.Millisecond, c.cfg.Lease/3)
}

// await returns what was pushed to a ticket, or nothing when it is time for the next
// look, when pushes may have been missed, or when ctx ended.
func await(ctx context.Context, t *ticket, changed <-chan struct{}, look time.Duration) answer {
	timer := time.NewTimer(look)
	defer timer.Stop()
	select {
	case pushed := <-t.heard:
		return pushed
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
	}
	return answer{}
}

// ended says why a wait ended, and how Redis failed before if it did.
func ended(ctx context.Context, failed error) error {
	err := context.Cause(ctx)
	if failed != nil && errors.Is(err, botmesh.ErrCoordinationUnavailable) {
		return fmt.Errorf("%w: %v", err, failed)
	}
	return err
}

// answer is what Redis says to a ticket, asked or by a push.
type answer struct {
	granted bool
	grant   grant
	passed  *coord.PassedError
	holder  time.Duration // how long the holder's lease still lasts
}

// final reports whether the ticket has nothing to wait for any more.
func (a answer) final() bool { return a.granted || a.passed != nil }

// ask puts the ticket in line or keeps it there. It may be repeated.
func (c *Coordinator) ask(ctx context.Context, t *ticket) (answer, error) {
	t.asked = true
	r, err := c.wires.do(ctx, c.lineCall(takeScript, t.at, t.id, c.cfg.Lease.Milliseconds(), t.place, t.floor, flag(t.try)))
	status := 0
	if err == nil {
		status, err = r.status(1, 2, 3)
	}
	t.doubt = t.doubt || errors.Is(err, botmesh.ErrUnknown)
	switch status {
	case 1:
		return answer{granted: true, grant: grant{
			fence:    r.number(1),
			previous: coord.Previous{Incarnation: r.text(2), Released: r.number(3) == 1, Passed: r.number(4)},
			waiting:  coord.Waiting{Tickets: int(r.number(5)), Highest: max(t.place, r.number(6))},
		}}, nil
	case 2:
		return answer{holder: time.Duration(r.number(1)) * time.Millisecond}, nil
	case 3:
		return answer{passed: &coord.PassedError{Key: t.key, Passed: r.number(1)}}, nil
	}
	return answer{}, err
}

// withdraw takes a ticket back that is not waited for any more, whether it is in
// line, was granted in this moment, or was passed.
func (c *Coordinator) withdraw(t *ticket, why error) {
	c.mu.Lock()
	delete(c.tickets, t.id)
	crashed := c.crashed
	c.mu.Unlock()
	var passed *coord.PassedError
	if errors.As(why, &passed) && !t.doubt || !t.asked || crashed {
		return // Redis has dropped it or never saw it, or this process plays dead
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.wires.timeout)
	defer cancel()
	c.giveBack(ctx, repair{key: t.at, ticket: t.id}, t.doubt)
}

// giveBack releases a turn or withdraws a ticket. What gets no answer, and what an
// earlier call without an answer may yet put back in line, is repaired later. The
// status is that of the script.
func (c *Coordinator) giveBack(ctx context.Context, r repair, doubt bool) (status int, err error) {
	reply, err := c.wires.do(ctx, c.repairCall(r))
	if err == nil {
		status, err = reply.status(1, 2, 3)
	}
	if err != nil {
		c.mend.add(r, minPoll)
		return 0, err
	}
	if doubt {
		c.mend.add(repair{key: r.key, ticket: r.ticket}, c.cfg.Lease/6)
	}
	return status, nil
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
