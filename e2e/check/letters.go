package check

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// part is a part of a letter, as it stands in the outbox.
type part struct {
	botmesh.Part
	letter  uint64 // the letter's place in the outbox
	receipt *link
	copies  []shown // what the user saw of it, in order
}

// shown is a part that the user saw.
type shown struct {
	event history.Event
	call  history.Operation // the call that it came of, if known
}

// delivery checks what became of a chat's committed letters.
type delivery struct {
	w     *world
	c     *chat
	parts []part
	place map[string]int // of each part, by id
	texts map[string]int // of each part, by its digest; the last one of several
}

// delivery checks I4 and I5.
func (w *world) delivery(c *chat) {
	d := &delivery{w: w, c: c, place: map[string]int{}, texts: map[string]int{}}
	d.flushes()
	d.receipts()
	d.see()
	for i := range d.parts {
		d.arrived(&d.parts[i])
		d.repeats(&d.parts[i])
	}
	d.order()
	w.looked("I4", len(d.parts))
	w.looked("I5", len(c.shown))
	w.v.Tally.Parts += len(d.parts)
}

// flushes checks that the outbox holds what was committed: each letter once, as it
// was, in order, and no other.
func (d *delivery) flushes() {
	committed := map[string]int{}
	for i, r := range d.c.revisions {
		l := r.letter()
		if l == nil {
			continue
		}
		committed[l.ID] = i
		if _, _, ok := d.c.flushed(l.ID); !ok && (i < len(d.c.revisions)-1 || !d.w.underWay()) {
			d.w.violate("I4", d.c.key, "letter %s was committed at revision %d, %s, and is not in OUTBOX", l.ID, r.seq, d.w.when(r.at))
		}
	}
	last, seen := -1, map[string]uint64{}
	for _, l := range d.c.letters {
		i, ok := committed[l.ID]
		switch before, twice := seen[l.ID]; {
		case !ok:
			d.w.violate("I5", d.c.key, "letter %s is in OUTBOX at %d, and no revision committed it", l.ID, l.seq)
			continue
		case twice:
			d.w.violate("I4", d.c.key, "letter %s is in OUTBOX at %d and again at %d", l.ID, before, l.seq)
		case i < last:
			d.w.violate("I4", d.c.key, "letter %s of revision %d comes in OUTBOX after one of revision %d", l.ID, d.c.revisions[i].seq, d.c.revisions[last].seq)
		}
		if r := d.c.revisions[i]; !cmp.Equal(r.letter().Parts, l.Parts) {
			d.w.violate("I5", d.c.key, "letter %s says in OUTBOX what revision %d did not commit", l.ID, r.seq)
		} else if l.at.Before(r.at) {
			d.w.violate("I5", d.c.key, "letter %s came into OUTBOX at %s, before its revision %d at %s", l.ID, d.w.when(l.at), r.seq, d.w.when(r.at))
		}
		seen[l.ID], last = l.seq, max(last, i)
		d.add(l)
	}
}

func (d *delivery) add(l letter) {
	for _, p := range l.Parts {
		if _, twice := d.place[p.ID]; twice {
			continue // the letter is there twice
		}
		d.place[p.ID], d.texts[history.Digest(p.Send.Text)] = len(d.parts), len(d.parts)
		d.parts = append(d.parts, part{Part: p, letter: l.seq})
	}
}

// receipts gives each part its receipt.
func (d *delivery) receipts() {
	for i := range d.c.links {
		l := &d.c.links[i]
		if l.Receipt == nil {
			continue
		}
		n, ok := d.place[l.Receipt.Part]
		switch {
		case !ok:
			d.w.violate("I5", d.c.key, "the receipt at %d is of %s, which no committed letter holds", l.seq, l.Receipt.Part)
		case d.parts[n].receipt != nil:
			d.w.violate("I4", d.c.key, "%s has a receipt at %d and again at %d", l.Receipt.Part, d.parts[n].receipt.seq, l.seq)
		default:
			d.parts[n].receipt = l
		}
	}
}

// see tells of what the user saw which part it was: that of the last call with this
// text, by the process that the platform names.
func (d *delivery) see() {
	calls := map[[2]string][]history.Operation{}
	for _, o := range d.c.ops[history.Call] {
		by := [2]string{o.Call.Process, o.Call.Text}
		calls[by] = append(calls[by], o)
	}
	for _, e := range d.c.shown {
		s := shown{event: e}
		n, ok := d.texts[e.Text]
		for _, o := range calls[[2]string{e.By, e.Text}] {
			if o.Call.T > e.T {
				break
			}
			if i, known := d.place[o.Call.Part]; known && history.Digest(d.parts[i].Send.Text) == e.Text {
				s.call, n, ok = o, i, true
			}
		}
		if !ok {
			d.w.violate("I5", d.c.key, "the user saw at %s, by %s, a text (%s) that no committed letter holds", d.w.at(e.T), e.By, e.Text)
			continue
		}
		d.parts[n].copies = append(d.parts[n].copies, s)
	}
}

// arrived checks that a part came to the user, or was given up.
func (d *delivery) arrived(p *part) {
	d.w.v.Tally.Visible += len(p.copies)
	if len(p.copies) > 0 {
		return
	}
	switch {
	case p.receipt == nil && d.w.underWay():
		// I7 says so
	case p.receipt == nil:
		d.w.violate("I4", d.c.key, "%s, in OUTBOX at %d, never came to the platform and has no receipt", p.ID, p.letter)
	case p.receipt.Receipt.Result == botmesh.ResultDelivered:
		d.w.violate("I4", d.c.key, "%s has the receipt %d of a delivery, and the platform never took it", p.ID, p.receipt.seq)
	}
}

// order checks that parts came in order for the first time, and that a repetition
// goes back no further than what can be in doubt at once.
func (d *delivery) order() {
	type sight struct {
		t int64
		n int
	}
	var all []sight
	for n, p := range d.parts {
		for _, s := range p.copies {
			all = append(all, sight{s.event.T, n})
		}
	}
	slices.SortStableFunc(all, func(a, b sight) int { return int(min(max(a.t-b.t, -1), 1)) })
	seen, highest := map[int]bool{}, -1
	for _, s := range all {
		switch p := d.parts[s.n]; {
		case !seen[s.n] && s.n < highest:
			d.w.violate("I4", d.c.key, "%s came at %s, after the later %s", p.ID, d.w.at(s.t), d.parts[highest].ID)
		case seen[s.n] && s.n <= highest-window:
			d.w.violate("I4", d.c.key, "%s came again at %s, when %s had come: only the last %d can be in doubt", p.ID, d.w.at(s.t), d.parts[highest].ID, window)
		}
		seen[s.n], highest = true, max(highest, s.n)
	}
}
