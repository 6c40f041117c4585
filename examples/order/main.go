// Command order is the program of the README: a counter and a short order, run as
// one replica of a fleet.
package main

import (
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/worker"
)

const visits bot.State[int] = "visits" // kept for each chat, counted exactly once

type Order struct {
	Item string `json:"item"`
}

const (
	Item     flow.Step[Order] = "item"
	Quantity flow.Step[Order] = "quantity"
)

func main() {
	b := bot.New()
	b.Command("/count", func(c *bot.Context) error {
		n := visits.Of(c)
		*n++
		c.Sayf("count: %d", *n)
		return nil
	})

	order := flow.New[Order]("order", flow.Trigger("/order"))
	flow.Ask(order, Item, ask.Text(), "What would you like?",
		func(c *flow.C[Order], item string) flow.Next {
			c.State.Item = item
			return c.Goto(Quantity)
		}, flow.To(Quantity))
	flow.Ask(order, Quantity, ask.Int().Range(1, 99), "How many?",
		func(c *flow.C[Order], n int) flow.Next {
			c.Sayf("ordered: %d x %s", n, c.State.Item)
			return c.End()
		})
	b.Flow(order)

	worker.Main(b)
}
