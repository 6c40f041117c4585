package talk

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// late is where a question leads that nobody answers.
const late flow.Step[person] = "late"

// clocks adds what happens when nobody says anything: a question that times out, and a
// nap that ends. Both say which replica had the turn. Of naps there may be many, an hour long.
func clocks(b *bot.Bot, cfg Config) {
	patience := cmp.Or(cfg.Patience, time.Minute)
	f := flow.New[person]("wait", flow.Trigger("/wait"), flow.Timeout(patience, late))
	flow.Ask(f, name, ask.Text(), "Still there?", func(c *flow.C[person], _ string) flow.Next { return c.End() })
	flow.Script(f, late, func(c *flow.Talk[person]) (flow.Next, error) {
		c.Say("given up by " + cfg.Replica)
		return c.End(), nil
	})
	b.Flow(f)
	b.Command("/nap", func(c *bot.Context) error {
		c.Arm(botmesh.Timer{Name: "nap", At: c.Now().Add(patience)})
		c.Say("good night")
		return nil
	})
	b.Command("/naps <number>", func(c *bot.Context) error {
		n, err := strconv.Atoi(c.Args())
		for i := range n {
			c.Arm(botmesh.Timer{Name: fmt.Sprint("nap/", i+1), At: c.Now().Add(time.Hour)})
		}
		c.Say("good day")
		return err
	})
	b.Timer("nap", func(c *bot.Context) error { c.Say("woken by " + cfg.Replica); return nil })
}
