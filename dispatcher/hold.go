package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/telemetry"
)

const (
	readLimit  = 32              // records read at once, and run before others that wait get the turn
	turnLimit  = 2 * time.Second // after which they get it, too
	lazyCursor = 100             // records without effect that may wait for one write of the cursor
)

// hold is one turn of a chat, from grant to release. Everything in it is done by
// the lane's goroutine.
type hold struct {
	*lane
	turn coord.Turn
	slot *slot
	ctx  context.Context // the turn's, ended also when the drain's time is up
	// first is the nudge that the ticket was taken for.
	first journal.Nudge

	chatCopy
	fence uint64
	// committed is the cursor in the store. The one in memory is ahead of it by
	// lazy records that had no effect.
	committed uint64
	lazy      int
	// gone is the highest sequence that was nudged or ticketed and proven deleted.
	gone uint64
	// current says that chatCopy is the chat's: it was read or written under this turn.
	current bool
	// claimed says that this turn needs no claim, or has made it.
	claimed bool
	// user is what is kept of the user of the record that runs, nil until it is read.
	user *checkpoint.User
	// parked says that this build can not run the chat's next record.
	parked *parkedError
	// sent says that a record of this turn was answered.
	sent bool
	// yield says that others have waited long enough.
	yield    bool
	delivery *outbox.Delivery
	ahead    []uint64 // the outbox sequences of the letters in delivery
}

// hold serves the chat under a turn, and releases it.
func (l *lane) hold(turn coord.Turn, s *slot, n journal.Nudge) error {
	ctx, cancel := context.WithCancelCause(turn.Context())
	defer cancel(nil)
	defer context.AfterFunc(l.d.hard, func() { cancel(context.Cause(l.d.hard)) })()
	h := &hold{lane: l, turn: turn, slot: s, ctx: ctx, first: n, fence: turn.Fence()}
	h.delivery = l.d.cfg.Outbox.Deliver(l.d.hard, l.chat)
	l.enter(PhaseHolding, h.fence)
	err := h.serve()
	return h.end(err)
}

// serve runs what there is to run and waits until it is delivered, again while
// new records come.
func (h *hold) serve() error {
	if err := h.open(); err != nil {
		return err
	}
	if err := h.elsewhere(); err != nil {
		return err
	}
	for {
		if err := h.slot.take(h.ctx, true); err != nil {
			return err
		}
		h.enter(PhaseHolding, h.fence)
		err := h.drain()
		if errors.Is(err, botmesh.ErrConflict) && h.ctx.Err() == nil {
			// Another replica wrote the checkpoint. Whoever still holds the turn goes
			// on from what is there now.
			h.d.log.WarnContext(h.ctx, "superseded, goes on from the newer checkpoint", "chat", h.chat, "fence", h.fence)
			if err = h.reload(); err == nil {
				if !h.blind() {
					continue
				}
				err = h.leaveAlone()
			}
		}
		if err != nil && !(h.current && errors.As(err, &h.parked)) {
			return err
		}
		h.slot.give()
		if again, err := h.deliver(); err != nil || !again {
			if err == nil && h.parked != nil {
				return h.parked // what was said before is delivered, or put off
			}
			return err
		}
	}
}

// open takes the checkpoint at hand if it is current, else the stored one.
func (h *hold) open() error {
	prev := h.turn.Previous()
	c, have := h.d.held.get(h.key)
	if !have || !prev.Released || prev.Incarnation != h.d.cfg.Coordinator.Incarnation() {
		return h.reload()
	}
	h.claimed = true // nobody was there since
	if err := h.adopt(c); !errors.Is(err, botmesh.ErrConflict) {
		return err
	}
	return h.reload()
}

// reload reads the checkpoint until its effects are confirmed too.
func (h *hold) reload() error {
	h.d.held.drop(h.key)
	h.current = false
	for {
		c, err := h.load(h.ctx)
		if err != nil {
			return err
		}
		if err := h.adopt(c); !errors.Is(err, botmesh.ErrConflict) || h.ctx.Err() != nil {
			return err
		}
	}
}

