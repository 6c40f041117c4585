package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// A paused chat takes no ticket and no slot: its nudges are given back for a while,
// again and again, and whoever resumes it puts a record into its journal, whose nudge
// wakes it at once. The pause is looked at before a ticket is taken, before each run of a
// record, and by the outbox before each call to the platform. A run that is under way
// takes in no further message, ends and is committed; what it says waits.

// errPaused says when to come again to a chat that is paused.
func (d *Dispatcher) errPaused() error {
	return &laterError{time.Now().Add(4 * d.cfg.Lease), "the chat is paused"}
}

// paused says so if an operator has paused the chat. What this replica knows may be
// old: that a chat is paused is believed only of the leader, so that who was just
// resumed waits no longer.
func (l *lane) paused(ctx context.Context) error {
	if l.d.cfg.Pauses == nil {
		return nil
	}
	p := l.d.cfg.Pauses.Known(l.chat)
	if p.On {
		ctx, cancel := context.WithTimeout(ctx, l.d.moment())
		defer cancel()
		if now, err := l.d.cfg.Pauses.Get(ctx, l.chat); err == nil {
			p = now
		}
	}
	if p.StopsTurns() {
		return l.d.errPaused()
	}
	return nil
}

// stopped reports whether an operator has paused the chat, as far as this replica knows.
// What comes then is for whoever resumes it, and not for a run that is under way.
func (h *hold) stopped() bool {
	return h.d.cfg.Pauses != nil && h.d.cfg.Pauses.Known(h.chat).StopsTurns()
}

// passedOver reports whether an operator, who resumed the chat, wants a record to have
// no effect. That is said of what the user did while the chat was paused, and of
// timers: those are put off by the record that resumes it. It is not said of what an
// operator put back: whoever did has been told that it will run.
func (h *hold) passedOver(r botmesh.Record) bool {
	switch r.Type {
	case botmesh.TypeMessage, botmesh.TypeCallback, botmesh.TypeTimer:
		return !r.PutBack() && h.d.cfg.Pauses != nil && h.d.cfg.Pauses.Known(h.chat).PassesOver(r.Epoch, r.Seq)
	}
	return false
}

// passOver moves past such a record. A timer stays armed.
func (h *hold) passOver(r botmesh.Record) error {
	if r.Type == botmesh.TypeTimer {
		r.Timer, r.ID = "", ""
	}
	return h.skip(r)
}

// resume applies the end of a pause of which the bot makes nothing. Whose the
// conversation is stays as it was.
func (h *hold) resume(ctx context.Context, r botmesh.Record, more []botmesh.Record) error {
	next := h.past(r, more...)
	thaw(&next, *r.Resume)
	if err := h.failIfTooLarge(h.commit(ctx, next, maxCheckpoint)); err != nil {
		return err
	}
	return h.confirm(ctx)
}

// thaw gives the timers that stood still while a chat was paused the time that they had
// left: when it was paused, or when a run that was under way armed them. Those that fired
// meanwhile were passed over, and fire again. Those armed since stay as they are.
func thaw(next *checkpoint.Checkpoint, r botmesh.Resume) {
	if len(next.Timers) == 0 {
		return
	}
	next.Timers = slices.Clone(next.Timers)
	e := effectsOf(next)
	for i, t := range next.Timers {
		from := r.Paused
		if t.Set.After(from) {
			from = t.Set
		}
		if !from.Before(r.Resumed) {
			continue
		}
		next.Timers[i].At = r.Resumed.Add(max(0, t.At.Sub(from)))
		e.Arm = append(e.Arm, t.ID)
	}
}
