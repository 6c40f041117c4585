package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// patience bounds the search for an order of operations that overlap, and enough is
// how many are searched at once where they do not.
const (
	patience = 5 * time.Second
	enough   = 500
)

// write is a compare-and-set of a chat's checkpoint that was stored: over which
// revision, and as which.
type write struct{ expect, seq uint64 }

// read is a load of a chat's checkpoint.
type read struct{ seq uint64 }

// grant is a turn with its fence.
type grant uint64

// number is a value that only grows: the revision of a chat's checkpoint, or the
// fence of its turn. That a lease runs out is not part of it.
func number(first uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			at := state.(uint64)
			switch op := input.(type) {
			case read:
				return op.seq == at, at
			case write:
				return op.expect == at, op.seq
			case grant:
				return uint64(op) > at, uint64(op)
			}
			panic(fmt.Sprintf("check: %T is no operation", input))
		},
	}
}

// tells is what an operation is, in words, and what it leaves, zero if nothing.
func tells(input any) (what string, leaves uint64) {
	switch op := input.(type) {
	case write:
		return fmt.Sprintf("write of revision %d over %d", op.seq, op.expect), op.seq
	case grant:
		return fmt.Sprintf("grant of fence %d", op), uint64(op)
	}
	return fmt.Sprintf("read of revision %d", input.(read).seq), 0
}

// orders checks that the writes and grants of a chat can be put into one order that
// explains all answers, each between its call and its answer (I3, I6).
func (w *world) orders(c *chat) {
	writes := c.writes()
	if what, ok := w.ordered(c, writes); !ok {
		w.violate("I3", c.key, "no order of its writes explains their answers: %s", what)
		return
	}
	if what, ok := w.ordered(c, append(writes, c.loads()...)); !ok {
		// A leader that was just deposed may have answered: its word leads to a refused
		// write and no more. One server alone has no such excuse.
		w.v.Tally.StaleLoads++
		if w.Single {
			w.violate("I3", c.key, "no order of its writes and reads explains their answers: %s", what)
		}
	}
	if what, ok := w.ordered(c, w.grants(c)); !ok {
		w.violate("I6", c.key, "no order of its grants lets the fence grow: %s", what)
	}
}

// ordered reports whether there is an order, and where the longest one ends if not.
// Where nothing is under way the order is the same for all, so that the search goes
// on from there.
func (w *world) ordered(c *chat, ops []porcupine.Operation) (what string, ok bool) {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var at uint64
	for len(ops) > 0 {
		n, until := 1, ops[0].Return
		for ; n < len(ops) && (n < enough || ops[n].Call <= until); n++ {
			until = max(until, ops[n].Return)
		}
		result, info := porcupine.CheckOperationsVerbose(number(at), ops[:n], patience)
		switch result {
		case porcupine.Unknown:
			w.vacuous("the order of %d operations of chat %s: not found within %v", n, c.key, patience)
			return "", true
		case porcupine.Illegal:
			return w.stuck(ops[:n], info), false
		}
		for _, op := range ops[:n] {
			_, leaves := tells(op.Input)
			at = max(at, leaves)
		}
		ops = ops[n:]
	}
	return "", true
}

// stuck tells the first operation that has no place in the longest order.
func (w *world) stuck(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int
	for _, orders := range info.PartialLinearizations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	for i, op := range ops {
		if !slices.Contains(longest, i) {
			what, _ := tells(op.Input)
			return fmt.Sprintf("it ends before the %s, called at %s, answered at %s", what, w.at(op.Call), w.at(op.Return))
		}
	}
	return "none begins"
}

// writes are the compare-and-sets of a chat that were stored. The copies of one
// write, known by its nonce, are one: one of them landed at most. One without an
// answer was done before the one that replaced it was. That a write was refused
// proves nothing: a cluster now and then refuses a correct one.
func (c *chat) writes() (ops []porcupine.Operation) {
	copies := map[string][]history.Operation{}
	for _, o := range c.ops[history.Commit] {
		copies[o.Call.ID] = append(copies[o.Call.ID], o)
	}
	later := history.Forever
	for _, r := range slices.Backward(c.revisions) {
		all := copies[r.nonce]
		if len(all) == 0 || all[0].Call.Expect == nil {
			continue // of a process without a history
		}
		for _, o := range all {
			if o.Result.Outcome == history.Done {
				later = min(later, o.Result.T)
			}
		}
		ops = append(ops, porcupine.Operation{Input: write{*all[0].Call.Expect, r.seq}, Call: all[0].Call.T, Return: later})
	}
	return ops
}

func (c *chat) loads() (ops []porcupine.Operation) {
	for _, o := range c.ops[history.Load] {
		if o.Result.Outcome == history.Done || o.Result.Outcome == history.NotFound {
			ops = append(ops, porcupine.Operation{Input: read{o.Result.Seq}, Call: o.Call.T, Return: o.Result.T})
		}
	}
	return ops
}

func (w *world) grants(c *chat) (ops []porcupine.Operation) {
	granted := map[uint64]history.Operation{}
	for _, o := range c.ops[history.Take] {
		if o.Result.Outcome != history.Granted {
			continue
		}
		w.v.Tally.Grants++
		first, twice := granted[o.Result.Fence]
		if twice && first.Result.Blind && o.Result.Blind && first.Call.Process != o.Call.Process {
			continue // by two clocks, in one microsecond; what they write tells them apart
		}
		if twice {
			w.violate("I6", c.key, "fence %d was granted to %s at %s and to %s at %s", o.Result.Fence, first.Call.Process, w.at(first.Result.T), o.Call.Process, w.at(o.Result.T))
		}
		granted[o.Result.Fence] = o
		ops = append(ops, porcupine.Operation{Input: grant(o.Result.Fence), Call: o.Call.T, Return: o.Result.T})
		if o.Result.Previous != "" && !o.Result.Released {
			w.v.Tally.TakeOvers++
		}
	}
	w.looked("I6", len(ops))
	return ops
}
