package flow

// C is one turn of a flow whose state is S.
type C[S any] struct {
	*Turn
	// State is the state so far. What a handler leaves in it is kept, unless it
	// rejects the answer or fails.
	State S
}

// Next is where a conversation goes on. Handlers get it from the methods of [C];
// the zero Next is an error.
type Next struct {
	kind nextKind
	step string
	hint string
	err  error
}

type nextKind int

const (
	nextNone nextKind = iota
	nextGoto
	nextEnd
	nextReject
	nextFail
)

// Goto asks the question of another step, or of the same one anew.
func (c *C[S]) Goto(s Step[S]) Next { return Next{kind: nextGoto, step: string(s)} }

// End ends the flow. Its state is gone.
func (c *C[S]) End() Next { return Next{kind: nextEnd} }

// Reject says why an answer will not do and asks the same question again. Changes
// of the state are dropped.
func (c *C[S]) Reject(why string) Next { return Next{kind: nextReject, hint: why} }

// Fail gives the run up: nothing that was said or changed takes effect, and the
// record is run again later, a bounded number of times. It is for what may work
// then: a service that does not answer.
func (c *C[S]) Fail(err error) Next { return Next{kind: nextFail, err: err} }
