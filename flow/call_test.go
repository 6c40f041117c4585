package flow_test

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// address is the state, and so the result, of the flow that is called here.
type address struct {
	Country string `json:"country"`
	Street  string `json:"street"`
	Number  int    `json:"number"`
}

type parcel struct {
	What string  `json:"what"`
	To   address `json:"to"`
}

const (
	street flow.Step[address] = "street"
	number flow.Step[address] = "number"

	what  flow.Step[parcel] = "what"
	where flow.Step[parcel] = "where"
	right flow.Step[parcel] = "right"
)

func addressFlow() *flow.Flow[address] {
	f := flow.New[address]("address", flow.Back(4))
	flow.Ask(f, street, ask.Text(), func(a address) string { return "Street in " + a.Country + "?" },
		func(c *flow.C[address], s string) flow.Next {
			c.State.Street = s
			return c.Goto(number)
		}, flow.Help("Without the number."))
	flow.Ask(f, number, ask.Int(), "Number?", func(c *flow.C[address], n int) flow.Next {
		c.State.Number = n
		if c.State.Street == "down" {
			return c.Fail(errBroken)
		}
		return c.End()
	}, flow.Tries(2))
	f.OnGiveUp(func(c *flow.C[address], at flow.Step[address]) flow.Next {
		c.Sayf("No %s then.", at)
		return c.End()
	})
	return f
}

func parcelFlow() *flow.Flow[parcel] {
	f := flow.New[parcel]("parcel", flow.Trigger("/parcel"), flow.Back(4))
	flow.Ask(f, what, ask.Text(), "What is in it?", func(c *flow.C[parcel], s string) flow.Next {
		c.State.What = s
		return c.Goto(where)
	}, flow.To(where))
	flow.Call(f, where, addressFlow(), func(p parcel) address { return address{Country: "ES"} },
		func(c *flow.C[parcel], a address) flow.Next {
			if a.Number == 13 {
				return c.Reject("We do not go there.")
			}
			c.State.To = a
			return c.Goto(right)
		}, flow.To(right), flow.Help("Where does it go?"))
	flow.Ask(f, right, ask.Confirm(), func(p parcel) string { return p.What + " to " + p.To.Street + "?" },
		func(c *flow.C[parcel], yes bool) flow.Next {
			c.Sayf("%s, %s %d, %s: %t", c.State.What, c.State.To.Street, c.State.To.Number, c.State.To.Country, yes)
			return c.End()
		})
	return f
}

func parcelBot() *bot.Bot { return bot.New().Flow(parcelFlow()) }

// SPEC: H2 H3. A flow that was called is part of the conversation: its place travels
// with that of its caller.
func TestAFlowCallsAnother(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, parcelBot()).Repeated()
	p.User("/parcel").Bot("What is in it?").CrashOn("A book").Bot("Street in ES?")
	p.HandOver(parcelBot())
	p.CrashOn("Calle Mayor").Bot("Number?").User("x").Bot("Please send a whole number.\nNumber?")
	var got address
	if p.State(&got); got != (address{Country: "ES", Street: "Calle Mayor"}) {
		t.Errorf("the state of the called flow: got %+v", got)
	}
	p.HandOver(parcelBot())
	p.CrashOn("7").Bot("A book to Calle Mayor?").Buttons("Yes", "No")
	p.Tap("Yes").Bot("A book, Calle Mayor 7, ES: true").Idle()

	p.User("/parcel").Bot("What is in it?").User("Tea").Bot("Street in ES?").User("down").Bot("Number?")
	p.Poison("1").User("/cancel").Bot("cancelled").Idle()
}

