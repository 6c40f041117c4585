package flowtest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

type pet struct {
	Name string `json:"name"`
}

const (
	askName flow.Step[pet] = "name"
	askSure flow.Step[pet] = "sure"
)

// petBot has a flow with buttons, and commands that go wrong in every way.
func petBot() *bot.Bot {
	f := flow.New[pet]("pet", flow.Trigger("/pet"))
	flow.Ask(f, askName, ask.Text(), "Name?", func(c *flow.C[pet], name string) flow.Next {
		c.State.Name = name
		return c.Goto(askSure)
	})
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", func(c *flow.C[pet], yes bool) flow.Next {
		c.Sayf("%s: %t", c.State.Name, yes)
		return c.End()
	})
	live := flow.NewLive("live", func(c *flow.Live) error {
		_, err := flow.Wait(c, ask.Text(), "Well?")
		return err
	}, flow.Trigger("/live"))
	forgotten := 0 // kept in memory alone
	return bot.New().Flow(f).Flow(live).
		Command("/two", func(c *bot.Context) error { c.Say("one"); c.Say("two"); return nil }).
		Command("/now", func(c *bot.Context) error {
			forgotten++
			if err := c.SendNow(botmesh.Send{Text: fmt.Sprintf("working %d", forgotten)}); err != nil {
				return err
			}
			c.Sayf("done %d", forgotten)
			return nil
		}).
		Command("/fail <n>", func(c *bot.Context) error {
			if c.Args() > fmt.Sprint(c.Try()-1) {
				return errors.New("broken")
			}
			c.Say("recovered")
			return nil
		}).
		Command("/whoami", func(c *bot.Context) error { c.Sayf("%s, fence %d", c.Chat(), c.Fence()); return nil })
}

func TestPlay(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, petBot())
	p.Idle().User("/pet").Bot("Name?").Buttons()
	p.User("Rex").Bot("Sure?").Buttons("Yes", "No")
	var got pet
	p.State(&got)
	if want := (pet{Name: "Rex"}); got != want {
		t.Errorf("State: got %+v, want %+v", got, want)
	}
	p.User("/two").Bot("one").Bot("two").Silent()
	p.Tap("No").Bot("Rex: false").Idle()
	p.Record(botmesh.Record{Type: botmesh.TypeEdit, Message: botmesh.Message{Text: "/two"}}).Silent()
	p.User("/whoami").Bot("test/1, fence 6")
	p.Record(botmesh.Record{
		Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "x", Chat: "2"}, Message: botmesh.Message{Text: "/whoami"},
	}).Bot("x/2, fence 7")
}

// SPEC: H10. What was sent at once by the run that was lost is not sent again.
func TestCrashOn(t *testing.T) {
	t.Parallel()
	flowtest.Play(t, petBot()).CrashOn("/now").Bot("working 1", "done 2")
}

func TestRunsThatFail(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, petBot())
	p.User("/pet").Bot("Name?")
	p.Flaky("/fail 2", 2).Bot("recovered")
	p.Poison("/fail 9").Silent()
	p.User("Rex").Bot("Sure?")
}

// tape is a testing.TB that keeps the first failure, and ends the goroutine then.
type tape struct {
	testing.TB
	failure  string
	cleanups []func()
}

func (r *tape) Helper()           {}
func (r *tape) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }
func (r *tape) Failed() bool      { return r.failure != "" }
func (r *tape) Errorf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
}
func (r *tape) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *tape) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// failure plays a chat that must fail its test, and returns how it does.
func failure(t *testing.T, play func(tb testing.TB)) string {
	t.Helper()
	r := &tape{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		play(r)
	}()
	<-done
	for _, fn := range r.cleanups {
		fn()
	}
	return r.failure
}

