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

const (
	dish    flow.Step[meal] = "dish"
	when    flow.Step[meal] = "when"
	table   flow.Step[meal] = "table"
	still   flow.Step[meal] = "still"
	tooLate flow.Step[meal] = "too-late"
)

type meal struct {
	Dish string `json:"dish"`
}

// mealFlow gives ten minutes for a dish, and an hour for everything else.
func mealFlow(opts ...flow.Option) *flow.Flow[meal] {
	f := flow.New[meal]("meal", append([]flow.Option{flow.Trigger("/meal"), flow.Timeout(time.Hour, tooLate), flow.Back(3)}, opts...)...)
	flow.Ask(f, dish, ask.Text(), "Which dish?", func(c *flow.C[meal], s string) flow.Next {
		if s == "soap" {
			return c.Reject("Not food.")
		}
		c.State.Dish = s
		return c.Goto(when)
	}, flow.Timeout(10*time.Minute, still))
	flow.Ask(f, when, ask.Text(), func(m meal) string { return m.Dish + ", when?" }, func(c *flow.C[meal], s string) flow.Next {
		return c.Goto(table)
	})
	flow.Call(f, table, seatFlow(), func(meal) seat { return seat{} }, func(c *flow.C[meal], s seat) flow.Next {
		c.Sayf("%s at table %d", c.State.Dish, s.Table)
		return c.End()
	}, flow.Timeout(20*time.Minute, tooLate))
	flow.Ask(f, still, ask.Confirm(), "Are you still there?", func(c *flow.C[meal], yes bool) flow.Next {
		if !yes {
			return c.End()
		}
		return c.Goto(dish)
	})
	flow.Script(f, tooLate, func(c *flow.Talk[meal]) (flow.Next, error) {
		c.Say("The kitchen is closed.")
		return c.End(), nil
	})
	return f
}

type seat struct {
	Table int `json:"table"`
}

const (
	number2 flow.Step[seat] = "number"
	anyOne  flow.Step[seat] = "any"
)

func seatFlow() *flow.Flow[seat] {
	f := flow.New[seat]("seat")
	flow.Ask(f, number2, ask.Int(), "Which table?", func(c *flow.C[seat], n int) flow.Next {
		if n == 13 {
			return c.Reject("There is none.")
		}
		c.State.Table = n
		return c.End()
	}, flow.Timeout(5*time.Minute, anyOne))
	flow.Script(f, anyOne, func(c *flow.Talk[seat]) (flow.Next, error) {
		c.State.Table = 1
		sure, err := flow.Await(c, "sure", ask.Confirm(), "By the window?")
		if err != nil || sure {
			return c.End(), err
		}
		return c.Goto(number2), nil
	})
	return f
}

func mealBot() *bot.Bot { return bot.New().Flow(mealFlow()) }

// SPEC: H12 H5. A question that stays open leads on by itself, to each replica alike.
func TestAQuestionTimesOut(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, mealBot()).Repeated()
	p.User("/meal").Bot("Which dish?").HandOver(mealBot())
	p.Advance(9 * time.Minute).Silent().Advance(2 * time.Minute).Bot("Are you still there?")
	p.Advance(30 * time.Minute).Silent().User("yes").Bot("Which dish?")
	p.Advance(2*time.Hour).Bot("Are you still there?", "The kitchen is closed.").Idle() // the one after the other
	p.Advance(24 * time.Hour).Silent()
}

// An answer takes the clock back, and one that will not do begins it anew.
func TestAnAnswerStopsTheClock(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, mealBot()).Repeated()
	p.User("/meal").Bot("Which dish?").Advance(9 * time.Minute).User("soap").Bot("Not food.\nWhich dish?")
	p.Advance(9 * time.Minute).Silent().CrashOn("soup").Bot("soup, when?")
	p.Advance(50 * time.Minute).Silent().User("/back").Bot("Which dish?")
	p.Advance(11 * time.Minute).Bot("Are you still there?").User("/back").Bot("Which dish?")
	p.User("/cancel").Bot("cancelled").Advance(24 * time.Hour).Silent()
}

// The clocks of flows that call each other run side by side.
func TestTheClockOfAFlowThatWasCalled(t *testing.T) {
	t.Parallel()
	ready := func() *flowtest.Player {
		p := flowtest.Play(t, mealBot()).Repeated()
		return p.User("/meal").Bot("Which dish?").User("soup").Bot("soup, when?").User("now").Bot("Which table?")
	}
	ready().Advance(6 * time.Minute).Bot("By the window?").User("yes").Bot("soup at table 1").Idle().Advance(24 * time.Hour).Silent()
	ready().Advance(6 * time.Minute).Bot("By the window?").Advance(19 * time.Minute).Silent().
		Advance(2 * time.Minute).Bot("The kitchen is closed.").Idle()
	p := ready()
	for range 5 {
		p.Advance(4 * time.Minute).Silent().User("13").Bot("There is none.\nWhich table?")
	}
	p.User("7").Bot("soup at table 7").Advance(24 * time.Hour).Silent()
}

