package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

const (
	plan   flow.Step[trip] = "plan"
	packUp flow.Step[trip] = "pack"
)

// planner is a bot with a flow of one script step.
func planner(script func(c *flow.Talk[trip]) (flow.Next, error), opts ...flow.StepOption) *bot.Bot {
	f := flow.New[trip]("plan", flow.Trigger("/plan"))
	flow.Script(f, plan, script, opts...)
	flow.Ask(f, packUp, ask.Confirm(), "Packed?", end[bool])
	return bot.New().Flow(f).Command("/hi", func(c *bot.Context) error { c.Say("hello"); return nil })
}

// books counts the bookings that were made, by idempotency key.
type books map[string]int

func (b books) book(_ context.Context, key string) (string, error) {
	b[key]++
	return fmt.Sprintf("no. %d", len(b)), nil
}

// planTrip asks three questions, and books between the second and the third.
func planTrip(b books) func(c *flow.Talk[trip]) (flow.Next, error) {
	return func(c *flow.Talk[trip]) (flow.Next, error) {
		c.Say("Let's plan.")
		to, err := flow.Await(c, "to", ask.Text(), "Where to?")
		if err != nil {
			return flow.Next{}, err
		}
		c.Sayf("%s!", to)
		days, err := flow.Await(c, "days", ask.Int().Range(1, 9), "How long in "+to+"?", flow.Hint("1 to 9."))
		if err != nil {
			return flow.Next{}, err
		}
		number, err := flow.Do(c, "book", b.book)
		if err != nil {
			return flow.Next{}, err
		}
		sure, err := flow.Await(c, "sure", ask.Confirm(), "Booked "+number+". Keep it?")
		if err != nil {
			return flow.Next{}, err
		}
		c.State.To, c.State.Days = to, days
		c.Sayf("%s, %d days: %t", to, days, sure)
		return c.Goto(packUp), nil
	}
}

// SPEC: H3 H13. A script goes on at any of its questions, says nothing twice, and
// does once what it does.
func TestAScriptGoesOnAtAnyQuestion(t *testing.T) {
	t.Parallel()
	b := books{}
	p := flowtest.Play(t, planner(planTrip(b))).Repeated()
	p.User("/plan").Bot("Let's plan.", "Where to?")
	p.HandOver(planner(planTrip(b)))
	p.User("/hi").Bot("hello")
	p.CrashOn("Rome").Bot("Rome!", "How long in Rome?")
	p.User("10").Bot("1 to 9.\nHow long in Rome?")
	p.HandOver(planner(planTrip(b)))
	p.CrashOn("7").Bot("Booked no. 1. Keep it?").Buttons("Yes", "No")
	p.HandOver(planner(planTrip(b)))
	p.User("perhaps").Bot("Please answer yes or no.\nBooked no. 1. Keep it?")
	var got trip
	if p.State(&got); got != (trip{}) {
		t.Errorf("the state while the script waits: got %+v, want that of its beginning", got)
	}
	p.Tap("Yes").Bot("Rome, 7 days: true", "Packed?")
	if p.State(&got); got != (trip{To: "Rome", Days: 7}) {
		t.Errorf("the state after the script: got %+v", got)
	}
	p.Tap("Yes").Idle()
	want := books{"test.1/test.5/book.0": 1}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("bookings (-want +got):\n%s", diff)
	}
}

// SPEC: H10. DESIGN: C2. A process that dies after its effect and before its
// commit does it again with the same key; after that commit, never.
func TestDoIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := books{}
	bt := planner(planTrip(b))
	keeper := &keeping{lost: true}
	run := afterRome(t, bt)
	if _, err := bt.Turn(t.Context(), run, keeper); !errors.Is(err, errBroken) {
		t.Fatalf("a result that is not kept: got error %v, want that of the keeping", err)
	}
	keeper.lost = false
	first, err := bt.Turn(t.Context(), run, keeper)
	if err != nil {
		t.Fatal(err)
	}
	run.Kept = keeper.kept
	second, err := bt.Turn(t.Context(), run, keeper)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("run again (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(books{"p.1/e.3/book.0": 2}, b); diff != "" {
		t.Errorf("bookings, by key (-want +got):\n%s", diff)
	}
	if keeper.times != 2 {
		t.Errorf("kept: got %d times, want one for each booking", keeper.times)
	}
}

// keeping keeps what runs keep, unless it is lost.
type keeping struct {
	eager
	kept  []byte
	times int
	lost  bool
}

