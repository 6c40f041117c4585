// Command pizza takes orders: questions with typed answers, a flow that another one
// calls, a question that nobody answers, and two languages.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/worker"
)

type order struct {
	Size     string   `json:"size"`
	Toppings []string `json:"toppings"`
	To       address  `json:"to"`
}

type address struct {
	Street string `json:"street"`
	Phone  string `json:"phone"`
}

const (
	size     flow.Step[order] = "size"
	toppings flow.Step[order] = "toppings"
	to       flow.Step[order] = "to"
	confirm  flow.Step[order] = "confirm"
	tooLate  flow.Step[order] = "too-late"

	street flow.Step[address] = "street"
	phone  flow.Step[address] = "phone"
)

func main() { worker.Main(pizza()) }

func pizza() *bot.Bot {
	return bot.New().Flow(orderFlow()).Language("de", map[string]string{
		"Which size?": "Welche Größe?", "Small": "Klein", "Large": "Groß",
		"The oven is cold. /order when you are hungry again.": "Der Ofen ist kalt. /order, wenn Sie wieder Hunger haben.",
	})
}

func orderFlow() *flow.Flow[order] {
	f := flow.New[order]("order", flow.Trigger("/order"), flow.Back(5), flow.Timeout(30*time.Minute, tooLate))
	flow.Ask(f, size, ask.Choice("s", "l").Labels("Small", "Large"), "Which size?", func(c *flow.C[order], s string) flow.Next {
		c.State.Size = s
		return c.Goto(toppings)
	}, flow.To(toppings))
	flow.Ask(f, toppings, ask.Multi("cheese", "tuna", "olives").Between(1, 2), "What on it?", func(c *flow.C[order], t []string) flow.Next {
		c.State.Toppings = t
		return c.Goto(to)
	}, flow.To(to))
	flow.Call(f, to, addressFlow(), func(order) address { return address{} }, func(c *flow.C[order], a address) flow.Next {
		c.State.To = a
		return c.Goto(confirm)
	}, flow.To(confirm))
	flow.Ask(f, confirm, ask.Confirm(), func(o order) string {
		return fmt.Sprintf("A pizza (%s) with %s to %s?", o.Size, strings.Join(o.Toppings, " and "), o.To.Street)
	}, func(c *flow.C[order], yes bool) flow.Next {
		if !yes {
			return c.Goto(size)
		}
		c.Sayf("On its way to %s. We call %s if we get lost.", c.State.To.Street, c.State.To.Phone)
		return c.End()
	}, flow.To(size))
	flow.Script(f, tooLate, func(c *flow.Talk[order]) (flow.Next, error) {
		c.Sayf("The oven is cold. /order when you are hungry again.")
		return c.End(), nil
	})
	return f
}

func addressFlow() *flow.Flow[address] {
	f := flow.New[address]("address", flow.Back(5))
	flow.Ask(f, street, ask.Text().Len(3, 100), "Where to?", func(c *flow.C[address], s string) flow.Next {
		c.State.Street = s
		return c.Goto(phone)
	}, flow.To(phone))
	flow.Ask(f, phone, ask.Phone().Country("49"), "And your number?", func(c *flow.C[address], p string) flow.Next {
		c.State.Phone = p
		return c.End()
	})
	return f
}
