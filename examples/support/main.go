// Command support answers what it knows, and hands over to people: whoever asks for one
// is put through to a chat in which the team answers. Each message from one chat to the
// other arrives once and in order, whatever crashes.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/worker"
)

// human says that the chat talks to a person.
const human bot.State[bool] = "human"

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
	b := bot.New()
	b.Command("/human", func(c *bot.Context) error {
		*human.Of(c) = true
		c.Say("A person will answer you here. /bot brings me back.")
		c.SendTo(desk, botmesh.Send{Text: c.Chat().String() + " wants a person."})
		return nil
	})
	b.Command("/bot", func(c *bot.Context) error {
		*human.Of(c) = false
		c.Say("Here I am.")
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
		case *human.Of(c):
			c.SendTo(desk, botmesh.Send{Text: c.Chat().String() + ": " + c.Text()})
		case answer != "":
			c.Say(answer)
		default:
			c.Say("I know about hours and shipping. /human gets you a person.")
		}
		return nil
	})
	return b
}
