// Package wrong has the mistakes that must not compile. The test next to it looks
// for an error in each line that is marked, and in no other.
package wrong

import (
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

type one struct{}

type two struct{}

const (
	here  flow.Step[one] = "here"
	there flow.Step[two] = "there"
)

func mistakes(f *flow.Flow[one], sub *flow.Flow[two]) {
	flow.Ask(f, here, ask.Text(), "A forgotten return?", func(c *flow.C[one], _ string) flow.Next {
		c.Goto(here)
	}) // ERROR

	flow.Ask(f, here, ask.Text(), "A step of another flow?", func(c *flow.C[one], _ string) flow.Next {
		return c.Goto(there) // ERROR
	})

	flow.Ask(f, there, ask.Text(), "A step of another flow?", func(c *flow.C[one], _ string) flow.Next { // ERROR
		return c.End()
	})

	flow.Ask(f, here, ask.Int(), "Another answer?", func(c *flow.C[one], _ string) flow.Next { // ERROR
		return c.End()
	})

	flow.Ask(f, here, ask.Text(), "A question in a question?", func(c *flow.C[one], _ string) flow.Next {
		_, _ = flow.Await(c, "name", ask.Text(), "Name?") // ERROR
		return c.End()
	})

	flow.Script(f, here, func(c *flow.Talk[one]) (flow.Next, error) {
		return c.Goto(there), nil // ERROR
	})

	flow.Script(f, here, func(c *flow.Talk[two]) (flow.Next, error) { // ERROR
		return c.End(), nil
	})

	flow.Call(f, here, sub, func(one) two { return two{} }, func(c *flow.C[one], _ one) flow.Next { // ERROR
		return c.End()
	})

	f.OnGiveUp(func(c *flow.C[one], at flow.Step[one]) flow.Next {
		return c.Goto(there) // ERROR
	})
}
