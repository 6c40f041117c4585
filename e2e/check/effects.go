package check

import (
	"bytes"
	"slices"
	"sort"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
)

// application is a record that took effect.
type application struct {
	record   record
	revision uint64
	place    int // among the chat's applications
}

// effects walks a chat's revisions and checks that each record that the cursor
// passed took effect once, and upon the state that the one before left.
type effects struct {
	w       *world
	c       *chat
	applied map[string]application // by the record's id
	letters map[string]uint64      // the revision that committed each letter, by id
	alarms  map[string]bool        // the timers that were armed so far, by id
	count   int
}

// effects checks I1 and I2.
func (w *world) effects(c *chat) {
	e := &effects{w: w, c: c, applied: map[string]application{}, letters: map[string]uint64{}, alarms: map[string]bool{}}
	prev := revision{}
	for _, r := range c.revisions {
		if r.cp.Epoch != prev.cp.Epoch {
			prev.cp.Cursor = 0 // the journal was made anew
		}
		e.letter(r)
		if r.cp.Cursor > prev.cp.Cursor {
			e.pass(prev, r)
		} else if !bytes.Equal(r.cp.State, prev.cp.State) || !sameTimers(prev, r) {
			w.violate("I1", c.key, "revision %d changes the state or the timers that revision %d left, while its cursor stays at %d", r.seq, prev.seq, r.cp.Cursor)
		}
		prev = r
	}
	w.looked("I2", e.count)
	e.posted(prev)
}

// letter checks that a letter is committed once.
func (e *effects) letter(r revision) {
	l := r.letter()
	if l == nil {
		return
	}
	if before, twice := e.letters[l.ID]; twice {
		e.w.violate("I1", e.c.key, "letter %s was committed at revision %d and again at %d", l.ID, before, r.seq)
	}
	e.letters[l.ID] = r.seq
}

// pass checks a revision whose cursor moved: it is the effect of its last record,
// and every other one that it passed has none.
func (e *effects) pass(prev, r revision) {
	passed := e.c.between(prev.cp.Cursor, r.cp.Cursor)
	n := len(passed)
	if n == 0 || passed[n-1].seq != r.cp.Cursor {
		e.w.violate("I2", e.c.key, "the cursor of revision %d is %d, where no record of the chat stands in INBOX", r.seq, r.cp.Cursor)
		return
	}
	for _, rec := range passed[:n-1] {
		e.fires(prev, rec)
		if !e.idle(prev, rec) {
			e.w.violate("I1", e.c.key, "%s: its cursor passed it at revision %d, which is the effect of record %d; no letter, no dead letter, no change of state", rec, r.seq, r.cp.Cursor)
		}
	}
	e.fires(prev, passed[n-1])
	e.timers(prev, r, passed[n-1])
	e.apply(prev, r, passed[n-1])
}

// between are the chat's records after one sequence and up to another.
func (c *chat) between(after, upTo uint64) []record {
	place := func(seq uint64) int {
		return sort.Search(len(c.records), func(i int) bool { return c.records[i].seq > seq })
	}
	return c.records[place(after):place(upTo)]
}

// idle reports whether a record has no effect by right: it is nothing that a bot
// handles, or a repetition.
func (e *effects) idle(prev revision, rec record) bool {
	_, again := e.applied[rec.id]
	return !rec.handled(prev) || again
}

// apply checks the revision that is the effect of a record.
func (e *effects) apply(prev, r revision, rec record) {
	first, again := e.applied[rec.id]
	effect := r.effectOf(rec) || !bytes.Equal(r.cp.State, prev.cp.State)
	switch {
	case again && effect && e.count-first.place < checkpoint.MaxRecent:
		e.w.violate("I1", e.c.key, "%s took effect at revision %d, though its id did as record %d at revision %d", rec, r.seq, first.record.seq, first.revision)
		return
	case again && !effect, !rec.handled(prev) && !effect:
		return
	case !effect:
		e.w.violate("I1", e.c.key, "%s: the cursor passed it at revision %d; no letter, no dead letter, no change of state", rec, r.seq)
		return
	}
	e.applied[rec.id] = application{rec, r.seq, e.count}
	e.count++
	e.follow(prev, r, rec)
}

// effectOf reports whether r's effects are those of a record. A write of a later
// record that has not ended may move the cursor too, past records without effect.
func (r revision) effectOf(rec record) bool {
	switch e := r.cp.Effects; {
	case e == nil:
		return false
	case e.Dead != nil:
		return e.Dead.Seq <= rec.seq
	default:
		return e.Letter == nil || placeOf(*e.Letter) <= rec.seq // timers are armed by a record's end alone
	}
}

// follow checks that a record's effect follows from the state before and the record
// itself.
func (e *effects) follow(prev, r revision, rec record) {
	if r.effectOf(rec) && r.cp.Effects.Dead != nil {
		if d := r.cp.Effects.Dead; d.Seq != rec.seq || !bytes.Equal(r.cp.State, prev.cp.State) {
			e.w.violate("I2", e.c.key, "revision %d sets record %d aside at the cursor of %s, or changes the state with it", r.seq, d.Seq, rec)
		}
		return
	}
	l := r.letter()
	if !r.effectOf(rec) {
		l = nil
	}
	if l != nil && l.ID != botmesh.LetterID(r.cp.Chat, r.cp.Epoch, rec.seq) {
		e.w.violate("I2", e.c.key, "revision %d is the effect of %s and holds letter %s", r.seq, rec, l.ID)
	}
	if rec.typ != botmesh.TypeMessage || !chain.Links(rec.text, prev.waiting) {
		if r.chain != prev.chain {
			e.w.violate("I2", e.c.key, "revision %d is the effect of %s, no link of the chain, and makes of %v %v", r.seq, rec, prev.chain, r.chain)
		}
		e.says(prev, r, rec, texts(l))
		return
	}
	want := prev.chain.Next(rec.id, r.chain.Nonce)
	if r.chain != want {
		e.w.violate("I2", e.c.key, "revision %d does not follow from revision %d and %s: chain %v, want %v", r.seq, prev.seq, rec, r.chain, want)
	}
	if said := texts(l); !slices.Equal(said, want.Replies(rec.id)) {
		e.w.violate("I2", e.c.key, "revision %d, the effect of %s, says what does not follow from its state: %s", r.seq, rec, cmp.Diff(want.Replies(rec.id), said))
	}
}

func texts(l *botmesh.Letter) (said []string) {
	if l == nil {
		return nil
	}
	for _, p := range l.Parts {
		said = append(said, p.Send.Text)
	}
	return said
}
