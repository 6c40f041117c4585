package flow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

type lunch struct {
	Dish string `json:"dish"`
	Asks int    `json:"asks"`
}

const (
	which    flow.Step[lunch] = "dish"
	portions flow.Step[lunch] = "count"
	moved    flow.Step[lunch] = "moved"
)

// lunchFlow asks for a dish and a number, and says which of the answers were late.
func lunchFlow() *flow.Flow[lunch] {
	f := flow.New[lunch]("lunch", flow.Trigger("/lunch"))
	flow.Ask(f, which, ask.Text(), "Which dish?", func(c *flow.C[lunch], text string) flow.Next {
		c.State.Dish = text
		c.Sayf("late: %t", c.Stale())
		return c.Goto(portions)
	})
	flow.Ask(f, portions, ask.Choice("1", "2"), "How many?", func(c *flow.C[lunch], n string) flow.Next {
		c.Sayf("%s of %s, late: %t", n, c.State.Dish, c.Stale())
		return c.End()
	})
	return f
}

func sorry(c *bot.Context) error { c.Say("sorry"); return nil }

// An answer stays an answer, however old, until somebody says otherwise.
func TestALateAnswerIsAnAnswerThatKnowsIt(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, bot.New().StaleAfter(time.Hour).Flow(lunchFlow()))
	p.Late(2*time.Hour, "/lunch").Bot("Which dish?")
	p.Late(2*time.Hour, "soup").Bot("late: true").Bot("How many?")
	p.Late(time.Minute, "2").Bot("2 of soup, late: false").Idle()

	p = flowtest.Play(t, bot.New().Flow(lunchFlow()))
	p.User("/lunch").Bot("Which dish?")
	p.Late(2*time.Hour, "soup").Bot("late: false").Bot("How many?")
	p.Record(botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "1"}}).Bot("1 of soup, late: false")
}

// The bot's handler takes the place of all else, and the question stays open.
func TestALateAnswerIsForTheBotThatTakesIt(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, bot.New().Stale(time.Hour, sorry).Flow(lunchFlow()))
	p.User("/lunch").Bot("Which dish?")
	p.Late(2*time.Hour, "soup").Bot("sorry")
	p.User("salad").Bot("late: false").Bot("How many?")
	p.Record(botmesh.Record{
		Type: botmesh.TypeMessage, SentAt: time.Unix(1, 0), RequeueOf: "x", Message: botmesh.Message{Text: "2"},
	}).Bot("2 of salad, late: false").Idle()
}

// A flow decides about what is late before the bot does, for what would be an answer.
func TestAFlowDecidesAboutALateAnswer(t *testing.T) {
	t.Parallel()
	f := lunchFlow()
	flow.Script(f, moved, func(c *flow.Talk[lunch]) (flow.Next, error) {
		c.Say("too late for " + c.State.Dish)
		return c.End(), nil
	})
	f.OnStale(func(c *flow.C[lunch]) flow.Next {
		c.State.Asks++ // dropped by Reject, kept by the others
		switch c.Text() {
		case "take it":
			return c.Accept()
		case "go on":
			c.State.Dish = "it"
			return c.Goto(moved)
		case "end":
			return c.End()
		}
		return c.Reject("That took long.")
	})
	p := flowtest.Play(t, bot.New().Stale(time.Hour, sorry).Flow(f))
	p.User("/lunch").Bot("Which dish?")
	p.Late(2*time.Hour, "soup").Bot("That took long.\nWhich dish?")
	p.Late(2*time.Hour, "/lunch").Bot("sorry")
	p.Late(2*time.Hour, "take it").Bot("late: true").Bot("How many?").Buttons("1", "2")
	press := botmesh.Record{Type: botmesh.TypeCallback, SentAt: time.Unix(1, 0), Message: botmesh.Message{Payload: "~1:1"}}
	if old := (&flow.Position{Asked: 99}); !old.Stale(press) {
		t.Fatal("got the press of a button of an open question, want one of an earlier question")
	}
	p.Record(press).Bot("sorry")
	p.Late(2*time.Hour, "go on").Bot("too late for it").Idle()
	p.Late(2*time.Hour, "hello").Bot("sorry")
	p.User("/lunch").Bot("Which dish?").Late(2*time.Hour, "end").Silent().Idle()
}

// Of flows that call each other the innermost decides that has something to say.
func TestTheInnermostFlowDecidesAboutALateAnswer(t *testing.T) {
	t.Parallel()
	type tray struct{}
	for name, c := range map[string]struct {
		inner, outer bool
		want         string
	}{
		"both":     {true, true, "inner"},
		"inner":    {true, false, "inner"},
		"outer":    {false, true, "outer"},
		"no one":   {false, false, "sorry"},
		"Accepted": {false, true, "outer"},
	} {
		in, out := lunchFlow(), flow.New[tray]("tray", flow.Trigger("/tray"))
		flow.Call(out, "lunch", in, func(tray) lunch { return lunch{} }, func(c *flow.C[tray], l lunch) flow.Next {
			c.Say("ended with " + l.Dish)
			return c.End()
		})
		if c.inner {
			in.OnStale(func(c *flow.C[lunch]) flow.Next { c.Say("inner"); c.State.Dish = "nothing"; return c.End() })
		}
		if c.outer {
			out.OnStale(func(c *flow.C[tray]) flow.Next {
				c.Say("outer")
				if name == "Accepted" {
					return c.Accept()
				}
				return c.End()
			})
		}
		p := flowtest.Play(t, bot.New().Stale(time.Hour, sorry).Flow(out))
		p.User("/tray").Bot("Which dish?").Late(2*time.Hour, "soup").Bot(c.want)
		switch {
		case c.inner:
			p.Bot("ended with nothing").Idle()
		case name == "Accepted":
			p.Bot("late: true").Bot("How many?")
		case c.outer:
			p.Idle()
		}
	}
}

func TestOnStaleThatIsWrong(t *testing.T) {
	t.Parallel()
	f := lunchFlow()
	f.OnStale(func(c *flow.C[lunch]) flow.Next { return c.Accept() })
	f.OnStale(func(c *flow.C[lunch]) flow.Next { return c.Accept() })
	if err := f.Validate(); err == nil || !strings.Contains(err.Error(), "OnStale is set twice") {
		t.Errorf("got %v, want OnStale named", err)
	}
	f = flow.New[lunch]("x", flow.Trigger("/x"))
	flow.Ask(f, which, ask.Text(), "?", func(c *flow.C[lunch], _ string) flow.Next { return c.Accept() })
	flowtest.Play(t, bot.New().Flow(f)).User("/x").Bot("?").Poison("a")
}
