package jet_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// idHeader names a write in what is stored, without the server taking notice.
const idHeader = "Test-Id"

// write is one publish as its writer saw it.
type write struct {
	subject string
	id      string
	expect  uint64
	// called and answered are since the run began.
	called, answered time.Duration
	seq              uint64 // if err is nil
	err              error
}

// casModel is a subject's last message: a write is taken only upon the one that it
// expects, and comes after it.
var casModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		of := map[string]int{}
		for _, op := range all {
			subject := op.Input.(write).subject
			n, ok := of[subject]
			if !ok {
				n = len(parts)
				of[subject], parts = n, append(parts, nil)
			}
			parts[n] = append(parts[n], op)
		}
		return parts
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		last, w, seq := state.(uint64), input.(write), output.(uint64)
		return w.expect == last && seq > last, seq
	},
}

// judgeWrites checks compare-and-sets against what the stream holds in the end:
// what was acknowledged is there, at its place; what was refused is not; and all that
// took effect can be put in one order per subject in which each finds what it expected,
// none before it was called nor, if it was acknowledged, after that. A write without an
// answer may have taken effect at any time, and so may one in conflict: a node that
// leads no more answers so to what the new leader stores. What the stream holds says
// whether it did.
func judgeWrites(writes []write, stored []jet.Stored) error {
	at := map[string]jet.Stored{}
	var errs []error
	for _, m := range stored {
		id := m.Header.Get(idHeader)
		if before, twice := at[id]; twice {
			errs = append(errs, fmt.Errorf("%s is stored at %d and at %d", id, before.Seq, m.Seq))
		}
		at[id] = m
	}
	var effective []porcupine.Operation
	for n, w := range writes {
		m, there := at[w.id]
		op := porcupine.Operation{ClientId: n, Input: w, Call: int64(w.called), Output: m.Seq, Return: int64(w.answered)}
		switch {
		case w.err == nil && !there:
			errs = append(errs, fmt.Errorf("%s was acknowledged at %d and is lost", w.id, w.seq))
		case w.err == nil && (m.Seq != w.seq || m.Subject != w.subject):
			errs = append(errs, fmt.Errorf("%s was acknowledged at %d of %s, is at %d of %s", w.id, w.seq, w.subject, m.Seq, m.Subject))
		case errors.Is(w.err, botmesh.ErrUnknown), errors.Is(w.err, botmesh.ErrConflict):
			op.Return = math.MaxInt64
		case w.err != nil && there:
			errs = append(errs, fmt.Errorf("%s is stored at %d, its writer was told: %w", w.id, m.Seq, w.err))
		}
		if there {
			effective = append(effective, op)
		}
		delete(at, w.id)
	}
	for id, m := range at {
		errs = append(errs, fmt.Errorf("%q at %d was written by nobody", id, m.Seq))
	}
	if got := porcupine.CheckOperationsTimeout(casModel, effective, time.Minute); got != porcupine.Ok {
		errs = append(errs, fmt.Errorf("that the %d writes are one chain per subject: got %s", len(effective), got))
	}
	return errors.Join(errs...)
}

// judgeIDs checks publishes that were repeated under one id until acknowledged:
// each is stored once, where the last answer says.
func judgeIDs(acked map[string]uint64, stored []jet.Stored) error {
	var errs []error
	count := map[string]int{}
	for _, m := range stored {
		id := m.Header.Get(idHeader)
		count[id]++
		if seq, ok := acked[id]; ok && seq != m.Seq {
			errs = append(errs, fmt.Errorf("%s was acknowledged at %d and is at %d", id, seq, m.Seq))
		}
	}
	for id, n := range count {
		if n > 1 {
			errs = append(errs, fmt.Errorf("%s is stored %d times", id, n))
		}
	}
	for id, seq := range acked {
		if count[id] == 0 {
			errs = append(errs, fmt.Errorf("%s was acknowledged at %d and is lost", id, seq))
		}
	}
	return errors.Join(errs...)
}

// stale counts the reads that show less than had been acknowledged before they
// were asked for.
func stale(reads, writes []write) (n int) {
	for _, r := range reads {
		for _, w := range writes {
			if w.err == nil && w.subject == r.subject && w.answered < r.called && w.seq > r.seq {
				n++
				break
			}
		}
	}
	return n
}

func TestTheJudgeOfWritesFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	ok := func(id string, expect, seq uint64, called, answered time.Duration) write {
		return write{subject: "s", id: id, expect: expect, seq: seq, called: called, answered: answered}
	}
	failed := func(id string, expect uint64, called time.Duration, err error) write {
		return write{subject: "s", id: id, expect: expect, called: called, answered: called + 1, err: err}
	}
	holds := func(ids ...string) (all []jet.Stored) {
		for i, id := range ids {
			if id != "" {
				all = append(all, jet.Stored{Seq: uint64(i + 1), Msg: jet.Msg{Subject: "s", Header: nats.Header{idHeader: {id}}}})
			}
		}
		return all
	}
	tests := map[string]struct {
		writes []write
		stored []jet.Stored
		want   string // empty for a good one
	}{
		"one after the other":          {[]write{ok("a", 0, 1, 0, 1), ok("b", 1, 2, 2, 3)}, holds("a", "b"), ""},
		"a loser that is not there":    {[]write{ok("a", 0, 1, 0, 1), failed("b", 0, 0, botmesh.ErrConflict)}, holds("a"), ""},
		"a loser that is there":        {[]write{failed("a", 1, 0, botmesh.ErrConflict), ok("b", 0, 1, 5, 6)}, holds("b", "a"), ""},
		"a loser upon another":         {[]write{failed("a", 7, 0, botmesh.ErrConflict), ok("b", 0, 1, 5, 6)}, holds("b", "a"), "one chain"},
		"an unknown that came late":    {[]write{failed("a", 1, 0, botmesh.ErrUnknown), ok("b", 0, 1, 5, 6)}, holds("b", "a"), ""},
		"an unknown that never came":   {[]write{failed("a", 0, 0, botmesh.ErrUnknown), ok("b", 0, 1, 5, 6)}, holds("b"), ""},
		"two winners of one revision":  {[]write{ok("a", 0, 1, 0, 3), ok("b", 0, 2, 0, 3)}, holds("a", "b"), "one chain"},
		"acknowledged and lost":        {[]write{ok("a", 0, 1, 0, 1), ok("b", 1, 2, 2, 3)}, holds("a"), "b was acknowledged at 2 and is lost"},
		"lost below another":           {[]write{ok("a", 0, 1, 0, 1), ok("b", 1, 2, 2, 3)}, holds("", "b"), "one chain"},
		"acknowledged somewhere else":  {[]write{ok("a", 0, 7, 0, 1)}, holds("a"), "acknowledged at 7"},
		"refused and there":            {[]write{failed("a", 0, 0, botmesh.ErrRefused)}, holds("a"), "its writer was told"},
		"twice":                        {[]write{ok("a", 0, 2, 0, 1)}, holds("a", "a"), "stored at 1 and at 2"},
		"of nobody":                    {nil, holds("a"), "by nobody"},
		"before it was called":         {[]write{ok("a", 0, 1, 5, 6), ok("b", 1, 2, 0, 1)}, holds("a", "b"), "one chain"},
		"an unknown before its call":   {[]write{failed("a", 0, 5, botmesh.ErrUnknown), ok("b", 1, 2, 0, 1)}, holds("a", "b"), "one chain"},
		"a subject is not another one": {[]write{ok("a", 0, 1, 0, 1), {subject: "t", id: "b", seq: 2, answered: 1}}, holds("a", "b"), "of t"},
	}
	for name, tt := range tests {
		err := judgeWrites(tt.writes, tt.stored)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestTheJudgeOfIDsFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	holds := func(ids ...string) (all []jet.Stored) {
		for i, id := range ids {
			all = append(all, jet.Stored{Seq: uint64(i + 1), Msg: jet.Msg{Header: nats.Header{idHeader: {id}}}})
		}
		return all
	}
	tests := map[string]struct {
		acked  map[string]uint64
		stored []jet.Stored
		want   string
	}{
		"each once":               {map[string]uint64{"a": 1, "b": 2}, holds("a", "b"), ""},
		"one without an answer":   {map[string]uint64{"a": 1}, holds("a", "b"), ""},
		"twice":                   {map[string]uint64{"a": 1}, holds("a", "a"), "2 times"},
		"twice without an answer": {nil, holds("a", "a"), "2 times"},
		"lost":                    {map[string]uint64{"a": 1, "b": 2}, holds("a"), "is lost"},
		"elsewhere":               {map[string]uint64{"a": 2}, holds("a"), "is at 1"},
	}
	for name, tt := range tests {
		err := judgeIDs(tt.acked, tt.stored)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestStaleReadsAreCounted(t *testing.T) {
	t.Parallel()
	writes := []write{{subject: "s", seq: 3, answered: 5}, {subject: "s", err: botmesh.ErrUnknown, answered: 1}}
	reads := []write{
		{subject: "s", seq: 1, called: 4}, // before the write was acknowledged
		{subject: "s", seq: 1, called: 6},
		{subject: "s", seq: 3, called: 6},
		{subject: "t", seq: 1, called: 6},
	}
	if got := stale(reads, writes); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}
