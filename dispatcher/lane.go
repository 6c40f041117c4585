package dispatcher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// maxNudges is how many nudges a lane holds. One stands for the whole backlog of
// its chat; the others only save a delivery.
const maxNudges = 64

// place is a nudge's place in a journal. Sequences of two epochs are not compared.
type place struct {
	epoch string
	seq   uint64
}

// lane serves one chat on this replica, one visit at a time. It has at most one
// ticket outstanding. It lives as long as it holds a nudge.
type lane struct {
	d    *Dispatcher
	chat botmesh.ChatKey
	key  string
	// earlier is what was read of the chat's records to tell repetitions, under any turn
	// of the lane, by the one goroutine that has it.
	earlier journal.Earlier
	// exit is the last record that was found to lead out of a stranded conversation, by
	// that same goroutine.
	exit uint64

	mu     sync.Mutex
	nudges map[place]journal.Nudge
	given  uint64    // the highest sequence that was given back for want of room
	since  time.Time // when the phase began
	phase  Phase
	fence  uint64
	wake   chan struct{} // has a token when a nudge came
}

func newLane(d *Dispatcher, chat botmesh.ChatKey) *lane {
	return &lane{
		d: d, chat: chat, key: chat.Key(), phase: PhaseOpen, since: time.Now(),
		nudges: make(map[place]journal.Nudge), wake: make(chan struct{}, 1),
	}
}

// add takes a nudge in. Over the bound it is given back, to come again when the
// lane may have room; the pauses of many are spread, so that they do not all come
// at once.
func (l *lane) add(n journal.Nudge) {
	p := place{n.Epoch, n.Seq}
	l.mu.Lock()
	_, known := l.nudges[p]
	if known && n.Delivered == called {
		l.mu.Unlock()
		return // the real one is here
	}
	full := !known && len(l.nudges) >= maxNudges && n.Seq > l.lowestLocked().Seq
	if full {
		l.given = max(l.given, n.Seq)
	} else {
		l.nudges[p] = n // of two deliveries of a record the later one is kept
	}
	l.mu.Unlock()
	if full {
		lease := l.d.cfg.Lease
		_ = n.Nak(lease/2 + time.Duration(n.Seq*0x9E3779B9%1024)*lease/1024)
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// lowestLocked returns the lane's lowest nudge, the zero Nudge if it has none.
func (l *lane) lowestLocked() journal.Nudge {
	var low journal.Nudge
	found := false
	for _, n := range l.nudges {
		if !found || n.Seq < low.Seq {
			low, found = n, true
		}
	}
	return low
}

func (l *lane) lowest() (journal.Nudge, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lowestLocked(), len(l.nudges) > 0
}

// highest returns the highest sequence that the lane knows of.
func (l *lane) highest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	high := l.given
	for p := range l.nudges {
		high = max(high, p.seq)
	}
	return high
}

func (l *lane) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.nudges)
}

// above returns the lowest sequence over cursor that a nudge names, zero if there
// is none, and the highest of those that were given back for want of room.
func (l *lane) above(cursor uint64) (lowest, given uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.nudges {
		if p.seq <= cursor {
			continue
		}
		if lowest == 0 || p.seq < lowest {
			lowest = p.seq
		}
	}
	return lowest, l.given
}

// nudged reports whether a nudge is of the very record that one of entries is.
func (l *lane) nudged(entries []journal.Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(entries, func(e journal.Entry) bool {
		n, ok := l.nudges[place{e.Record.Epoch, e.Record.Seq}]
		return ok && n.Stored.Equal(e.Record.Stored)
	})
}

// take removes the nudges that which chooses and returns them.
func (l *lane) take(which func(seq uint64) bool) []journal.Nudge {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []journal.Nudge
	for p, n := range l.nudges {
		if which(p.seq) {
			delete(l.nudges, p)
			taken = append(taken, n)
		}
	}
	return taken
}

// acknowledge settles nudges. An acknowledgement that is lost costs a delivery.
func (l *lane) acknowledge(which func(seq uint64) bool) {
	for _, n := range l.take(which) {
		_ = n.Ack()
	}
}

