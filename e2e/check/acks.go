package check

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// acks checks I9: an acknowledgement below the cursor needs no more than the cursor;
// one at it, that the effects up to there are confirmed and every letter up to
// there is settled.
func (w *world) acks(c *chat) {
	a := newAcked(c)
	for _, o := range c.ops[history.Ack] {
		a.judge(w, o.Call)
	}
	w.looked("I9", len(c.ops[history.Ack]))
	w.v.Tally.Acks += len(c.ops[history.Ack])
}

// acked knows what was stored of a chat at each time.
type acked struct {
	c *chat
	// cursors are the highest cursor up to each revision, and through how far the
	// delivery had come at each entry of the chain.
	cursors []uint64
	through []uint64
}

func newAcked(c *chat) *acked {
	a := &acked{c: c}
	var highest uint64
	for _, r := range c.revisions {
		highest = max(highest, r.cp.Cursor)
		a.cursors = append(a.cursors, highest)
	}
	highest = 0
	for _, l := range c.links {
		highest = max(highest, l.Through)
		a.through = append(a.through, highest)
	}
	return a
}

// judge looks at the acknowledgement of one record.
func (a *acked) judge(w *world, ack history.Event) {
	c, at := a.c, ack.Wall
	n := sort.Search(len(c.revisions), func(i int) bool { return c.revisions[i].at.After(at) })
	var cursor uint64
	if n > 0 {
		cursor = a.cursors[n-1]
	}
	switch {
	case cursor < ack.Seq:
		w.violate("I9", c.key, "record %d was acknowledged by %s at %s, when the cursor stood at %d", ack.Seq, ack.Process, w.at(ack.T), cursor)
		return
	case cursor > ack.Seq:
		return // what is left of it stands under a later record
	}
	last, missing := a.last(c.revisions[:n], ack.Seq, at)
	if missing != "" {
		w.violate("I9", c.key, "record %d was acknowledged by %s at %s, when the cursor stood at it and %s", ack.Seq, ack.Process, w.at(ack.T), missing)
		return
	}
	m := sort.Search(len(c.links), func(i int) bool { return c.links[i].at.After(at) })
	var through uint64
	if m > 0 {
		through = a.through[m-1]
	}
	if through < last {
		w.violate("I9", c.key, "record %d was acknowledged by %s at %s, when the cursor stood at it, its letter at %d in OUTBOX, and the delivery at %d", ack.Seq, ack.Process, w.at(ack.T), last, through)
	}
}

// last is the place of the last letter of the records up to seq, or what is missing
// of their effects at a time. What a later record sent before its end is not theirs.
func (a *acked) last(revisions []revision, seq uint64, at time.Time) (place uint64, missing string) {
	for i := len(revisions) - 1; i >= 0; i-- {
		r := revisions[i]
		if r.cp.Effects != nil && r.cp.Effects.Dead != nil {
			if when, ok := a.c.buried(r); !ok || when.After(at) {
				return 0, "the dead letter of revision " + strconv.FormatUint(r.seq, 10) + " was not in DEAD"
			}
		}
		if id := a.c.unarmed(r, at); id != "" {
			return 0, "timer " + id + " of revision " + strconv.FormatUint(r.seq, 10) + " was not armed"
		}
		l := r.letter()
		if l == nil || placeOf(*l) > seq {
			continue
		}
		when, place, ok := a.c.flushed(l.ID)
		if !ok || when.After(at) {
			return 0, "letter " + l.ID + " of revision " + strconv.FormatUint(r.seq, 10) + " was not in OUTBOX"
		}
		return place, "" // those before were confirmed when their revisions were replaced
	}
	return 0, ""
}

// placeOf is the sequence of the record that a letter answers, by its id:
// chat/epoch.seq, with /e and a number behind it if it was sent before the end.
func placeOf(l botmesh.Letter) uint64 {
	rest := strings.TrimPrefix(l.ID, l.Chat.Key()+"/")
	rest, _, _ = strings.Cut(rest, "/")
	_, seq, _ := strings.Cut(rest, ".")
	n, _ := strconv.ParseUint(seq, 10, 64)
	return n
}