func TestAChatThatGoesOtherwiseFailsItsTest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		play func(p *flowtest.Player)
		want string
	}{
		"another text":         {func(p *flowtest.Player) { p.User("/pet").Bot("What?") }, `got ["Name?"], want ["What?"]`},
		"no text":              {func(p *flowtest.Player) { p.User("/pet").Bot("Name?", "And?") }, `want ["Name?" "And?"]`},
		"another order":        {func(p *flowtest.Player) { p.User("/two").Bot("two", "one") }, `got ["one" "two"], want ["two" "one"]`},
		"not silent":           {func(p *flowtest.Player) { p.User("/pet").Silent() }, `got ["Name?"], want nothing more`},
		"overheard, user":      {func(p *flowtest.Player) { p.User("/two").Bot("one").User("/pet") }, `got ["two"], want nothing more`},
		"overheard, crash":     {func(p *flowtest.Player) { p.User("/pet").CrashOn("Rex") }, `got ["Name?"], want nothing more`},
		"overheard, flaky":     {func(p *flowtest.Player) { p.User("/pet").Flaky("/fail 1", 1) }, `got ["Name?"], want nothing more`},
		"overheard, poison":    {func(p *flowtest.Player) { p.User("/pet").Poison("/fail 9") }, `got ["Name?"], want nothing more`},
		"overheard, the end":   {func(p *flowtest.Player) { p.User("/pet") }, `at the end: got ["Name?"]`},
		"other buttons":        {func(p *flowtest.Player) { p.User("/pet").Bot("Name?").Buttons("Yes") }, `got [], want ["Yes"]`},
		"no such button":       {func(p *flowtest.Player) { p.User("/pet").Bot("Name?").Tap("Yes") }, `want "Yes" among them`},
		"an error":             {func(p *flowtest.Player) { p.User("/fail 1") }, `try 1: got error broken, want none`},
		"a crash that fails":   {func(p *flowtest.Player) { p.CrashOn("/fail 1") }, `before the crash: got error broken`},
		"fails too long":       {func(p *flowtest.Player) { p.Flaky("/fail 2", 1) }, `try 2: got error broken, want none`},
		"fails too little":     {func(p *flowtest.Player) { p.Flaky("/fail 1", 2) }, `try 2: got no error, want one`},
		"a live one, repeated": {func(p *flowtest.Player) { p.Repeated().User("/live") }, `flow live is a live conversation, which is never run again`},
		"recovers":             {func(p *flowtest.Player) { p.Poison("/fail 4") }, `try 5: got no error, want one`},
		"a flow waits":         {func(p *flowtest.Player) { p.User("/pet").Bot("Name?").Idle() }, `got flow pet waiting at "name"`},
		"no flow waits":        {func(p *flowtest.Player) { p.State(new(pet)) }, `got no flow that waits`},
		"another state":        {func(p *flowtest.Player) { p.User("/pet").Bot("Name?").State(new(struct{ Other int })) }, `unknown field "name"`},
	} {
		got := failure(t, func(tb testing.TB) { tt.play(flowtest.Play(tb, petBot())) })
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: got failure %q, want %q in it", name, got, tt.want)
		}
	}
	got := failure(t, func(tb testing.TB) { flowtest.Play(tb, bot.New().Command("x", nil)) })
	if !strings.Contains(got, "not valid") {
		t.Errorf("a bot that is not valid: got failure %q", got)
	}
	if got := failure(t, func(tb testing.TB) { flowtest.Play(tb, petBot()).User("/pet").Bot("Name?") }); got != "" {
		t.Errorf("a chat that goes well: got failure %q", got)
	}
}

func TestTranscriptEndsWithAnError(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"/fail 1": "> /fail 1\nerror: broken\n",
		"! Yes":   "error: tap: got buttons [], want \"Yes\" among them\n",
	} {
		if got := flowtest.Transcript(petBot(), lines, "/pet"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func ExampleTranscript() {
	fmt.Print(flowtest.Transcript(petBot(), "/pet", "Rex", "/two", "! Yes"))
	// Output:
	// > /pet
	// < Name?
	// > Rex
	// < Sure? [Yes] [No]
	// > /two
	// < one
	// < two
	// ! Yes
	// < Rex: true
}
