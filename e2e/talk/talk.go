// Package talk is a bot that is about to be interrupted: its conversations stand still
// where a test wants them to, and say by which replica each part of them was done.
//
// What belongs here: the bot of the tests that hand a chat from one worker to another.
package talk

import (
	"context"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// person is the state of all flows.
type person struct {
	Name string `json:"name"`
	Age  int    `json:"age"`
}

const (
	name flow.Step[person] = "name"
	age  flow.Step[person] = "age"
	trip flow.Step[person] = "trip"
	long flow.Step[person] = "long"
)

// Config is what the bots of replicas differ in.
type Config struct {
	Replica string
	// Patience is how long a question with a timeout stays open, and a nap takes. Defaults
	// to a minute.
	Patience time.Duration
	// Decides has the bot say what it knows of a flow that is lost, Forwards has flows
	// forwarded that are not kept, beside that.
	Decides, Forwards bool
	// Another is a build whose questions in flows that are not kept are others.
	Another bool
	// Later is a build whose kept flows have other steps and questions.
	Later bool
}

// Bot makes the bot of one replica.
func Bot(cfg Config) *bot.Bot {
	replica := cfg.Replica
	who := form("who", "")
	visit := flow.New[person]("visit", flow.Trigger("/visit"))
	flow.Call(visit, name, who, func(p person) person { return p }, func(c *flow.C[person], p person) flow.Next {
		c.State = p
		return c.Goto(long)
	})
	flow.Ask(visit, long, ask.Int(), "How long?", func(c *flow.C[person], n int) flow.Next {
		c.Sayf("%s stays for %d", c.State.Name, n)
		return c.End()
	})
	b := bot.New()
	b.Flow(form("form", "", flow.Trigger("/form"))).Flow(visit)
	b.Flow(listFlow())
	b.Flow(tripFlow(replica)).Flow(stepFlow(replica, "step", "", flow.Trigger("/step")))
	notKept(b, cfg)
	builds(b, cfg.Later)
	people(b)
	clocks(b, cfg)
	hearing(b, replica)
	b.Command("/work <where to stand still>", func(c *bot.Context) error {
		by, err := work(c.Turn, replica, c.Args())
		c.Sayf("begun by %s, ended by %s", by, replica)
		return err
	})
	b.Command("/tell <where to stand still>", func(c *bot.Context) error {
		message, err := c.Stream("…")
		if err != nil {
			return err
		}
		message.Set("told by " + replica)
		if c.Args() == replica {
			<-c.Context().Done()
			message.Set("told too late")
		}
		return nil
	})
	b.Fallback(func(c *bot.Context) error { c.Say("what is " + c.Text() + "?"); return nil })
	b.Command("/hello", func(c *bot.Context) error { c.Say("hello"); return nil })
	b.Command("/think <number>", think)
	b.Command("/gather", gather)
	return b
}

// form asks two questions, in somebody's name.
func form(id, by string, opts ...flow.Option) *flow.Flow[person] {
	f := flow.New[person](id, opts...)
	flow.Ask(f, name, ask.Text(), by+"Name?", func(c *flow.C[person], s string) flow.Next {
		c.State.Name = s
		return c.Goto(age)
	})
	flow.Ask(f, age, ask.Int(), by+"Age?", func(c *flow.C[person], n int) flow.Next {
		c.State.Age = n
		c.Sayf("%s is %d", c.State.Name, n)
		return c.End()
	})
	return f
}

// listFlow takes all that is said in quick succession for one answer.
func listFlow() *flow.Flow[person] {
	f := flow.New[person]("list", flow.Trigger("/list"), flow.Burst(4*time.Second))
	flow.Ask(f, name, ask.Text(), "What?", func(c *flow.C[person], all string) flow.Next {
		c.Say("noted " + strings.ReplaceAll(all, "\n", ", "))
		return c.End()
	})
	return f
}

// tripFlow asks two questions in one script, which notes who began it.
func tripFlow(replica string) *flow.Flow[person] {
	f := flow.New[person]("trip", flow.Trigger("/trip"))
	flow.Script(f, trip, func(c *flow.Talk[person]) (flow.Next, error) {
		where, err := flow.Await(c, "where", ask.Text(), "Where to?")
		if err != nil {
			return flow.Next{}, err
		}
		by, err := flow.Do(c, "by", func(context.Context, string) (string, error) { return replica, nil })
		if err != nil {
			return flow.Next{}, err
		}
		when, err := flow.Await(c, "when", ask.Text(), "When?")
		if err != nil {
			return flow.Next{}, err
		}
		c.Sayf("%s %s: booked by %s", where, when, by)
		return c.End(), nil
	})
	return f
}

// stepFlow takes its time over the answer to its first question. It asks in somebody's name.
func stepFlow(replica, id, by string, opts ...flow.Option) *flow.Flow[person] {
	f := flow.New[person](id, opts...)
	flow.Ask(f, name, ask.Text(), by+"Where to stand still?", func(c *flow.C[person], where string) flow.Next {
		who, err := work(c.Turn, replica, where)
		if err != nil {
			return c.Fail(err)
		}
		c.State.Name = who
		return c.Goto(age)
	})
	flow.Ask(f, age, ask.Int(), by+"How many?", func(c *flow.C[person], n int) flow.Next {
		c.Sayf("%d, begun by %s", n, c.State.Name)
		return c.End()
	})
	return f
}

// work says that it works, notes who does, and stands still on one replica. It returns
// who began. It does not heed the end of its run: all that it does then must be in vain.
func work(c *flow.Turn, replica, where string) (by string, err error) {
	if err := c.SendNow(botmesh.Send{Text: "working"}); err != nil {
		return "", err
	}
	by, err = flow.Do(c, "by", func(context.Context, string) (string, error) { return replica, nil })
	if err != nil || where != replica {
		return by, err
	}
	<-c.Context().Done()
	c.Say("said too late")
	_ = c.SendNow(botmesh.Send{Text: "sent too late"})
	_, _ = flow.Do(c, "by", func(context.Context, string) (string, error) { return "nobody", nil })
	return "nobody", nil
}

// think thinks until something else is said.
func think(c *bot.Context) error {
	c.Meanwhile(flow.Interrupt)
	if err := c.SendNow(botmesh.Send{Text: "thinking " + c.Args()}); err != nil {
		return err
	}
	if len(c.Also()) == 0 {
		<-c.Context().Done()
		return context.Cause(c.Context())
	}
	c.Sayf("thought of %s", c.Also()[0].Text)
	return nil
}

// gather waits for two more messages.
func gather(c *bot.Context) error {
	c.Meanwhile(flow.Join)
	if err := c.SendNow(botmesh.Send{Text: "gathering"}); err != nil {
		return err
	}
	var all []string
	for len(all) < 2 {
		select {
		case m := <-c.Incoming():
			all = append(all, m.Text)
		case <-c.Context().Done():
			return context.Cause(c.Context())
		}
	}
	c.Sayf("gathered %s", strings.Join(all, " and "))
	return nil
}
