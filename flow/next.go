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
	kind  nextKind
	step  string
	hint  string
	tries int // with nextReject: the bound of the question, if its step has none
	err   error
}

type nextKind int

const (
	nextNone nextKind = iota
	nextGoto
	nextEnd
	nextReject
	nextFail
	nextWait
	nextAccept
	nextHuman
)

// waits is where a question that was asked leads: nowhere, until it is answered.
var waits = Next{kind: nextWait}

// Goto goes on at another step, or at the same one anew.
func (c *C[S]) Goto(s Step[S]) Next { return Next{kind: nextGoto, step: string(s)} }

// End ends the flow. Its state is gone, or goes to the step that called the flow.
func (c *C[S]) End() Next { return Next{kind: nextEnd} }

// Reject says why an answer will not do and asks the same question again. Changes
// of the state are dropped. A step that has no question of its own, a script or a
// call, begins anew.
func (c *C[S]) Reject(why string) Next { return Next{kind: nextReject, hint: why} }

// Fail gives the run up: nothing that was said or changed takes effect, and the
// record is run again later, a bounded number of times. It is for what may work
// then: a service that does not answer.
func (c *C[S]) Fail(err error) Next { return Next{kind: nextFail, err: err} }
