package flow_test

import (
	"os"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

type Order struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

const (
	Item     flow.Step[Order] = "item"
	Quantity flow.Step[Order] = "quantity"
)

func OrderFlow() *flow.Flow[Order] {
	f := flow.New[Order]("order", flow.Trigger("/order"))

	flow.Ask(f, Item, ask.Text(), "What would you like?",
		func(c *flow.C[Order], item string) flow.Next {
			c.State.Item = item
			return c.Goto(Quantity)
		}, flow.To(Quantity))

	flow.Ask(f, Quantity, ask.Int().Range(1, 99), "How many?",
		func(c *flow.C[Order], n int) flow.Next {
			c.Sayf("ordered: %d x %s", n, c.State.Item)
			return c.End()
		})

	return f
}

func TestOrder(t *testing.T) {
	p := flowtest.Play(t, bot.New().Flow(OrderFlow()))
	p.User("/order").Bot("What would you like?")
	p.User("pizza").Bot("How many?")
	p.User("lots").Bot("Please send a whole number from 1 to 99.\nHow many?")
	p.CrashOn("2").Bot("ordered: 2 x pizza").Idle()
}

// The tutorial's first flow, and its test, are those of this file.
func TestTheTutorialIsThisFile(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/conversations.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("tutorial_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, block := range strings.Split(string(doc), "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, "type Order") || strings.HasPrefix(block, "func TestOrder") {
			found++
			if !strings.Contains(string(code), block) {
				t.Errorf("go block %d of docs/conversations.md is not in tutorial_test.go:\n%s", i+1, block)
			}
		}
	}
	if found != 2 {
		t.Errorf("got %d of the two blocks in docs/conversations.md", found)
	}
}