func (k *keeping) Keep(_ context.Context, kept []byte) error {
	k.times++
	if k.lost {
		return errBroken
	}
	k.kept = kept
	return nil
}

// afterRome is the run of the answer to the script's second question.
func afterRome(t *testing.T, b *bot.Bot) botmesh.Run {
	t.Helper()
	run := botmesh.Run{Try: 1}
	for i, text := range []string{"/plan", "Rome", "7"} {
		run.Record = botmesh.Record{
			Epoch: "e", Seq: uint64(i + 1), Type: botmesh.TypeMessage,
			Chat: botmesh.ChatKey{Provider: "p", Chat: "1"}, Message: botmesh.Message{Text: text},
		}
		if i == 2 {
			break
		}
		out, err := b.Turn(t.Context(), run, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.State = out.State
	}
	return run
}

// DESIGN §7: a script that asks another question than it did begins anew; where only
// the open question is another, the reply is tried with it.
func TestAScriptOfAnotherBuild(t *testing.T) {
	t.Parallel()
	// talk asks questions of these names, text but for "days" and "to" with an "@", and
	// says the answers.
	talk := func(names ...string) *bot.Bot {
		return planner(func(c *flow.Talk[trip]) (flow.Next, error) {
			if c.State.Days++; c.State.Days > 1 {
				return flow.Next{}, errors.New("the state is not that of the step's beginning")
			}
			var all []string
			for _, name := range names {
				var said string
				var err error
				if name == "days" {
					var n int
					n, err = flow.Await(c, name, ask.Int(), name+"?")
					said = fmt.Sprint(n)
				} else if name == "to@" {
					said, err = flow.Await(c, "to", ask.Email(), name+"?")
				} else {
					said, err = flow.Await(c, name, ask.Text(), name+"?")
				}
				if err != nil {
					return flow.Next{}, err
				}
				all = append(all, said)
			}
			c.Say(strings.Join(all, " "))
			return c.End(), nil
		})
	}
	for _, tt := range []struct {
		name  string
		build []string
		reply string
		want  []string
	}{
		{"the same", []string{"to", "by", "with"}, "car", []string{"with?"}},
		{"more after it", []string{"to", "by", "with", "at"}, "car", []string{"with?"}},
		{"less after it", []string{"to", "by"}, "car", []string{"Rome car"}},
		{"another first", []string{"where", "by"}, "car", []string{"where?"}},
		{"another kind first", []string{"to@", "by"}, "car", []string{"to@?"}},
		{"one before it", []string{"at", "to", "by"}, "car", []string{"at?"}},
		{"the open one gone", []string{"to"}, "car", []string{"to?"}},
		{"the open one renamed, understood", []string{"to", "how"}, "car", []string{"Rome car"}},
		{"the open one changed, understood", []string{"to", "days"}, "7", []string{"Rome 7"}},
		{"the open one changed", []string{"to", "days"}, "car", []string{"days?"}},
	} {
		p := flowtest.Play(t, talk("to", "by", "with"))
		p.User("/plan").Bot("to?").User("Rome").Bot("by?")
		p.Redeploy(talk(tt.build...))
		p.User(tt.reply).Bot(tt.want...)
		if tt.name == "the open one changed" {
			p.User("car").Bot("Please send a whole number.\ndays?") // it has been asked now
		}
	}
}

// What a later build does more than the one before, and earlier in the script, takes
// nobody's result.
func TestALaterBuildDoesMore(t *testing.T) {
	t.Parallel()
	b := books{}
	build := func(more bool) *bot.Bot {
		return planner(func(c *flow.Talk[trip]) (flow.Next, error) {
			if more {
				if n, err := flow.Do(c, "book", b.book); err != nil || n == "no. 1" {
					return flow.Next{}, fmt.Errorf("booked %s: %w", n, err)
				}
			}
			if _, err := flow.Await(c, "to", ask.Text(), "Where to?"); err != nil {
				return flow.Next{}, err
			}
			n, err := flow.Do(c, "book", b.book)
			if err != nil {
				return flow.Next{}, err
			}
			if _, err := flow.Await(c, "days", ask.Int(), n+", how long?"); err != nil {
				return flow.Next{}, err
			}
			c.Say(n)
			return c.End(), nil
		})
	}
	p := flowtest.Play(t, build(false))
	p.User("/plan").Bot("Where to?").User("Rome").Bot("no. 1, how long?").Redeploy(build(true))
	p.User("x").Bot("Please send a whole number.\nno. 1, how long?").User("7").Bot("no. 1")
	for key, n := range b {
		if n != 1 {
			t.Errorf("%s: done %d times", key, n)
		}
	}
}

// A script that ends at once, or is left by Reject, is a step like another.
func TestAScriptWithoutAQuestion(t *testing.T) {
	t.Parallel()
	tries := 0
	p := flowtest.Play(t, planner(func(c *flow.Talk[trip]) (flow.Next, error) {
		if tries++; tries == 1 {
			c.State.To = "never kept"
			return c.Reject("Once more."), nil
		}
		c.State.Days++
		return c.Goto(packUp), nil
	}))
	p.User("/plan").Bot("Once more.", "Packed?")
	var got trip
	if p.State(&got); got.Days != 1 {
		t.Errorf("got state %+v, want one day", got)
	}
	p.User("yes")

	p = flowtest.Play(t, planner(func(c *flow.Talk[trip]) (flow.Next, error) { return c.Goto(plan), nil }))
	p.Poison("/plan")
}

// What is wrong with a script fails its run, so that the first test finds it.
func TestScriptsThatAreWrong(t *testing.T) {
	t.Parallel()
	for want, script := range map[string]func(c *flow.Talk[trip]) (flow.Next, error){
		"which it must return: flow: the script waits for an answer": func(c *flow.Talk[trip]) (flow.Next, error) {
			_, _ = flow.Await(c, "to", ask.Text(), "Where to?")
			return c.End(), nil
		},
		"must return: flow: the script waits for an answer": func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Await(c, "to", ask.Text(), "Where to?")
			c.Say("too late")
			return c.End(), err
		},
		`which it must return: do "book": broken`: func(c *flow.Talk[trip]) (flow.Next, error) {
			_, _ = flow.Do(c, "book", func(context.Context, string) (int, error) { return 0, errBroken })
			return c.End(), nil
		},
		`await "where": the step declares only ["to"]`: func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Await(c, "where", ask.Text(), "Where to?")
			return flow.Next{}, err
		},
		`await "to": ask: no text has 3 to 2 characters`: func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Await(c, "to", ask.Text().Len(3, 2), "Where to?")
			return flow.Next{}, err
		},
		`await "to": 2 tries, and OnGiveUp is set: false`: func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Await(c, "to", ask.Text(), "Where to?", flow.Tries(2))
			return flow.Next{}, err
		},
		`do "book": the result can not be kept`: func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Do(c, "book", func(context.Context, string) (func(), error) { return nil, nil })
			return flow.Next{}, err
		},
		"do without a name": func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Do(c, "", books{}.book)
			return flow.Next{}, err
		},
		"the handler returned no way on": func(*flow.Talk[trip]) (flow.Next, error) { return flow.Next{}, nil },
		"broken":                         func(*flow.Talk[trip]) (flow.Next, error) { return flow.Next{}, errBroken },
		"100 steps without a question":   func(c *flow.Talk[trip]) (flow.Next, error) { return c.Goto(plan), nil },
	} {
		b := planner(script, flow.Asks("to"))
		_, err := b.Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/plan"}}}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), `flow plan at step "plan": `) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// A script that overlooks that it must return does nothing more.
func TestNothingIsDoneWhileAScriptWaits(t *testing.T) {
	t.Parallel()
	b := books{}
	p := flowtest.Play(t, planner(func(c *flow.Talk[trip]) (flow.Next, error) {
		_, err := flow.Await(c, "to", ask.Text(), "Where to?")
		if _, done := flow.Do(c, "book", b.book); !errors.Is(done, flow.ErrWait) && err != nil {
			t.Errorf("Do of a script that waits: got error %v, want ErrWait", done)
		}
		if _, next := flow.Await(c, "days", ask.Int(), "How long?"); next == nil {
			t.Error("Await of a script that waits: got no error, want one")
		}
		return flow.Next{}, err
	}))
	p.User("/plan").Bot("Where to?")
	if len(b) != 0 {
		t.Errorf("got %v done, want nothing", b)
	}
}

// SPEC: H10. What is sent at once is sent once, also when the script runs again for
// a later answer.
func TestAScriptSendsAtOnceOnce(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, planner(func(c *flow.Talk[trip]) (flow.Next, error) {
		if err := c.SendNow(botmesh.Send{Text: "one moment"}); err != nil {
			return flow.Next{}, err
		}
		if _, err := flow.Await(c, "to", ask.Text(), "Where to?"); err != nil {
			return flow.Next{}, err
		}
		return c.End(), nil
	}))
	p.CrashOn("/plan").Bot("one moment", "Where to?").User("Rome").Silent()
}

