package flow_test

import (
	"context"
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

// A script asks several questions in straight-line code. It goes on at any of them,
// on any replica; what it does outside is done once.
func ExampleScript() {
	type Trip struct{}
	const plan flow.Step[Trip] = "plan"
	fare := func(_ context.Context, key string) (int, error) { return 120, nil } // asks a service, say

	f := flow.New[Trip]("trip", flow.Trigger("/trip"))
	flow.Script(f, plan, func(c *flow.Talk[Trip]) (flow.Next, error) {
		city, err := flow.Await(c, "city", ask.Text(), "Where to?")
		if err != nil {
			return flow.Next{}, err
		}
		price, err := flow.Do(c, "fare", fare)
		if err != nil {
			return flow.Next{}, err
		}
		ok, err := flow.Await(c, "ok", ask.Confirm(), fmt.Sprintf("%s is %d euros. Book it?", city, price))
		if err != nil {
			return flow.Next{}, err
		}
		c.Sayf("booked: %t", ok)
		return c.End(), nil
	}, flow.Asks("city", "ok"))

	fmt.Print(flowtest.Transcript(bot.New().Flow(f), "/trip", "Rome", "! Yes"))
	// Output:
	// > /trip
	// < Where to?
	// > Rome
	// < Rome is 120 euros. Book it? [Yes] [No]
	// ! Yes
	// < booked: true
}

// A flow calls another as one of its steps, and gets the state that it ended with.
func ExampleCall() {
	type Address struct {
		Country string `json:"country"`
		Street  string `json:"street"`
	}
	type Parcel struct {
		To Address `json:"to"`
	}
	const (
		street flow.Step[Address] = "street"
		to     flow.Step[Parcel]  = "to"
		sure   flow.Step[Parcel]  = "sure"
	)

	address := flow.New[Address]("address")
	flow.Ask(address, street, ask.Text(), "Which street?", func(c *flow.C[Address], s string) flow.Next {
		c.State.Street = s
		return c.End()
	})

	parcel := flow.New[Parcel]("parcel", flow.Trigger("/parcel"))
	flow.Call(parcel, to, address, func(Parcel) Address { return Address{Country: "ES"} },
		func(c *flow.C[Parcel], a Address) flow.Next {
			c.State.To = a
			return c.Goto(sure)
		}, flow.To(sure))
	flow.Ask(parcel, sure, ask.Confirm(), func(p Parcel) string { return "To " + p.To.Street + ", " + p.To.Country + "?" },
		func(c *flow.C[Parcel], yes bool) flow.Next { return c.End() })

	fmt.Print(flowtest.Transcript(bot.New().Flow(parcel), "/parcel", "Calle Mayor"))
	// Output:
	// > /parcel
	// < Which street?
	// > Calle Mayor
	// < To Calle Mayor, ES? [Yes] [No]
}
