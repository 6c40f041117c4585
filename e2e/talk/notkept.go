package talk

import (
	"fmt"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// notKept adds the flows that are not kept, which say which replica asks, and what becomes
// of them at a hand-over.
func notKept(b *bot.Bot, cfg Config) {
	by := cfg.Replica + ": "
	if cfg.Another {
		b.Flow(otherForm("game", "/game")).Flow(otherForm("draft", "/draft"))
	} else {
		b.Flow(form("game", by, flow.Trigger("/game"), flow.Ephemeral(0)))
		b.Flow(stepFlow(cfg.Replica, "draft", by, flow.Trigger("/draft"), flow.Ephemeral(0)))
	}
	b.Flow(flow.NewLive("sum", func(c *flow.Live) error { return sum(c, by) }, flow.Trigger("/sum")))
	if cfg.Decides {
		b.Handover(bot.Handover{Forward: cfg.Forwards, Decide: decide})
	}
}

// decide says what it is given, and deals with the message too if the flow was at its
// second question.
func decide(c *bot.Context, l bot.Lost) (handled bool, err error) {
	why := "lost"
	if l.Changed {
		why = "changed"
	}
	c.Sayf("%s: %s/%s %s", why, l.Flow, l.Step, l.State)
	return flow.Step[person](l.Step) == age, nil
}

// otherForm has the steps of the flows that are not kept, with other kinds of answers.
func otherForm(id, trigger string) *flow.Flow[person] {
	f := flow.New[person](id, flow.Trigger(trigger), flow.Ephemeral(0))
	flow.Ask(f, name, ask.Email(), "Mail?", func(c *flow.C[person], _ string) flow.Next { return c.Goto(age) })
	flow.Ask(f, age, ask.Confirm(), "Sure?", func(c *flow.C[person], _ bool) flow.Next { return c.End() })
	return f
}

// sum adds up in a variable.
func sum(c *flow.Live, by string) error {
	for sum := 0; ; {
		n, err := flow.Wait(c, ask.Int(), fmt.Sprintf("%s%d plus?", by, sum))
		if err != nil {
			c.Say("said too late")
			return err
		}
		if n == 0 {
			c.Sayf("%sthat makes %d", by, sum)
			return nil
		}
		sum += n
	}
}