// A plain handler and a question's have Do too.
func TestDoOutsideAScript(t *testing.T) {
	t.Parallel()
	b := books{}
	f := flow.New[trip]("trip", flow.Trigger("/trip"))
	flow.Ask(f, askTo, ask.Text(), "Where to?", func(c *flow.C[trip], to string) flow.Next {
		for range 2 {
			n, err := flow.Do(c, "book", b.book)
			if err != nil {
				return c.Fail(err)
			}
			c.Say(n)
		}
		return c.End()
	})
	p := flowtest.Play(t, bot.New().Flow(f).Command("/book", func(c *bot.Context) error {
		n, err := flow.Do(c, "book", b.book)
		c.Say(n)
		return err
	})).Repeated()
	p.CrashOn("/book").Bot("no. 1")
	p.User("/trip").Bot("Where to?").CrashOn("Rome").Bot("no. 2", "no. 3")
	if diff := cmp.Diff(books{"test.1/test.1/book.0": 1, "test.1/test.3/book.0": 1, "test.1/test.3/book.1": 1}, b); diff != "" {
		t.Errorf("bookings, by key (-want +got):\n%s", diff)
	}
}

// DESIGN §7: what a script waits for is its question's name and kind; the flow knows
// the questions that are declared.
func TestFingerprintsOfAScript(t *testing.T) {
	t.Parallel()
	script := func(q flow.Question[string], name, prompt string, opts ...flow.StepOption) (wait, shape string) {
		f := flow.New[trip]("trip")
		flow.Script(f, plan, func(c *flow.Talk[trip]) (flow.Next, error) {
			_, err := flow.Await(c, name, q, prompt)
			return c.End(), err
		}, opts...)
		return prints(t, f)
	}
	wait, shape := script(ask.Text(), "to", "Where to?", flow.Asks("to", "by"))
	if w, s := script(ask.Text().Len(2, 3), "to", "Where?", flow.Asks("by", "to"), flow.Hint("Hm?"), flow.Help("Anywhere.")); w != wait || s != shape {
		t.Errorf("other words, bounds and order: got %s %s, want %s %s", w, s, wait, shape)
	}
	if w, s := script(ask.Text(), "to", "Where to?", flow.Asks("to")); w != wait || s == shape {
		t.Errorf("other questions declared: got %s %s, want only the shape changed", w, s)
	}
	if w, _ := script(ask.Text(), "by", "Where to?", flow.Asks("to", "by")); w == wait {
		t.Errorf("another name: got %s again", w)
	}
	if w, _ := script(ask.Email(), "to", "Where to?", flow.Asks("to", "by")); w == wait {
		t.Errorf("another kind: got %s again", w)
	}
}

