package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// overdue is how late a timer may be before whoever looks at its chat arms it again,
// unless its record waits there.
const overdue = time.Minute

// setTimers changes the armed timers of next as a run decided. Arming and taking
// back are effects of the commit; which timers count, its checkpoint alone says.
func setTimers(ctx context.Context, next *checkpoint.Checkpoint, r botmesh.Record, o botmesh.Outcome) error {
	if len(o.Arm)+len(o.Disarm) == 0 {
		return nil
	}
	timers := slices.Clone(next.Timers)
	var arm, disarm []string
	now := time.Now().UTC()
	drop := func(name string) {
		timers = slices.DeleteFunc(timers, func(t checkpoint.Armed) bool {
			if t.Name == name {
				disarm = append(disarm, t.ID)
			}
			return t.Name == name
		})
	}
	for _, name := range o.Disarm {
		drop(name)
	}
	for i, t := range o.Arm {
		switch {
		case t.Name == "" || len(t.Name) > botmesh.MaxTimerName:
			return fmt.Errorf("a timer's name has %d bytes, want 1 to %d", len(t.Name), botmesh.MaxTimerName)
		case len(t.Data) > botmesh.MaxTimerData:
			return fmt.Errorf("timer %q has %d bytes of data, want at most %d", t.Name, len(t.Data), botmesh.MaxTimerData)
		case slices.ContainsFunc(o.Arm[:i], func(o botmesh.Timer) bool { return o.Name == t.Name }):
			return fmt.Errorf("timer %q is armed twice in one run", t.Name)
		}
		drop(t.Name)
		id := fmt.Sprintf("%s-%d-t%d", r.Epoch, r.Seq, i)
		timers, arm = append(timers, checkpoint.Armed{ID: id, Trace: telemetry.Inject(ctx), Set: now, Timer: t}), append(arm, id)
	}
	if len(timers) > botmesh.MaxTimers {
		return fmt.Errorf("%d timers are armed, want at most %d", len(timers), botmesh.MaxTimers)
	}
	next.Timers = timers
	e := effectsOf(next)
	e.Arm, e.Disarm = append(e.Arm, arm...), disarm
	return nil
}

// fired returns the timer whose record r is, and false if it is armed no more: it
// was taken back, or it fired before.
func fired(cp checkpoint.Checkpoint, r botmesh.Record) (botmesh.Timer, bool) {
	for _, t := range cp.Timers {
		if t.ID == r.Timer {
			return t.Timer, true
		}
	}
	return botmesh.Timer{}, false
}

// withoutTimer returns timers without the one of an id.
func withoutTimer(timers []checkpoint.Armed, id string) []checkpoint.Armed {
	if id == "" {
		return timers
	}
	return slices.DeleteFunc(slices.Clone(timers), func(t checkpoint.Armed) bool { return t.ID == id })
}

// rearm adds to the effects of a checkpoint that was read the timers that the journal
// may have lost: all if it was made anew, else those that are overdue.
func rearm(cp *checkpoint.Checkpoint, anew bool) {
	var arm []string
	for _, t := range cp.Timers {
		if anew || time.Since(t.At) > overdue {
			arm = append(arm, t.ID)
		}
	}
	if len(arm) == 0 {
		return
	}
	e := checkpoint.Effects{}
	if cp.Effects != nil {
		e = *cp.Effects
	}
	e.Arm = append(slices.Clone(e.Arm), arm...)
	cp.Effects = &e
}

// flushTimers makes the journal hold the timers that a checkpoint arms. A crash in
// between, or another replica beside this one: they are armed again, under the same
// ids. One that had fired by then fires again: the first of its records that is run
// takes it out of the checkpoint, and the others count no more.
func (l *lane) flushTimers(ctx context.Context, cp checkpoint.Checkpoint) error {
	fired := l.firedLate(ctx, cp)
	for _, t := range cp.Timers {
		if !slices.Contains(cp.Effects.Arm, t.ID) || fired[t.ID] {
			continue
		}
		err := insist(ctx, func() error {
			return l.d.cfg.Journal.Arm(ctx, journal.Alarm{Chat: l.chat, ID: t.ID, At: t.At})
		})
		if err != nil {
			return chatError("arm a timer of", l.chat, err)
		}
	}
	for _, id := range cp.Effects.Disarm {
		// Best effort: if it fires it counts no more.
		if err := l.d.cfg.Journal.Disarm(ctx, journal.Alarm{Chat: l.chat, ID: id}); err != nil {
			l.d.log.DebugContext(ctx, "timer not taken back, it will fire without effect", "chat", l.chat, "err", err)
		}
	}
	return nil
}

// firedLate are the timers of a checkpoint that fired while nobody looked, as after an
// outage, as far as their records are among the next: those need not fire again.
func (l *lane) firedLate(ctx context.Context, cp checkpoint.Checkpoint) map[string]bool {
	late := func(t checkpoint.Armed) bool { return time.Since(t.At) > overdue }
	if !slices.ContainsFunc(cp.Timers, late) {
		return nil
	}
	fired := make(map[string]bool)
	next, _ := l.d.cfg.Journal.Read(ctx, l.chat, cp.Cursor, readLimit) // without an answer they fire again
	for _, e := range next {
		fired[e.Record.Timer] = true
	}
	return fired
}