// adopt goes on from a copy of the checkpoint, its effects confirmed.
func (h *hold) adopt(c chatCopy) error {
	if err := h.rewound(h.ctx, c, h.first); err != nil {
		return err
	}
	h.chatCopy, h.committed, h.lazy, h.current = c, c.cp.Cursor, 0, true
	if c.cp.Fence >= h.fence {
		// It never falls, whatever Redis forgot, and is never another's: two who hold the
		// chat blind may have been given the same, and the one that writes second goes on.
		h.fence = c.cp.Fence + 1
	}
	return h.confirm(h.ctx)
}

// confirm flushes the effects of the checkpoint at hand: no write may replace it before.
func (h *hold) confirm(ctx context.Context) error {
	return h.flush(ctx, &h.chatCopy, h.delivery.Put)
}

// drain runs the chat's records until nothing is known to be left, or others
// have waited long enough.
func (h *hold) drain() error {
	select {
	case <-h.wake: // those who came so far are seen below
	default:
	}
	began, ran := time.Now(), 0
	for {
		entries, err := h.next()
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return h.writeCursor()
		}
		for _, e := range entries {
			if e.Record.Seq <= h.cp.Cursor {
				continue // the run of an earlier one has dealt with it
			}
			if h.d.draining() || (ran >= readLimit || time.Since(began) > turnLimit) && h.contended() {
				h.yield = true
				return h.writeCursor()
			}
			if err := h.record(e); err != nil {
				return err
			}
			h.acknowledge(func(seq uint64) bool { return seq < h.committed })
			if err := h.pace(); err != nil {
				return err
			}
			ran++
		}
	}
}

// contended reports whether another replica waits for this chat, or another chat
// for a slot.
func (h *hold) contended() bool {
	return h.turn.Waiting().Tickets > 0 || h.d.slots.contended()
}

// pace keeps the chat from running far ahead of a slow platform: at most
// readLimit of its letters wait in memory.
func (h *hold) pace() error {
	if n := len(h.ahead); n == 0 || h.ahead[n-1] != h.out {
		h.ahead = append(h.ahead, h.out)
	}
	if len(h.ahead) <= readLimit {
		return nil
	}
	h.slot.give()
	if _, err := h.delivery.Wait(h.ctx, h.ahead[0]); err != nil {
		return h.undelivered(err)
	}
	h.ahead = h.ahead[1:]
	return h.slot.take(h.ctx, true)
}

// next returns the chat's next records, none if nothing is known to be there.
//
// A read may be answered by a replica that lags. What it shows is a prefix, so a
// first record at or below one that was nudged is the true next one. If it shows
// none, the leader is asked for the nudged one.
//
// What is read may also be of a journal that was made anew a moment ago. A record
// that was nudged here, or the leader's word after the read, shows that it is not.
func (h *hold) next() ([]journal.Entry, error) {
	wait := patience()
	for {
		target := h.target()
		if target == 0 {
			return nil, nil
		}
		entries, err := h.d.cfg.Journal.Read(h.ctx, h.chat, h.cp.Cursor, readLimit)
		found := err == nil && len(entries) > 0 && entries[0].Record.Seq <= target
		if found && !h.nudged(entries) {
			err = h.d.cfg.Journal.Current(h.ctx)
		}
		if found && err == nil {
			return entries, nil
		}
		there := true
		if err == nil {
			there, err = h.d.cfg.Journal.Prove(h.ctx, h.chat, target)
		}
		switch {
		case err != nil && !errors.Is(err, botmesh.ErrRefused):
			return nil, chatError("read the records of", h.chat, err)
		case err == nil && !there:
			// Deleted or expired. Its nudge has nothing to stand for.
			h.gone = target
			h.acknowledge(func(seq uint64) bool { return seq == target })
			continue
		}
		if !pause(h.ctx, wait.NextBackOff()) {
			return nil, context.Cause(h.ctx)
		}
	}
}