func TestARejectedResultCallsAgain(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, parcelBot())
	p.User("/parcel").Bot("What is in it?").User("Tea").Bot("Street in ES?").User("Elm").Bot("Number?")
	p.User("13").Bot("We do not go there.", "Street in ES?")
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, parcelBot())
	p.User("/parcel").Bot("What is in it?").User("Tea").Bot("Street in ES?").User("Elm").Bot("Number?")
	p.User("x").Bot("Please send a whole number.\nNumber?")
	p.HandOver(parcelBot())
	p.User("y").Bot("No number then.", "Tea to Elm?")

	asks := 0
	f := flow.New[trip]("trip", flow.Trigger("/trip"))
	flow.Script(f, plan, func(c *flow.Talk[trip]) (flow.Next, error) {
		c.State.To = "half way"
		_, err := flow.Await(c, "days", ask.Int(), "How long?", flow.Tries(2))
		if err == nil {
			_, err = flow.Await(c, "more", ask.Int(), "And then?")
		}
		return c.End(), err
	})
	f.OnGiveUp(func(c *flow.C[trip], at flow.Step[trip]) flow.Next {
		if c.State.To != "" || at != plan {
			t.Errorf("giving up: got state %+v at %q, want that of the step's beginning", c.State, at)
		}
		if asks++; asks == 1 {
			return c.Reject("Last chance.")
		}
		c.Say("Never mind.")
		return c.End()
	})
	p = flowtest.Play(t, bot.New().Flow(f))
	p.User("/trip").Bot("How long?").User("x").Bot("Please send a whole number.\nHow long?")
	p.User("x").Bot("Last chance.\nHow long?").User("x").Bot("Please send a whole number.\nHow long?")
	p.User("x").Bot("Never mind.").Idle()

	p.User("/trip").Bot("How long?").User("x").Bot("Please send a whole number.\nHow long?")
	p.User("1").Bot("And then?")
	for range 3 { // a right answer ends the row, and the next question has no bound
		p.User("x").Bot("Please send a whole number.\nAnd then?")
	}
}

func TestBack(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, parcelBot()).Repeated()
	p.User("/back").Bot("there is no question before this one")
	p.User("/parcel").Bot("What is in it?")
	p.User("/back").Bot("there is no question before this one\nWhat is in it?")
	p.User("Tea").Bot("Street in ES?").User("Elm").Bot("Number?")
	p.User("/back").Bot("Street in ES?") // within the called flow
	var got address
	if p.State(&got); got.Street != "" {
		t.Errorf("the state at the question before: got %+v, want no street", got)
	}
	p.User("/back").Bot("What is in it?") // to its caller
	p.User("Coffee").Bot("Street in ES?").User("Oak").Bot("Number?").User("x").Bot("Please send a whole number.\nNumber?")
	p.User("1").Bot("Coffee to Oak?")
	p.HandOver(parcelBot())
	p.User("/back").Bot("Number?")                          // into the flow that had ended
	p.User("x").Bot("Please send a whole number.\nNumber?") // with all its tries
	p.User("2").Bot("Coffee to Oak?")
	p.User("/back").Bot("Number?").User("/back").Bot("Street in ES?")
	p.User("Ash").Bot("Number?").User("3").Bot("Coffee to Ash?")
	p.User("yes").Bot("Coffee, Ash 3, ES: true")
}

func TestBackHasABound(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("trip", flow.Trigger("/trip"), flow.Back(2))
	flow.Ask(f, askDays, ask.Confirm(), func(s trip) string { return strings.Repeat("+", s.Days) + "?" },
		func(c *flow.C[trip], _ bool) flow.Next {
			c.State.Days++
			return c.Goto(askDays)
		})
	p := flowtest.Play(t, bot.New().Flow(f))
	p.User("/trip").Bot("?").User("yes").Bot("+?").User("yes").Bot("++?").User("yes").Bot("+++?")
	p.User("/back").Bot("++?")
	p.User("/back").Bot("+?")
	old := botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~2:yes"}} // of the first time
	p.Record(old).Bot("that button is no longer in use\n+?").Tap("Yes").Bot("++?")
	p.User("/back").Bot("+?")
	p.User("/back").Bot("there is no question before this one\n+?")
}

