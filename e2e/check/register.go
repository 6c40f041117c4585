package check

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// patience bounds the search for an order of one chat's operations.
const patience = 5 * time.Second

// write is a compare-and-set of a chat's checkpoint that was stored, with all its
// repetitions: over which revision, and as which.
type write struct{ expect, seq uint64 }

// read is a load of a chat's checkpoint.
type read struct{ seq uint64 }

// register is a chat's checkpoint: the sequence that stands there.
var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		at := state.(uint64)
		switch op := input.(type) {
		case read:
			return op.seq == at, at
		case write:
			return op.expect == at, op.seq
		}
		panic(fmt.Sprintf("check: %T is no operation of a register", input))
	},
	DescribeOperation: func(input, _ any) string {
		switch op := input.(type) {
		case read:
			return fmt.Sprintf("read of revision %d", op.seq)
		case write:
			return fmt.Sprintf("write of revision %d over %d", op.seq, op.expect)
		}
		return fmt.Sprintf("grant of fence %d", input)
	},
}

// fences are the grants of a chat's turn: each exceeds those before it. That a
// lease runs out is not part of it.
var fences = porcupine.Model{
	Init: register.Init,
	Step: func(state, input, _ any) (bool, any) {
		return input.(uint64) > state.(uint64), input
	},
	DescribeOperation: register.DescribeOperation,
}

// orders checks that the writes and grants of a chat can be put into one order that
// explains all answers, each between its call and its answer (I3, I6). A write without
// an answer may be anywhere after its call if the stream holds it, and is nowhere if
// it does not.
func (w *world) orders(c *chat) {
	writes := w.writes(c)
	if what, ok := w.ordered(c, register, writes); !ok {
		w.violate("I3", c.key, "no order of its writes explains their answers: %s", what)
		return
	}
	if what, ok := w.ordered(c, register, append(writes, loads(c)...)); !ok {
		// A leader that was just deposed may have answered: its word leads to a refused
		// write and no more. One server alone has no such excuse.
		w.v.Tally.StaleLoads++
		if w.Single {
			w.violate("I3", c.key, "no order of its writes and reads explains their answers: %s", what)
		}
	}
	if what, ok := w.ordered(c, fences, w.grants(c)); !ok {
		w.violate("I6", c.key, "no order of its grants lets the fence grow: %s", what)
	}
}

// ordered reports whether there is an order, and where the longest one ends if not.
func (w *world) ordered(c *chat, m porcupine.Model, ops []porcupine.Operation) (what string, ok bool) {
	result, info := porcupine.CheckOperationsVerbose(m, ops, patience)
	switch result {
	case porcupine.Ok:
		return "", true
	case porcupine.Unknown:
		w.vacuous("the order of %d operations of chat %s: no answer within %v", len(ops), c.key, patience)
		return "", true
	}
	longest := map[int]bool{}
	for _, partial := range info.PartialLinearizations() {
		for _, order := range partial {
			if len(order) > len(longest) {
				clear(longest)
				for _, i := range order {
					longest[i] = true
				}
			}
		}
	}
	for i, op := range ops {
		if !longest[i] {
			return fmt.Sprintf("it ends before the %s, called at %s, answered at %s", m.DescribeOperation(op.Input, nil), w.at(op.Call), w.at(op.Return)), false
		}
	}
	return "", false
}

// writes are the compare-and-sets of a chat that were stored. The copies of one
// write, known by its nonce, are one: one of them landed at most. That a write was
// refused proves nothing: a cluster now and then refuses a correct one.
func (w *world) writes(c *chat) (ops []porcupine.Operation) {
	stored := map[string]uint64{}
	for _, r := range c.revisions {
		stored[r.nonce] = r.seq
	}
	place := map[string]int{}
	for _, o := range c.ops[history.Commit] {
		if o.Call.Expect == nil {
			continue
		}
		seq, ok := stored[o.Call.ID]
		if !ok {
			continue
		}
		i, again := place[o.Call.ID]
		if !again {
			i = len(ops)
			place[o.Call.ID] = i
			ops = append(ops, porcupine.Operation{Input: write{*o.Call.Expect, seq}, Call: o.Call.T, Return: history.Forever})
		}
		if o.Result.Outcome == history.Done {
			ops[i].Return = min(ops[i].Return, o.Result.T)
		}
	}
	return ops
}

func loads(c *chat) (ops []porcupine.Operation) {
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
		if first, twice := granted[o.Result.Fence]; twice {
			w.violate("I6", c.key, "fence %d was granted to %s at %s and to %s at %s", o.Result.Fence, first.Call.Process, w.at(first.Result.T), o.Call.Process, w.at(o.Result.T))
		}
		granted[o.Result.Fence] = o
		ops = append(ops, porcupine.Operation{Input: o.Result.Fence, Call: o.Call.T, Return: o.Result.T})
		w.v.Tally.Grants++
		if o.Result.Previous != "" && !o.Result.Released {
			w.v.Tally.TakeOvers++
		}
	}
	w.looked("I6", len(ops))
	return ops
}