// target is the lowest sequence above the cursor that a nudge or a ticket says
// was journaled, zero if there is none.
func (h *hold) target() uint64 {
	seen := max(h.cp.Cursor, h.gone)
	low, given := h.above(seen)
	if t := max(h.turn.Waiting().Highest, given); low == 0 && t > seen {
		low = t
	}
	return low
}

// deliver waits until every letter of the chat is settled or put off. It reports
// true if meanwhile a record came that is to be run.
func (h *hold) deliver() (again bool, err error) {
	h.enter(PhaseDelivering, h.fence)
	for {
		ctx, cancel := context.WithCancel(h.ctx)
		woken := h.wakeUp(ctx, cancel)
		standing, err := h.delivery.Wait(ctx, h.out)
		interrupted := ctx.Err() != nil
		cancel()
		<-woken
		switch {
		case h.ctx.Err() != nil:
			return false, context.Cause(h.ctx)
		case h.more():
			return true, nil
		case interrupted:
		case err != nil:
			return false, h.undelivered(err)
		case standing.Settled >= h.out:
			if h.sent {
				telemetry.ReplyLatency.Record(h.ctx, time.Since(h.cp.CursorAt).Seconds())
			}
			h.acknowledge(func(seq uint64) bool { return seq <= h.committed })
			return false, nil
		default:
			h.giveBack(max(0, time.Until(standing.NotBefore)), func(seq uint64) bool { return seq <= h.committed })
			return false, nil
		}
	}
}

// undelivered is why a wait for receipts failed.
func (h *hold) undelivered(err error) error {
	if errors.Is(err, outbox.ErrPaused) {
		return h.d.errPaused()
	}
	return chatError("deliver to", h.chat, err)
}

// more reports whether this turn is to run another record.
func (h *hold) more() bool {
	return h.parked == nil && !h.yield && !h.d.draining() && h.target() != 0
}

// wakeUp calls cancel when a nudge comes, until ctx ends; the channel it returns
// is closed when it no longer watches.
func (h *hold) wakeUp(ctx context.Context, cancel func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-h.wake:
			cancel()
		case <-ctx.Done():
		}
	}()
	return done
}

// end closes the delivery, releases the turn and keeps the copy for the next one,
// also when the drain's time is up: a turn that is released need not expire. A
// call to the platform that is under way is waited for; it takes at most a third
// of the lease.
func (h *hold) end(err error) error {
	h.slot.give()
	ctx := context.WithoutCancel(h.ctx)
	closing, cancel := context.WithTimeout(ctx, h.d.moment())
	defer cancel()
	if _, cerr := h.delivery.Close(closing); cerr != nil {
		h.d.log.WarnContext(ctx, "delivery not closed in order, the next owner waits", "chat", h.chat, "err", cerr)
	}
	if h.turn.Context().Err() != nil {
		h.d.held.drop(h.key)
		err := context.Cause(h.turn.Context())
		h.lose(h.ctx, lossOf(err))
		return err
	}
	releasing, cancel := context.WithTimeout(ctx, h.d.moment())
	defer cancel()
	h.ctx = releasing // the drain's time may be up
	h.unclaim()
	h.keepCopy(err)
	rerr := h.turn.Release(releasing, h.committed)
	switch {
	case errors.Is(rerr, botmesh.ErrLeaseLost):
		h.d.held.drop(h.key) // lost since it was last looked at
		h.lose(h.ctx, lossOf(rerr))
	case rerr != nil:
		h.d.log.WarnContext(ctx, "release not confirmed, repaired in the background", "chat", h.chat, "err", rerr)
	}
	return err
}

// moment is how long an end waits for an engine.
func (d *Dispatcher) moment() time.Duration { return min(d.cfg.Lease/3, 2*time.Second) }

// keepCopy remembers the chat as the store has it.
func (h *hold) keepCopy(err error) {
	if err != nil && !errors.As(err, new(*laterError)) || h.lazy > 0 || !h.current {
		h.d.held.drop(h.key)
		return
	}
	h.d.held.put(h.key, h.chatCopy)
}
