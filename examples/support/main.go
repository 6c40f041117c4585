// Command support answers what it knows, and hands over to people: whoever asks for one,
// or gets stuck in a question, is put through to a chat in which the team answers. Each
// message from one chat to the other arrives once and in order, whatever crashes.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/worker"
)

var answers = map[string]string{
	"hours":    "We are there from 9 to 17.",
	"shipping": "It takes three days.",
}

// SUPPORT_DESK is the team's chat, as /whoami of the demo bot tells it: telegram/-100123.
func main() {
	desk, err := botmesh.ParseChatKey(os.Getenv("SUPPORT_DESK"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "SUPPORT_DESK is no chat:", err)
		os.Exit(2)
	}
	worker.Main(support(desk))
}

func support(desk botmesh.ChatKey) *bot.Bot {
	b := bot.New().Flow(refund())
	b.Human(func(c *bot.Context) error {
		c.SendTo(desk, botmesh.Send{Text: c.Chat().String() + ": " + c.Text()})
		return nil
	})
	b.Command("/to <chat> <text>", func(c *bot.Context) error { // of the team
		to, text, _ := strings.Cut(c.Args(), " ")
		chat, err := botmesh.ParseChatKey(to)
		if c.Chat() != desk || err != nil || text == "" {
			return bot.ErrUsage
		}
		c.SendTo(chat, botmesh.Send{Text: text})
		return nil
	})
	b.Fallback(func(c *bot.Context) error {
		switch answer := answers[strings.ToLower(strings.TrimSpace(c.Text()))]; {
		case c.Chat() == desk: // the team talks among itself
		case answer != "":
			c.Say(answer)
		default:
			c.Say("I know about hours, shipping and refunds. /human gets you a person.")
		}
		return nil
	})
	return b
}

type parcel struct{}

// refund needs the number of an order, which not everybody finds.
func refund() *flow.Flow[parcel] {
	f := flow.New[parcel]("refund", flow.Trigger("/refund", "refund", "refunds"))
	flow.Ask(f, "order", ask.Int().Range(1000, 9999), "Which order is it?", func(c *flow.C[parcel], n int) flow.Next {
		c.Sayf("The money for order %d is on its way.", n)
		return c.End()
	}, flow.Tries(2))
	f.OnGiveUp(func(c *flow.C[parcel], _ flow.Step[parcel]) flow.Next { return c.Human() })
	return f
}