// A script forgets its last answer and what it did with it, and nothing before.
func TestBackInAScript(t *testing.T) {
	t.Parallel()
	b := books{}
	f := flow.New[trip]("plan", flow.Trigger("/plan"), flow.Back(1))
	flow.Script(f, plan, planTrip(b))
	flow.Ask(f, packUp, ask.Confirm(), "Packed?", end[bool])
	p := flowtest.Play(t, bot.New().Flow(f)).Repeated()
	p.User("/plan").Bot("Let's plan.", "Where to?").User("Rome").Bot("Rome!", "How long in Rome?")
	p.User("7").Bot("Booked no. 1. Keep it?")
	p.User("/back").Bot("How long in Rome?")
	p.User("8").Bot("Booked no. 2. Keep it?").Tap("Yes").Bot("Rome, 8 days: true", "Packed?")
	p.User("/back").Bot("Booked no. 2. Keep it?") // from the step after it
	p.User("/back").Bot("How long in Rome?").User("/back").Bot("Where to?")
	p.User("/back").Bot("there is no question before this one\nWhere to?")
	p.User("Oslo").Bot("Oslo!", "How long in Oslo?")
}

func TestHelp(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, parcelBot())
	p.User("/help").Bot("/parcel\n/help\n/back\n/cancel")
	p.User("/parcel").Bot("What is in it?").User("/help").Bot("/parcel\n/help\n/back\n/cancel")
	p.User("Tea").Bot("Street in ES?")
	p.User("/help").Bot("Without the number.\nStreet in ES?")
	p.User("Elm").Bot("Number?").User("/HELP me").Bot("Where does it go?\nNumber?") // the caller's, as it has none
	p = flowtest.Play(t, parcelBot().Command("/help", func(c *bot.Context) error { c.Say("Ask away."); return nil }))
	p.User("/help").Bot("Ask away.").User("/parcel").Bot("What is in it?").User("/help").Bot("Ask away.")
	p.User("Tea").Bot("Street in ES?").User("/help").Bot("Without the number.\nStreet in ES?")
}

func TestCancelInACall(t *testing.T) {
	t.Parallel()
	inner, outer := "", ""
	sub := addressFlow()
	sub.OnCancel(func(c *flow.C[address]) flow.Next {
		switch inner {
		case "reject":
			return c.Reject("Stay.")
		case "goto":
			return c.Goto(number)
		}
		return c.End()
	})
	f := flow.New[parcel]("parcel", flow.Trigger("/parcel"))
	flow.Ask(f, what, ask.Text(), "What?", func(c *flow.C[parcel], s string) flow.Next { return c.Goto(where) })
	flow.Call(f, where, sub, func(parcel) address { return address{Country: "ES"} },
		func(c *flow.C[parcel], _ address) flow.Next { return c.End() })
	f.OnCancel(func(c *flow.C[parcel]) flow.Next {
		switch outer {
		case "reject":
			return c.Reject("Not yet.")
		case "goto":
			return c.Goto(what)
		}
		return c.End()
	})
	for _, tt := range []struct{ inner, outer, want string }{
		{"reject", "", "Stay.\nStreet in ES?"},
		{"goto", "", "Number?"},
		{"", "reject", "Not yet.\nStreet in ES?"},
		{"", "goto", "What?"},
		{"", "", "cancelled"},
	} {
		inner, outer = tt.inner, tt.outer
		p := flowtest.Play(t, bot.New().Flow(f))
		p.User("/parcel").Bot("What?").User("x").Bot("Street in ES?").User("/cancel").Bot(tt.want)
	}
}