// What is written today must be read by every later build.
func TestTheEncodingOfAScriptIsKept(t *testing.T) {
	t.Parallel()
	b := books{}
	bt := planner(planTrip(b))
	keeper := &keeping{}
	out, err := bt.Turn(t.Context(), afterRome(t, bt), keeper)
	if err != nil {
		t.Fatal(err)
	}
	const state = `{"v":1,"position":{"flow":"plan","step":"plan","state":{"to":"","days":0},` +
		`"heard":[{"ask":"to","kind":"3fe5850a7e2e","value":"Rome"},{"ask":"days","kind":"c511da579364","value":7}],"done":{"2.book.0":"no. 1"},` +
		`"asked":3,"wait":"3549c4e73c12","shape":"51c6e27628e2"}}`
	if diff := cmp.Diff(state, string(out.State)); diff != "" {
		t.Errorf("state (-stored +got):\n%s", diff)
	}
	if diff := cmp.Diff(`{"v":1,"done":{"book.0":"no. 1"}}`, string(keeper.kept)); diff != "" {
		t.Errorf("kept (-stored +got):\n%s", diff)
	}
}

// What an earlier run kept in a form that this build does not know fails the run.
func TestKeptByALaterBuild(t *testing.T) {
	t.Parallel()
	bt := planner(planTrip(books{}))
	for _, kept := range []string{`{"v":2}`, `{`} {
		run := afterRome(t, bt)
		run.Kept = []byte(kept)
		if _, err := bt.Turn(t.Context(), run, &keeping{}); err == nil || !strings.Contains(err.Error(), "reading what an earlier run kept") {
			t.Errorf("%s: got error %v, want one", kept, err)
		}
	}
}
