package check

import (
	"github.com/botmesh-go/botmesh/e2e/history"
)

// tally counts what a chat met.
func (w *world) tally(c *chat) {
	t := &w.v.Tally
	t.Chats++
	count(c.ops[history.Webhook], &t.Webhooks, &t.Duplicates)
	count(c.ops[history.Order], &t.Orders, &t.OrdersAgain)
	t.Records += len(c.records)
	t.Revisions += len(c.revisions)
	t.Letters += len(c.letters)
	t.Dead += len(c.dead)
	for _, kind := range []history.Kind{history.Commit, history.Letter, history.Chain} {
		for _, o := range c.ops[kind] {
			switch {
			case !o.Known(), o.Result.Outcome == history.Unknown:
				t.Unknowns++
			case o.Result.Outcome == history.Conflict && kind == history.Commit:
				t.Conflicts++
			}
		}
	}
}

// count counts the requests that were taken, and those made again after that.
func count(ops []history.Operation, once, again *int) {
	done := map[string]int64{}
	for _, o := range ops {
		at, before := done[o.Call.ID]
		switch {
		case before && at < o.Call.T:
			*again++
		case !before && taken(o):
			*once++
			done[o.Call.ID] = o.Result.T
		}
	}
}

// proved says what the run did not prove.
func (w *world) proved() {
	for _, f := range w.v.Findings {
		if f.Checked == 0 {
			w.vacuous("%s, %s: there was nothing to look at", f.ID, f.What)
		}
	}
	t := &w.v.Tally
	t.Faults = len(w.faults)
	for _, s := range w.stalls {
		t.Stalls += len(s)
	}
	for _, want := range []struct {
		what         string
		got, atLeast int
	}{
		{"updates that were taken", t.Webhooks, max(w.Want.Webhooks, 1)},
		{"updates posted again", t.Duplicates, w.Want.Duplicates},
		{"writes that lost", t.Conflicts, w.Want.Conflicts},
		{"writes without an answer", t.Unknowns, w.Want.Unknowns},
		{"turns taken over", t.TakeOvers, w.Want.TakeOvers},
		{"parts that came again", t.Repeats, w.Want.Repeats},
		{"sends of backends that were taken", t.Orders, w.Want.Orders},
		{"sends of backends asked for again", t.OrdersAgain, w.Want.OrdersAgain},
		{"timers that took effect", t.Timers, w.Want.Timers},
		{"timers that were taken back", t.Disarmed, w.Want.Disarmed},
	} {
		if want.got < want.atLeast {
			w.vacuous("%s: %d, want at least %d", want.what, want.got, want.atLeast)
		}
	}
	w.provedFaults()
	fired := map[string]bool{}
	for _, e := range w.Events {
		if e.Kind == history.Point {
			fired[e.ID] = true
		}
	}
	for _, p := range w.Want.Points {
		if !fired[p] {
			w.vacuous("the crash point %s, which never fired", p)
		}
	}
}

func (w *world) provedFaults() {
	for _, f := range w.faults {
		switch {
		case !f.Known():
			w.vacuous("the fault %s of %s at %s, which never ended", f.Call.ID, f.Call.Target, w.at(f.Call.T))
		case f.Result.Error != "":
			w.vacuous("the fault %s of %s at %s, which could not be done: %s", f.Call.ID, f.Call.Target, w.at(f.Call.T), f.Result.Error)
		case f.Result.Effect == "":
			w.vacuous("the fault %s of %s at %s, which had no effect", f.Call.ID, f.Call.Target, w.at(f.Call.T))
		}
	}
	if len(w.faults) > 0 && w.healed == 0 {
		w.vacuous("the rest after the faults: nobody said that they were healed")
	}
}
