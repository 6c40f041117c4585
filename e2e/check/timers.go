package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// armed is the timer of an id, if it counts after r.
func (r revision) armed(id string) (checkpoint.Armed, bool) {
	i := slices.IndexFunc(r.cp.Timers, func(t checkpoint.Armed) bool { return t.ID == id })
	if i < 0 {
		return checkpoint.Armed{}, false
	}
	return r.cp.Timers[i], true
}

// sameTimers reports whether the same timers count after both.
func sameTimers(a, b revision) bool {
	return slices.EqualFunc(a.cp.Timers, b.cp.Timers, func(a, b checkpoint.Armed) bool { return a.ID == b.ID && a.At.Equal(b.At) })
}

// timers checks which timers count after r, the effect of rec or what passed it: those
// that counted before, without what rec took back or was fired by, and with what it
// armed, each under an id of its own.
func (e *effects) timers(prev, r revision, rec record) {
	var arm, disarm []string
	if r.effectOf(rec) {
		arm, disarm = r.cp.Effects.Arm, r.cp.Effects.Disarm
	}
	tell := func(id, what string) {
		e.w.violate("H12", e.c.key, "timer %s: revision %d, the effect of %s, %s", id, r.seq, rec, what)
	}
	for _, t := range prev.cp.Timers {
		_, stays := r.armed(t.ID)
		switch fired := t.ID == rec.id; {
		case fired && stays:
			tell(t.ID, "is what it fired for, and it counts still")
		case !fired && !stays && !slices.Contains(disarm, t.ID):
			tell(t.ID, "forgets it: it did not fire, nor was it taken back")
		}
	}
	for _, t := range r.cp.Timers {
		if _, was := prev.armed(t.ID); !was && !slices.Contains(arm, t.ID) {
			tell(t.ID, "has it, and does not arm it")
		}
	}
	for _, id := range arm {
		if _, ok := r.armed(id); !ok || e.alarms[id] || !strings.HasPrefix(id, fmt.Sprintf("%s-%d-t", r.cp.Epoch, rec.seq)) {
			tell(id, "arms it, which has no such timer, or is not its record, or did so before")
		}
		e.alarms[id] = true
	}
	e.w.v.Tally.Disarmed += len(disarm)
	e.w.looked("H12", len(arm))
}

// fires checks the record of a timer that fired: its timer was armed once, and was due.
func (e *effects) fires(prev revision, rec record) {
	if rec.typ != botmesh.TypeTimer {
		return
	}
	t, counts := prev.armed(rec.id)
	switch {
	case !counts && !e.alarms[rec.id]:
		e.w.violate("H12", e.c.key, "%s fired, and no revision had armed it", rec)
	case !counts:
		e.w.v.Tally.LateTimers++
	case rec.at.Before(t.At):
		e.w.violate("H12", e.c.key, "%s fired at %s, and was due at %s", rec, e.w.when(rec.at), e.w.when(t.At))
	default:
		e.w.v.Tally.Timers++
	}
}

// says checks what the lab's bot answers to what is no link of the chain, as far as
// that is known.
func (e *effects) says(prev, r revision, rec record, said []string) {
	var want []string
	asked, alarm := alarmOf(rec.text)
	switch {
	case rec.typ == botmesh.TypeCommand:
		want = rec.said
	case rec.typ == botmesh.TypeTimer:
		t, _ := prev.armed(rec.id)
		want = []string{"reminder: " + string(t.Data)}
	case asked:
		want = []string{"ok"}
		if arm := r.cp.Effects.Arm; len(arm) != 1 || !r.holds(arm[0], alarm) {
			e.w.violate("H12", e.c.key, "revision %d is the effect of %s, and arms %q, which is not what it was asked", r.seq, rec, arm)
		}
	default:
		return
	}
	if !slices.Equal(said, want) {
		e.w.violate("I2", e.c.key, "revision %d is the effect of %s and says %q, want %q", r.seq, rec, said, want)
	}
}

// holds reports whether the timer of an id is to say a text.
func (r revision) holds(id, text string) bool {
	t, ok := r.armed(id)
	return ok && string(t.Data) == text
}

// alarmOf is what a text asks to be reminded of.
func alarmOf(text string) (asked bool, of string) {
	for _, command := range []string{"/remind ", "/later "} {
		if rest, ok := strings.CutPrefix(text, command); ok {
			_, of, _ = strings.Cut(rest, " ")
			return true, of
		}
	}
	return false, ""
}

// unarmed is a timer that a revision arms and that the journal did not hold by a time,
// empty if there is none.
func (c *chat) unarmed(r revision, by time.Time) string {
	if r.cp.Effects == nil {
		return ""
	}
	for _, id := range r.cp.Effects.Arm {
		if !slices.ContainsFunc(c.arms[id], func(o history.Operation) bool {
			return o.Result.Outcome == history.Done && !o.Result.Wall.After(by)
		}) {
			return id
		}
	}
	return ""
}

// places are those of the inbox at which nothing stands any more.
type places struct {
	all     []uint64
	unknown int // timers that may have been stored, nobody knows where
}

// explain takes out the places of a chat's timers.
func (p *places) explain(c *chat) {
	for _, o := range c.ops[history.Arm] {
		switch {
		case o.Result.Outcome == history.Done:
			if i, ok := slices.BinarySearch(p.all, o.Result.Seq); ok {
				p.all = slices.Delete(p.all, i, i+1)
			}
		case !o.Known(), o.Result.Outcome == history.Unknown:
			p.unknown++
		}
	}
}

// judge says so if something is gone that was no timer (I1).
func (p *places) judge(w *world) {
	if n := len(p.all); n > p.unknown && !w.underWay() {
		w.violate("I1", "", "INBOX lost %d messages that were no timers, %d at most of them timers without an answer: %v", n, p.unknown, p.all[:min(n, maxTold)])
	}
}
