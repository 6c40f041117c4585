package check

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Evidence is all that is known of a run after its end, when its faults were healed
// and its chats had time to come to rest.
type Evidence struct {
	Bot string
	// Lease is what the workers ran with.
	Lease time.Duration
	// IdleWithin is how long after the last fault was healed, or the last webhook of
	// the chat was taken if that came later, a chat may need until it is idle.
	IdleWithin time.Duration
	// Single says that one server kept the streams: then a read never lags.
	Single bool

	// The streams, whole, in order. The checkpoints hold every revision: their
	// stream was made without a limit per subject.
	Inbox, Outbox, Dead, Checkpoints []jet.Stored
	// Gone are the places of the inbox at which nothing stands any more: those of
	// timers that fired or were taken back.
	Gone []uint64
	// Copies compares what the nodes of a cluster hold of the streams, when all was over.
	Copies []Copy
	// Armed counts the timers that had not fired at the end, Waiting and Unacked what
	// the shared consumer of the nudges had not handed out, and handed out without an
	// acknowledgement.
	Armed, Waiting, Unacked uint64

	// Taken is when the evidence began to be taken. What happened later is left out,
	// for the streams are read one after the other. Zero leaves out nothing.
	Taken time.Time

	// Events is the merged history: what the processes wrote, and the harness with
	// its webhooks, its platform and its faults.
	Events []history.Event

	// Redis is what Redis held at the end, nil if nobody looked.
	Redis []RedisKey
	// Usage is what processes used before the load and at the end.
	Usage []Usage

	Want Want
}

// RedisKey is a key of Redis at the end of a run.
type RedisKey struct {
	Key string
	// TTL is what it has left to live, zero or less if it stays for good.
	TTL time.Duration
	// Fields counts what it holds, for a hash or a set.
	Fields int
}

// Usage is a measure of a process that must not grow with the chats it served.
type Usage struct {
	Process string
	What    string // "goroutines", "heap bytes"
	// After is the measure at the end, and Limit what it may be.
	After, Limit int64
}

// Want is what a run must have met, or nothing was proved. The zero Want asks for
// one webhook.
type Want struct {
	// Webhooks counts the updates that were taken, Duplicates those posted again
	// after that. Conflicts counts the checkpoint writes refused to a loser, Unknowns
	// the writes without an answer, TakeOvers the turns granted over a holder that
	// did not release, Repeats the copies of parts that users saw again.
	Webhooks, Duplicates, Conflicts, Unknowns, TakeOvers, Repeats int
	// Orders counts the sends of backends that were taken, OrdersAgain those asked for
	// again after that; Timers those that took effect, Disarmed those taken back.
	Orders, OrdersAgain, Timers, Disarmed int
	// Points are the crash points that must have fired.
	Points []string
}

// Violation is a broken promise.
type Violation struct {
	Chat string // its key, empty if it is of no chat
	// Account is the shortest account of it.
	Account string
}

// Finding is what became of one invariant.
type Finding struct {
	ID   string // I1 to I10, H12 and R3
	What string
	// Checked counts what was looked at: of nothing, nothing was proved.
	Checked    int
	Violations []Violation
}

// Verdict is what a run proved.
type Verdict struct {
	Findings []Finding // I1 to I10, H12, and R3 of a cluster
	// Vacuous says what was not proved.
	Vacuous []string
	Tally   Tally
}

// Tally is what a run met, for its table.
type Tally struct {
	Chats, Webhooks, Duplicates, Records, Revisions, Letters, Parts, Visible    int
	Repeats, Conflicts, Unknowns, Grants, TakeOvers, Faults, Acks, Dead, Stalls int
	// Orders, OrdersAgain, Timers and Disarmed are as in Want; LateTimers fired when they
	// counted no more.
	Orders, OrdersAgain, Timers, Disarmed, LateTimers int
	// StaleLoads counts loads that a deposed leader answered.
	StaleLoads int
}

// Err is nil if every invariant held and something was proved of each.
func (v Verdict) Err() error {
	var errs []error
	for _, f := range v.Findings {
		for i, b := range f.Violations {
			if i == maxTold {
				errs = append(errs, fmt.Errorf("%s: and %d more", f.ID, len(f.Violations)-maxTold))
				break
			}
			errs = append(errs, fmt.Errorf("%s: %s", f.ID, b))
		}
	}
	for _, what := range v.Vacuous {
		errs = append(errs, fmt.Errorf("nothing was proved about %s", what))
	}
	return errors.Join(errs...)
}

// String is the account with its chat.
func (b Violation) String() string {
	if b.Chat == "" {
		return b.Account
	}
	return "chat " + b.Chat + ": " + b.Account
}

// invariants are what is judged, in order.
var invariants = []struct{ id, what string }{
	{"I1", "every accepted id takes effect exactly once"},
	{"I2", "effects of a chat follow the journal's order"},
	{"I3", "one write wins per revision, cursors only grow"},
	{"I4", "every committed send arrives, in order, once unless in doubt"},
	{"I5", "nothing of a superseded run is seen but its eager sends"},
	{"I6", "fences only grow"},
	{"I7", "every chat comes to rest"},
	{"I8", "memory and keys of idle chats are bounded"},
	{"I9", "nothing is acknowledged while its effects are unconfirmed"},
	{"I10", "no write replaces unconfirmed effects"},
	{"H12", "a timer that is armed fires once, and not before it is due"},
	{"R3", "every node holds the same of each stream"}, // where there are several
}

// Judge says of every invariant whether the run kept it, and what the run did not
// prove. It goes by what can not lie first: the streams, what the platform saw and
// which webhooks were taken. The words of the processes count only for grants,
// acknowledgements, timers that were armed, and writes that got no answer.
func Judge(e Evidence) Verdict {
	j := Begin(e)
	j.Chats(e)
	return j.Verdict()
}

// Judgement is one that takes the evidence in parts, some chats at a time, so that all
// of it need not be in memory.
type Judgement struct {
	whole *world // what is of no chat, and of the chats their names
	lost  places
	v     Verdict
}

// Begin begins with what is of no chat: all of the evidence but the streams, and of the
// events at least those without a chat.
func Begin(e Evidence) *Judgement {
	j := &Judgement{}
	for _, i := range invariants {
		if i.id == "R3" && e.Single {
			continue
		}
		j.v.Findings = append(j.v.Findings, Finding{ID: i.id, What: i.what})
	}
	e.Inbox, e.Outbox, e.Dead, e.Checkpoints = nil, nil, nil, nil
	j.whole = newWorld(e, &j.v)
	j.whole.chats = map[string]*chat{}
	j.lost.all = slices.Clone(e.Gone)
	return j
}

// Chats judges some chats by all that the streams hold and the events say of them.
// Every chat comes once.
func (j *Judgement) Chats(part Evidence) {
	w := j.whole.of(part)
	w.each(func(c *chat) {
		j.whole.chats[c.key] = nil // its name is all that is still needed
		w.effects(c)
		w.revisions(c)
		w.delivery(c)
		w.orders(c)
		w.rest(c)
		w.acks(c)
		w.tally(c)
		j.lost.explain(c)
	})
}

// Verdict ends it.
func (j *Judgement) Verdict() Verdict {
	w := j.whole
	w.nudges()
	w.bounds()
	w.copies()
	j.lost.judge(w)
	w.proved()
	return j.v
}