// giveBack returns nudges, to come again here or elsewhere after a pause.
func (l *lane) giveBack(after time.Duration, which func(seq uint64) bool) {
	for _, n := range l.take(which) {
		_ = n.Nak(after)
	}
}

func all(uint64) bool { return true }

// enter notes what the lane does now, for Status.
func (l *lane) enter(p Phase, fence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != p {
		l.phase, l.since = p, time.Now()
	}
	l.fence = fence
}

// run serves the chat until the lane holds no nudge.
func (l *lane) run() {
	telemetry.LanesOpen.Add(l.d.hard, 1)
	defer telemetry.LanesOpen.Add(l.d.hard, -1)
	for {
		n, ok := l.lowest()
		switch {
		case !ok && l.d.retire(l):
			return
		case !ok:
		case l.d.draining():
			l.giveBack(0, all)
		default:
			if err := l.visit(n); err != nil {
				l.putOff(err)
			}
		}
	}
}

// putOff gives all nudges back since the chat could not be served now. No try is spent.
func (l *lane) putOff(err error) {
	ctx := l.d.hard
	var later *laterError
	switch {
	case l.d.draining():
		l.giveBack(0, all)
	case errors.As(err, &later):
		l.giveBack(max(0, time.Until(later.at)), all)
	case errors.Is(err, botmesh.ErrLeaseLost): // told by lose
		l.giveBack(0, all)
	default:
		l.d.log.ErrorContext(ctx, "chat can not be served now", "chat", l.chat, "err", err)
		l.giveBack(l.d.cfg.Lease/3, all)
	}
}

// visit does what the lowest nudge asks for: nothing but an acknowledgement if its
// record was applied, else a turn of the chat.
func (l *lane) visit(n journal.Nudge) error {
	l.enter(PhaseOpen, 0)
	if err := l.paused(l.d.soft); err != nil {
		return err
	}
	if done, err := l.applied(n, n.Delivered > 1); done || err != nil {
		return err
	}
	s := &slot{slots: l.d.slots}
	if err := s.take(l.d.soft, false); err != nil {
		return err
	}
	defer s.give()
	l.enter(PhaseWaiting, 0)
	asked := time.Now()
	known, _ := l.d.held.get(l.key)
	turn, err := l.d.cfg.Coordinator.Take(l.d.soft, coord.Request{
		Key: l.key, Place: n.Seq, Floor: known.cp.Fence, Waiting: s.give,
	})
	var passed *coord.PassedError
	switch {
	case errors.As(err, &passed):
		// Another holder went past this record. What is true of it the checkpoint says.
		_, err := l.applied(n, true)
		return err
	case err != nil:
		return err
	}
	if turn.Previous().Blind {
		telemetry.BlindTurns.Add(turn.Context(), 1)
	}
	granted := time.Now()
	telemetry.TurnWait.Record(turn.Context(), granted.Sub(asked).Seconds())
	defer func() { telemetry.TurnHold.Record(turn.Context(), time.Since(granted).Seconds()) }()
	return l.hold(turn, s, n)
}

// slot is a lane's place among the runs of this replica, had or not.
type slot struct {
	slots *slots
	mu    sync.Mutex
	had   bool
}

func (s *slot) take(ctx context.Context, woken bool) error {
	s.mu.Lock()
	had := s.had
	s.mu.Unlock()
	if had {
		return nil
	}
	if err := s.slots.acquire(ctx, woken); err != nil {
		return err
	}
	telemetry.SlotsInUse.Add(ctx, 1)
	s.mu.Lock()
	s.had = true
	s.mu.Unlock()
	return nil
}

func (s *slot) give() {
	s.mu.Lock()
	had := s.had
	s.had = false
	s.mu.Unlock()
	if had {
		telemetry.SlotsInUse.Add(context.Background(), -1)
		s.slots.release()
	}
}

// laterError says that a chat is to be visited again at a time.
type laterError struct {
	at  time.Time
	why string
}

func (e *laterError) Error() string { return "dispatcher: put off: " + e.why }
