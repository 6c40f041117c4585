// Package flow is for writing conversations: a flow is a set of steps, each step
// one question with a typed answer.
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
// the step whose question is open and the state, encoded. Start, Answer, AskAgain
// and Cancel of a [Definition] are functions from a position and a [Turn] to the
// next position and what is said. They do no I/O, read no clock and keep nothing;
// a handler that does the same can be run again anywhere, with the same end.
//
// What belongs here: flows, their steps and state, and the turn that handlers see.
// Answer types are in flow/ask, tests that play a chat in flow/flowtest. Which
// flow a message is for is decided in package bot; when it is run and how the
// outcome is committed, elsewhere.
package flow
