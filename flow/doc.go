// Package flow is for writing conversations: a flow is a set of steps. Most steps
// are one question with a typed answer, added with [Ask]; a step may also be several
// questions in straight-line code, [Script], or another flow, [Call].
//
//	type Order struct {
//		Item string `json:"item"`
//	}
//
//	const Item flow.Step[Order] = "item"
//
//	f := flow.New[Order]("order", flow.Trigger("/order"))
//	flow.Ask(f, Item, ask.Text(), "What would you like?",
//		func(c *flow.C[Order], item string) flow.Next {
//			c.State.Item = item
//			c.Sayf("ordered: %s", item)
//			return c.End()
//		})
//
// A handler must return a [Next], so that a forgotten way on does not compile.
// Steps are constants typed by the flow's state, so that a way into another
// flow does not compile either. The state is a struct in hand: what a handler
// leaves in it is what the next one finds.
//
// Between two messages nothing of a flow lives in memory. It is a [Position]:
// the step whose question is open and the state, encoded. The methods of a
// [Definition] that take a [Turn] are functions from a position and that turn to the
// next position and what is said. They do no I/O, read no clock and keep nothing;
// a handler that does the same can be run again anywhere, with the same end. What a
// handler does outside the conversation it does with [Do], which records the result.
//
// A position is also what a later build finds. It goes on where the step has its
// name, or had it ([Was]), and the kind of answer is the same; if the question is
// another by now, the reply is tried with it, and it is asked if that fails. Where
// the step is gone, [Flow.OnChanged] decides; without it, or if the state can not be read,
// it is [ErrStranded].
//
// What belongs here: flows, their steps and state, and the turn that handlers see.
// Answer types are in flow/ask, tests that play a chat in flow/flowtest. Which
// flow a message is for is decided in package bot; when it is run and how the
// outcome is committed, elsewhere.
package flow
