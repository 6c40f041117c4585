package check

import (
	"slices"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// posted checks that what was answered with success took effect, and that nothing
// did that nobody posted.
func (e *effects) posted(last revision) {
	p := posts{effects: e, last: last, stored: map[string]record{}, seen: map[string]bool{}, done: map[string]bool{}}
	for _, rec := range e.c.records {
		p.stored[rec.id] = rec
	}
	for _, kind := range []history.Kind{history.Webhook, history.Order} {
		for _, o := range e.c.ops[kind] {
			p.look(o)
		}
	}
	e.w.looked("I1", len(p.done))
	for _, rec := range e.c.records {
		if rec.posted() && !p.seen[rec.id] {
			e.w.violate("I1", e.c.key, "%s is in INBOX at %s, and nobody posted it", rec, e.w.when(rec.at))
		}
	}
}

// posts are what came from outside for a chat.
type posts struct {
	*effects
	last   revision
	stored map[string]record
	seen   map[string]bool // ids that were posted
	done   map[string]bool // those that were taken
}

// look looks at one request, a webhook or a backend's.
func (p *posts) look(o history.Operation) {
	id := o.Call.ID
	p.seen[id] = true
	rec, ok := p.stored[id]
	if o.Call.Kind == history.Order && ok {
		p.order(o, rec)
	}
	if p.done[id] || !taken(o) {
		return
	}
	p.done[id] = true
	_, applied := p.applied[id]
	tell := func(format string, args ...any) { p.w.violate("I1", p.c.key, format, args...) }
	switch at := p.w.at(o.Result.T); {
	case !ok:
		tell("%s was answered %d by %s at %s, and is not in INBOX", id, o.Result.Status, o.Call.Target, at)
	case !applied && rec.seq > p.last.cp.Cursor && p.w.underWay():
		// I7 says so
	case !applied && rec.seq > p.last.cp.Cursor:
		tell("%s was answered %d at %s and took no effect: the cursor stands at %d, revision %d", rec, o.Result.Status, at, p.last.cp.Cursor, p.last.seq)
	case !applied:
		tell("%s was answered %d at %s, and no revision is its effect, though the cursor is past it", rec, o.Result.Status, at)
	}
}

// order checks that a backend's send stands where its answer says, with its text.
func (p *posts) order(o history.Operation, rec record) {
	stands := func(r record) bool { return r.id == rec.id && r.seq == o.Result.Seq }
	if taken(o) && !slices.ContainsFunc(p.c.records, stands) {
		p.w.violate("I1", p.c.key, "a backend was told by %s at %s that %s stands at %d in INBOX, where it does not", o.Call.Target, p.w.at(o.Result.T), rec.id, o.Result.Seq)
	}
	if len(rec.said) != 1 || history.Digest(rec.said[0]) != o.Call.Text {
		p.w.violate("I2", p.c.key, "%s says %q, which is not what a backend asked of %s at %s", rec, rec.said, o.Call.Target, p.w.at(o.Call.T))
	}
}

// taken reports whether a request was answered with success.
func taken(o history.Operation) bool { return o.Result.Status >= 200 && o.Result.Status < 300 }
