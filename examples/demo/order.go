package demo

import (
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// order is what the flow has learned so far. It is stored at each question, and
// the next answer may be read by another replica.
type order struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

// The steps of the flow. Each is one question.
const (
	askItem     flow.Step[order] = "item"
	askQuantity flow.Step[order] = "quantity"
	askConfirm  flow.Step[order] = "confirm"
	tooLate     flow.Step[order] = "too-late" // asks nothing
)

// orderFlow gives up if a question stays open for as long as its patience is, unless
// that is zero.
func orderFlow(patience time.Duration) *flow.Flow[order] {
	opts := []flow.Option{flow.Trigger("/order")}
	if patience > 0 {
		opts = append(opts, flow.Timeout(patience, tooLate))
	}
	f := flow.New[order]("order", opts...)
	flow.Ask(f, askItem, ask.Text().Len(1, 200), "What would you like to order?",
		func(c *flow.C[order], item string) flow.Next {
			c.State.Item = item
			return c.Goto(askQuantity)
		}, flow.To(askQuantity))

	flow.Ask(f, askQuantity, ask.Int().Range(1, 99), "How many?",
		func(c *flow.C[order], n int) flow.Next {
			c.State.Quantity = n
			return c.Goto(askConfirm)
		}, flow.To(askConfirm))

	flow.Ask(f, askConfirm, ask.Confirm(),
		func(o order) string { return fmt.Sprintf("%d x %s, is that right?", o.Quantity, o.Item) },
		func(c *flow.C[order], yes bool) flow.Next {
			if yes {
				c.Sayf("ordered: %d x %s", c.State.Quantity, c.State.Item)
			} else {
				c.Say("cancelled")
			}
			return c.End()
		})

	flow.Script(f, tooLate, func(c *flow.Talk[order]) (flow.Next, error) {
		c.Say("order forgotten")
		return c.End(), nil
	})

	return f
}
