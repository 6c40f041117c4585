package bot_test

import (
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// A whole bot. worker.Main(b) runs it.
func Example() {
	type Pizza struct {
		Topping string `json:"topping"`
	}
	const (
		visits  bot.State[int]   = "visits" // kept for each chat
		topping flow.Step[Pizza] = "topping"
		sure    flow.Step[Pizza] = "sure"
	)

	pizza := flow.New[Pizza]("pizza", flow.Trigger("/pizza"))
	flow.Ask(pizza, topping, ask.Choice("cheese", "tuna"), "Which topping?",
		func(c *flow.C[Pizza], answer string) flow.Next {
			c.State.Topping = answer
			return c.Goto(sure)
		})
	flow.Ask(pizza, sure, ask.Confirm(), func(p Pizza) string { return "A " + p.Topping + " pizza?" },
		func(c *flow.C[Pizza], yes bool) flow.Next {
			if !yes {
				return c.Goto(topping)
			}
			c.Sayf("One %s pizza is on its way.", c.State.Topping)
			return c.End()
		})

	b := bot.New()
	b.Flow(pizza)
	b.Command("/hello", func(c *bot.Context) error {
		n := visits.Of(c)
		*n++
		c.Sayf("Hello, %d times now.", *n)
		return nil
	})

	fmt.Print(flowtest.Transcript(b, "/hello", "/pizza", "2", "/hello", "! No", "cheese", "yes", "/tea"))
	// Output:
	// > /hello
	// < Hello, 1 times now.
	// > /pizza
	// < Which topping? [cheese] [tuna]
	// > 2
	// < A tuna pizza? [Yes] [No]
	// > /hello
	// < Hello, 2 times now.
	// ! No
	// < Which topping? [cheese] [tuna]
	// > cheese
	// < A cheese pizza? [Yes] [No]
	// > yes
	// < One cheese pizza is on its way.
	// > /tea
	// < unknown command: /tea
}

// A picture by its address, and whatever the user sends on to somebody else.
func ExampleContext_files() {
	desk := botmesh.ChatKey{Provider: "telegram", Chat: "-100123"}
	b := bot.New()
	b.Command("/menu", func(c *bot.Context) error {
		c.Send(botmesh.Send{
			Text:    "What would you like?",
			Media:   &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/menu.png"},
			Buttons: [][]botmesh.Button{{{Label: "Order", Payload: "/order"}}},
		})
		return nil
	})
	b.Fallback(func(c *bot.Context) error {
		for _, m := range c.Record().Message.Media { // by the platform's reference: good on the same account
			c.SendTo(desk, botmesh.Send{Text: "from " + c.Chat().String(), Media: &m})
		}
		return nil
	})

	fmt.Print(flowtest.Transcript(b, "/menu"))
	// Output:
	// > /menu
	// < (image https://example.org/menu.png) What would you like? [Order]
}
