package check

import (
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// revisions checks I3, I6 and I10 on what the stream of the checkpoints holds.
func (w *world) revisions(c *chat) {
	nonces := map[string]uint64{}
	writer, fenced := c.writers(), map[uint64]string{}
	prev := revision{}
	for _, r := range c.revisions {
		if r.expect != "" && r.expect != strconv.FormatUint(prev.seq, 10) {
			w.violate("I3", c.key, "revision %d was to replace revision %s, and replaced %d", r.seq, r.expect, prev.seq)
		}
		if twice, ok := nonces[r.nonce]; ok {
			w.violate("I3", c.key, "the write %s stands at revision %d and again at %d", r.nonce, twice, r.seq)
		}
		nonces[r.nonce] = r.seq
		if r.cp.Epoch == prev.cp.Epoch && r.cp.Cursor < prev.cp.Cursor {
			w.violate("I3", c.key, "the cursor falls from %d at revision %d to %d at revision %d", prev.cp.Cursor, prev.seq, r.cp.Cursor, r.seq)
		}
		if r.cp.Fence < prev.cp.Fence {
			w.violate("I6", c.key, "the fence falls from %d at revision %d to %d at revision %d", prev.cp.Fence, prev.seq, r.cp.Fence, r.seq)
		}
		if by := writer[r.nonce]; by != "" {
			if first := fenced[r.cp.Fence]; first != "" && first != by {
				w.violate("I6", c.key, "fence %d stands in writes of %s, and in revision %d of %s", r.cp.Fence, first, r.seq, by)
			}
			fenced[r.cp.Fence] = by
		}
		if prev.seq != 0 {
			w.confirmed(c, prev, r)
		}
		prev = r
	}
	w.looked("I3", len(c.revisions))
	w.looked("I6", len(c.revisions))
	w.winners(c, nonces)
}

// writers are the processes of the chat's writes, by their nonces.
func (c *chat) writers() map[string]string {
	by := map[string]string{}
	for _, o := range c.ops[history.Commit] {
		by[o.Call.ID] = o.Call.Process
	}
	return by
}

// winners checks the words of the processes against what is there: of two writes
// that replaced the same revision one was done, and what was done is there.
func (w *world) winners(c *chat, nonces map[string]uint64) {
	won := map[uint64]history.Operation{}
	for _, o := range c.ops[history.Commit] {
		if o.Result.Outcome != history.Done || o.Call.Expect == nil {
			continue
		}
		if seq := nonces[o.Call.ID]; seq != o.Result.Seq {
			w.violate("I3", c.key, "%s was told at %s that its write %s is revision %d, which it is not", o.Call.Process, w.at(o.Result.T), o.Call.ID, o.Result.Seq)
		}
		if first, twice := won[*o.Call.Expect]; twice && first.Call.ID != o.Call.ID {
			w.violate("I3", c.key, "two writes replaced revision %d: %s by %s at %s, %s by %s at %s", *o.Call.Expect,
				first.Call.ID, first.Call.Process, w.at(first.Result.T), o.Call.ID, o.Call.Process, w.at(o.Result.T))
		}
		won[*o.Call.Expect] = o
	}
}

// confirmed checks that the effects of a revision were confirmed when the next one
// replaced it.
func (w *world) confirmed(c *chat, prev, r revision) {
	if prev.cp.Effects == nil {
		return
	}
	w.looked("I10", 1)
	if l := prev.letter(); l != nil {
		at, seq, ok := c.flushed(l.ID)
		switch {
		case !ok:
			w.violate("I10", c.key, "revision %d replaced revision %d at %s, whose letter %s is not in OUTBOX", r.seq, prev.seq, w.when(r.at), l.ID)
		case at.After(r.at):
			w.violate("I10", c.key, "revision %d replaced revision %d at %s, whose letter %s came into OUTBOX only at %s", r.seq, prev.seq, w.when(r.at), l.ID, w.when(at))
		case r.cp.Out < seq && r.cp.OutEpoch == prev.cp.OutEpoch:
			w.violate("I10", c.key, "revision %d goes by an outbox that ends at %d, though letter %s of revision %d is at %d", r.seq, r.cp.Out, l.ID, prev.seq, seq)
		}
	}
	if id := c.unarmed(prev, r.at); id != "" {
		w.violate("I10", c.key, "revision %d replaced revision %d at %s, whose timer %s was not armed by then", r.seq, prev.seq, w.when(r.at), id)
	}
	if prev.cp.Effects.Dead != nil {
		if at, ok := c.buried(prev); !ok || at.After(r.at) {
			w.violate("I10", c.key, "revision %d replaced revision %d at %s, whose dead letter of record %d was not in DEAD by then", r.seq, prev.seq, w.when(r.at), prev.cp.Effects.Dead.Seq)
		}
	}
}

// flushed returns when a letter first came into the outbox, and where.
func (c *chat) flushed(id string) (at time.Time, seq uint64, ok bool) {
	i, ok := c.place[id]
	if !ok {
		return time.Time{}, 0, false
	}
	return c.letters[i].at, c.letters[i].seq, true
}

// buried returns when the dead letter of a revision's effects was stored.
func (c *chat) buried(r revision) (at time.Time, ok bool) {
	d := r.cp.Effects.Dead
	name := d.Epoch + "-" + strconv.FormatUint(d.Seq, 10)
	for _, b := range c.dead {
		if b.name == name {
			return b.at, true
		}
	}
	return time.Time{}, false
}