// SPEC: H5. DESIGN N7. A clock that is not the one of the open question has no effect.
func TestATimeoutThatIsStale(t *testing.T) {
	t.Parallel()
	f := mealFlow()
	at := func(seq uint64, timer botmesh.Timer) *flow.Turn {
		return flow.NewTurn(t.Context(), botmesh.Run{Record: botmesh.Record{Seq: seq, Type: botmesh.TypeTimer}, Timer: timer, Now: time.Unix(1e9, 0)}, nil)
	}
	p, err := f.Start(at(1, botmesh.Timer{}))
	if err != nil {
		t.Fatal(err)
	}
	due := time.Unix(1e9, 0).Add(10 * time.Minute)
	for name, timer := range map[string]botmesh.Timer{
		"earlier":        {Name: "flow/0", At: due.Add(-time.Second)},
		"of a sub-flow":  {Name: "flow/1", At: due},
		"of no number":   {Name: "flow/x", At: due},
		"below all":      {Name: "flow/-1", At: due},
		"of another use": {Name: "alarm/0", At: due},
	} {
		tr := at(2, timer)
		if _, effect, err := f.TimeUp(tr, *p); effect || err != nil || len(tr.Sends()) > 0 {
			t.Errorf("one %s: got effect %t, error %v, sends %v, want none", name, effect, err, tr.Sends())
		}
	}
	if _, effect, err := f.TimeUp(at(2, botmesh.Timer{Name: "flow/0", At: due}), *p); !effect || err != nil {
		t.Errorf("the one that is armed: got effect %t, error %v, want an effect", effect, err)
	}
}

// A build decides where its timeouts lead, and a build without one lets the clock run out.
func TestALaterBuildHasOtherTimeouts(t *testing.T) {
	t.Parallel()
	patient := func() *bot.Bot {
		f := flow.New[meal]("meal", flow.Trigger("/meal"))
		flow.Ask(f, dish, ask.Text(), "Which dish?", func(c *flow.C[meal], s string) flow.Next { return c.End() })
		return bot.New().Flow(f)
	}
	p := flowtest.Play(t, mealBot())
	p.User("/meal").Bot("Which dish?").Redeploy(patient()).Advance(time.Hour).Silent()
	p.User("/meal").Bot("Which dish?").Redeploy(mealBot()).Advance(time.Hour).Silent() // none was armed when it was asked
	p.User("soup").Bot("soup, when?").Advance(2 * time.Hour).Bot("The kitchen is closed.")
}

// A flow's own timeout does not lead from a question to itself, again and again.
func TestATimeoutOfAFlowNagsOnce(t *testing.T) {
	t.Parallel()
	f := flow.New[meal]("meal", flow.Trigger("/meal"), flow.Timeout(time.Hour, still))
	end := func(c *flow.C[meal], _ bool) flow.Next { return c.End() }
	flow.Ask(f, dish, ask.Confirm(), "Soup?", end)
	flow.Ask(f, still, ask.Confirm(), "Still there?", end)
	p := flowtest.Play(t, bot.New().Flow(f))
	p.User("/meal").Bot("Soup?").Advance(90 * time.Minute).Bot("Still there?").Advance(24 * time.Hour).Silent().User("yes").Idle()
}

func TestAWalkLetsTimePass(t *testing.T) {
	t.Parallel()
	flowtest.Walk(t, mealFlow(), "soup", "now", "7", "yes")
}

func TestTimeoutsThatAreWrong(t *testing.T) {
	t.Parallel()
	f := flow.New[meal]("meal", flow.Timeout(time.Minute, still))
	flow.Ask(f, dish, ask.Text(), "Which dish?", func(c *flow.C[meal], s string) flow.Next { return c.End() }, flow.Timeout(0, dish))
	err := f.Validate()
	for _, want := range []string{`it goes to "still" after 1m0s`, `step "dish" goes to "dish" after 0s`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := bot.New().Timer("flow", func(*bot.Context) error { return nil }).Validate(); err == nil {
		t.Error("a timer of the bot's own kind: got no error, want one")
	}
}

// SPEC: H12. A turn that leaves the question as it is arms nothing: its clock is not begun
// anew, and costs no write.
func TestAClockThatRunsIsLeftAlone(t *testing.T) {
	t.Parallel()
	due := time.Unix(1e9, 0)
	p := &flow.Position{In: &flow.Position{Due: due}, Due: due.Add(time.Hour)}
	tr := flow.NewTurn(t.Context(), botmesh.Run{}, nil)
	tr.Watch(p, p)
	if arm, disarm := tr.Timers(); len(arm)+len(disarm) > 0 {
		t.Errorf("got %v armed and %v taken back, want nothing", arm, disarm)
	}
}
