package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
)

var _ botmesh.Meanwhile = (*midway)(nil)

// Next implements [botmesh.Meanwhile].
func (m *midway) Next(ctx context.Context) (botmesh.Record, error) {
	select {
	case r := <-m.next: // came after an earlier call was given up
		return r, nil
	default:
	}
	if _, err := m.ask(ctx, request{next: m.next}); err != nil {
		return botmesh.Record{}, err
	}
	select {
	case r := <-m.next:
		return r, nil
	case <-m.sealed:
		return botmesh.Record{}, botmesh.ErrLeaseLost
	case <-ctx.Done():
		return botmesh.Record{}, context.Cause(ctx)
	}
}

// Interrupt implements [botmesh.Meanwhile].
func (m *midway) Interrupt(ctx context.Context) error {
	_, err := m.ask(ctx, request{end: true})
	return err
}

var errNothingCame = errors.New("dispatcher: nothing came that could interrupt the run")

// interruptedError says that a run gave way to the chat's next message, the last of
// those that the record is to be run with again.
type interruptedError struct{ also []botmesh.Record }

func (*interruptedError) Error() string { return botmesh.ErrInterrupted.Error() }
func (*interruptedError) Unwrap() error { return botmesh.ErrInterrupted }

// watch looks for the messages that come while a record runs, once the run wants to
// know. A nudge that comes to this replica is heard of at once. One that went to
// another waits there for the turn, so that the journal is looked at now and then.
//
// It finds what is surely the chat's next record: what a lagging replica of the journal
// shows is a prefix. Nothing rests on it being found: what is not is run after this.
type watch struct {
	h    *hold
	more []botmesh.Record // what the run has behind its record
	also int              // how many of them it began with
	ids  []string         // of its record and of these
	last uint64           // the sequence that was looked at last
	shut bool             // behind a record that is no message nothing is looked at

	next chan<- botmesh.Record // who waits for the next one, nil if nobody does

	woken  <-chan struct{}
	tick   <-chan time.Time
	ticker *time.Ticker
}

func (h *hold) watch(r botmesh.Record, also []botmesh.Record) *watch {
	w := &watch{h: h, more: slices.Clone(also), also: len(also), ids: []string{r.ID}, last: r.Seq}
	for _, r := range also {
		w.ids, w.last = append(w.ids, r.ID), r.Seq
	}
	return w
}

// takes reports whether a request is for the watch, and takes it.
func (w *watch) takes(q request) bool {
	if q.next == nil {
		return false
	}
	if len(q.next) == 0 { // else what an earlier call asked for has come
		w.next = q.next
	}
	if w.ticker == nil {
		w.ticker = time.NewTicker(w.h.d.cfg.Lease / 15)
		w.tick, w.woken = w.ticker.C, w.h.wake
	}
	q.answer <- answer{}
	return true
}

// came reports whether the run was given something to give way to.
func (w *watch) came() bool { return len(w.more) > w.also }

func (w *watch) stop() {
	if w.ticker != nil {
		w.ticker.Stop()
	}
}

// look gives the next message, if it is there, to whoever waits for it.
func (w *watch) look(ctx context.Context) {
	if w.next == nil {
		return
	}
	if r, ok := w.find(ctx); ok {
		w.next <- r
		w.next, w.more = nil, append(w.more, r)
	}
}

// find reads the next message from the journal.
func (w *watch) find(ctx context.Context) (botmesh.Record, bool) {
	if w.shut || len(w.more) >= botmesh.MaxAlso || w.h.stopped() {
		return botmesh.Record{}, false
	}
	entries, err := w.h.d.cfg.Journal.Read(ctx, w.h.chat, w.last, readLimit)
	if err != nil {
		return botmesh.Record{}, false // looked for again soon
	}
	for _, e := range entries {
		r := e.Record
		if e.Err == nil {
			repeated, err := w.h.repeated(ctx, r)
			if err != nil {
				return botmesh.Record{}, false // looked for again soon
			}
			if repeated || slices.Contains(w.ids, r.ID) { // a late duplicate
				w.last = r.Seq
				continue
			}
		}
		if e.Err != nil || r.Type != botmesh.TypeMessage && r.Type != botmesh.TypeCallback || w.h.passedOver(r) {
			w.shut = true
			return botmesh.Record{}, false
		}
		w.last, w.ids = r.Seq, append(w.ids, r.ID)
		return r, true
	}
	return botmesh.Record{}, false
}

// through are the records behind its own that a run has dealt with: those that it
// began with, and of those that it was given the ones up to seq.
func (w *watch) through(seq uint64) ([]botmesh.Record, error) {
	for i, r := range w.more[w.also:] {
		if r.Seq == seq {
			return w.more[:w.also+i+1], nil
		}
	}
	if seq != 0 {
		return nil, fmt.Errorf("dispatcher: Outcome.Through is %d, which is none of the records that the run was given", seq)
	}
	return w.more[:w.also], nil
}
