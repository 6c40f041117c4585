package flow_test

import (
	"fmt"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

func Example() {
	type Table struct {
		Seats int `json:"seats"`
	}
	const (
		seats flow.Step[Table] = "seats"
		name  flow.Step[Table] = "name"
	)

	f := flow.New[Table]("table", flow.Trigger("/table"))
	flow.Ask(f, seats, ask.Int().Range(1, 12), "For how many?",
		func(c *flow.C[Table], n int) flow.Next {
			if n == 7 {
				return c.Reject("Our table for seven is taken.")
			}
			c.State.Seats = n
			return c.Goto(name)
		},
		flow.To(name), flow.Hint("A number from 1 to 12, please."))
	flow.Ask(f, name, ask.Text(), "In which name?",
		func(c *flow.C[Table], who string) flow.Next {
			c.Sayf("A table for %d, %s.", c.State.Seats, who)
			return c.End()
		})

	fmt.Print(flowtest.Transcript(bot.New().Flow(f), "/table", "many", "7", "4", "Ana"))
	// Output:
	// > /table
	// < For how many?
	// > many
	// < A number from 1 to 12, please.
	//   For how many?
	// > 7
	// < Our table for seven is taken.
	//   For how many?
	// > 4
	// < In which name?
	// > Ana
	// < A table for 4, Ana.
}