func TestFaultsOfWhatIsCalled(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("trip", flow.Back(17))
	flow.Call(f, askTo, f, func(s trip) trip { return s }, end[trip])
	flow.Call(f, askDays, flow.New[parcel]("empty"), func(trip) parcel { return parcel{} }, end[parcel])
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", end[bool], flow.Was("to", "old"), flow.Tries(2))
	flow.Ask(f, plan, ask.Confirm(), "Sure?", end[bool], flow.Was("old"))

	err := f.Validate()
	for _, want := range []string{
		"flow trip: goes back 17 questions, want 0 to 16",
		"flow empty: has no steps",
		`flow trip: step "sure" was "to", which is, or was, another step`,
		`flow trip: step "sure" was "old", which is, or was, another step`,
		`flow trip: step "sure" has 2 tries, and OnGiveUp is set: false`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if _, err := f.Start(wrote(t, 1, "go")); err == nil || !strings.Contains(err.Error(), "more than 16") {
		t.Errorf("a flow that calls itself for ever: got error %v, want one", err)
	}
}

// DESIGN §7: renamed and changed steps go on; an answer to a question of an earlier
// build is tried with the new one, and never thrown away unasked.
func TestAFlowOfAnotherBuild(t *testing.T) {
	t.Parallel()
	build := func(f *flow.Flow[trip]) *bot.Bot { return bot.New().Flow(f) }
	// step is a flow of one step, which says what it understood.
	first := func() *bot.Bot {
		f := flow.New[trip]("trip", flow.Trigger("/trip"))
		flow.Ask(f, "size", ask.Choice[size]("s", "m"), "Size?", func(c *flow.C[trip], s size) flow.Next { c.Say(string(s)); return c.End() })
		return build(f)
	}
	play := func() *flowtest.Player {
		return flowtest.Play(t, first()).User("/trip").Bot("Size?").Buttons("s", "m")
	}

	renamed := flow.New[trip]("trip")
	flow.Ask(renamed, "talla", ask.Choice[size]("m", "s"), "¿Talla?", func(c *flow.C[trip], s size) flow.Next { c.Say("talla " + string(s)); return c.End() },
		flow.Was("size"))
	play().Redeploy(build(renamed)).User("m").Bot("talla m")
	p := play().Redeploy(build(renamed)).User("x").Bot("Please choose one: m, s.\n¿Talla?")
	p.User("x").Bot("Please choose one: m, s.\n¿Talla?").Tap("s").Bot("talla s")

	changed := flow.New[trip]("trip")
	flow.Ask(changed, "size", ask.Choice[size]("m", "l"), "Which size?", func(c *flow.C[trip], s size) flow.Next { c.Say(string(s)); return c.End() })
	play().Redeploy(build(changed)).User("m").Bot("m")
	play().Redeploy(build(changed)).Tap("m").Bot("m")
	p = play().Redeploy(build(changed)).Tap("s").Bot("Which size?").Buttons("m", "l") // it was not their fault
	old := botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~1:m"}}
	p.Record(old).Bot("that button is no longer in use\nWhich size?")
	p.User("x").Bot("Please choose one: m, l.\nWhich size?").Tap("l").Bot("l")

	script := flow.New[trip]("trip")
	flow.Script(script, "size", func(c *flow.Talk[trip]) (flow.Next, error) {
		n, err := flow.Await(c, "size", ask.Int(), "In cm?")
		if err != nil {
			return flow.Next{}, err
		}
		c.Sayf("%d cm", n)
		return c.End(), nil
	})
	play().Redeploy(build(script)).User("38").Bot("38 cm")
	play().Redeploy(build(script)).User("m").Bot("In cm?")

	called := flow.New[trip]("trip")
	flow.Call(called, "size", addressFlow(), func(trip) address { return address{Country: "FR"} }, end[address])
	p = play().Redeploy(build(called)).User("m").Bot("Street in FR?")

	shop := flow.New[address]("shop")
	flow.Ask(shop, street, ask.Text(), "Which shop?", func(c *flow.C[address], _ string) flow.Next { return c.End() })
	another := flow.New[trip]("trip")
	flow.Call(another, "size", shop, func(trip) address { return address{} }, end[address])
	p.Redeploy(build(another)).User("Rue de Rivoli").Bot("Which shop?")

}

// The buttons of a called flow are those of its own questions.
func TestButtonsInACall(t *testing.T) {
	t.Parallel()
	sub := flow.New[trip]("sub")
	flow.Ask(sub, askTo, ask.Text(), "Where to?", func(c *flow.C[trip], _ string) flow.Next { return c.Goto(askSure) })
	flow.Ask(sub, askSure, ask.Confirm(), "Sure?", func(c *flow.C[trip], yes bool) flow.Next { c.Sayf("%t", yes); return c.End() })
	f := flow.New[parcel]("parcel", flow.Trigger("/parcel"))
	flow.Call(f, where, sub, func(parcel) trip { return trip{} }, func(c *flow.C[parcel], _ trip) flow.Next { return c.End() })
	p := flowtest.Play(t, bot.New().Flow(f))
	p.User("/parcel").Bot("Where to?").User("Rome").Bot("Sure?").Tap("Yes").Bot("true").Idle()
	p.User("/parcel").Bot("Where to?").User("Rome").Bot("Sure?")
	p.Record(botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~4:yes"}}).Bot("that button is no longer in use\nSure?")
}
