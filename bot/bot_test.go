package bot_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// form is the state of the flows in these tests.
type form struct {
	Name string `json:"name"`
}

const (
	askName flow.Step[form] = "name"
	askSure flow.Step[form] = "sure"
)

// newForm asks for a name and whether it is right.
func newForm(name string, triggers ...string) *flow.Flow[form] {
	f := flow.New[form](name, flow.Trigger(triggers...))
	flow.Ask(f, askName, ask.Text(), "Name?", func(c *flow.C[form], s string) flow.Next {
		c.State.Name = s
		return c.Goto(askSure)
	})
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", func(c *flow.C[form], yes bool) flow.Next {
		c.Sayf("%s: %t", c.State.Name, yes)
		return c.End()
	})
	return f
}

func echo(c *bot.Context) error {
	if c.Args() == "" {
		c.Say("never said")
		return bot.ErrUsage
	}
	c.Say(c.Args())
	return nil
}

func said(c *bot.Context) error {
	c.Sayf("said: %s", c.Text())
	return nil
}

func formBot() *bot.Bot {
	return bot.New().
		Command("/echo <text>", echo).
		Flow(newForm("form", "/form", "Sign up")).
		Flow(newForm("other", "/other")).
		Fallback(said)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("/echo hi").Bot("hi")
	p.User(" /ECHO@some_bot \n two  words\nand a line ").Bot("two  words\nand a line")
	p.User("/echo\u00a0hi").Bot("hi")
	p.User("/echo").Bot("usage: /echo <text>")
	p.User("/echo@some_bot ").Bot("usage: /echo <text>")
	p.User("/Nope x").Bot("unknown command: /Nope")
	p.User("/nope@some_bot x").Bot("unknown command: /nope")
	for _, text := range []string{"/", "//echo", "/usr/bin", "/echo! x", "/echo@", "/ echo", "say /echo hi", "/" + strings.Repeat("x", 33)} {
		p.User(text).Bot("said: " + text)
	}
	want := []string{"/echo <text>", "/form", "/other", "/cancel"}
	if diff := cmp.Diff(want, formBot().Commands()); diff != "" {
		t.Errorf("Commands (-want +got):\n%s", diff)
	}
}

// DESIGN §8: a command is never an answer. It leaves the question open, with its
// buttons.
func TestACommandLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("/form").Bot("Name?")
	p.User("/echo hi").Bot("hi")
	p.User("/echo").Bot("usage: /echo <text>")
	p.User("/nope").Bot("unknown command: /nope")
	p.User("/other").Bot("please finish form first, or /cancel")
	p.User("Ana").Bot("Sure?").Buttons("Yes", "No")
	p.User("/echo hi").Bot("hi")
	p.Tap("Yes").Bot("Ana: true").Idle()
}

func TestAFlowsOwnTriggerBeginsItAnew(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("/form").Bot("Name?").User("Ana").Bot("Sure?")
	p.User("/FORM again").Bot("Name?")
	var got form
	if p.State(&got); got != (form{}) {
		t.Errorf("the state of a flow begun anew: got %+v, want it empty", got)
	}
}

func TestAWordTriggersOnlyWhereNoFlowWaits(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("sign UP ").Bot("Name?")
	p.User("sign up").Bot("Sure?")
	p.User("yes").Bot("sign up: true")
	p.User("please sign up").Bot("said: please sign up")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("/cancel").Bot("nothing to cancel")
	p.User("/form").Bot("Name?")
	p.User("/Cancel@some_bot now").Bot("cancelled").Idle()
	p.User("Ana").Bot("said: Ana")

	f := newForm("form", "/form")
	f.OnCancel(func(c *flow.C[form]) flow.Next {
		if c.State.Name != "" {
			return c.Reject("Nearly there!")
		}
		c.Say("Goodbye.")
		return c.End()
	})
	p = flowtest.Play(t, bot.New().Flow(f))
	p.User("/form").Bot("Name?").User("/cancel").Bot("Goodbye.").Idle()
	p.User("/form").Bot("Name?").User("Ana").Bot("Sure?")
	p.User("/cancel").Bot("Nearly there!\nSure?").Buttons("Yes", "No")
	p.Tap("No").Bot("Ana: false")
}

func TestButtons(t *testing.T) {
	t.Parallel()
	press := func(payload string) botmesh.Record {
		return botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: payload}}
	}
	p := flowtest.Play(t, formBot())
	p.Record(press("/echo pressed")).Bot("pressed")
	p.Record(press("anything")).Bot("said: anything")

	p.User("/form").Bot("Name?").User("Ana").Bot("Sure?")
	p.User("yes").Bot("Ana: true")
	p.Tap("Yes").Bot("that button is no longer in use").Idle()

	p.User("/form").Bot("Name?")
	p.Tap("Yes").Bot("that button is no longer in use\nName?")
	p.User("Eva").Bot("Sure?").Tap("Yes").Bot("Eva: true")
}

// SPEC: J9. What no user said has no effect, and an answer to nobody neither.
func TestIgnored(t *testing.T) {
	t.Parallel()
	b := formBot()
	for _, typ := range []botmesh.RecordType{
		botmesh.TypeEdit, botmesh.TypeDelete, botmesh.TypeReaction, botmesh.TypeStatus,
		botmesh.TypeMembership, botmesh.TypeCommand, botmesh.TypeTimer, botmesh.TypeEvent, "new",
	} {
		out, err := b.Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: typ, Message: botmesh.Message{Text: "/echo hi"}}}, nil)
		if diff := cmp.Diff(botmesh.Outcome{Ignored: true}, out); diff != "" || err != nil {
			t.Errorf("%s: got error %v, outcome (-want +got):\n%s", typ, err, diff)
		}
	}
	out, err := bot.New().Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "hi"}}}, nil)
	if !out.Ignored || err != nil {
		t.Errorf("without a fallback: got %+v, %v, want it ignored", out, err)
	}
}

// SPEC: O2. DESIGN: C9. What is sent from outside says nothing to the bot: a question
// that is open stays open.
func TestACommandSendsAndLeavesTheConversationAlone(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, formBot())
	p.User("/form").Bot("Name?")
	p.Record(botmesh.Record{Type: botmesh.TypeCommand, Sends: []botmesh.Send{{Text: "by the way"}}}).Bot("by the way")
	p.User("Ana").Bot("Sure?")
}

func TestTexts(t *testing.T) {
	t.Parallel()
	b := formBot().Texts(bot.Texts{
		Unknown: "no sé qué es {command}", Usage: "uso: {usage}", Cancelled: "anulado", NothingToCancel: "nada que anular",
		Busy: "primero {flow}", Expired: "botón viejo",
	})
	p := flowtest.Play(t, b)
	p.User("/nope").Bot("no sé qué es /nope")
	p.User("/echo").Bot("uso: /echo <text>")
	p.User("/cancel").Bot("nada que anular")
	p.User("/form").Bot("Name?").User("/other").Bot("primero form").User("/cancel").Bot("anulado")
	p.Record(botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~1:yes"}}).Bot("botón viejo")
}

// /back and /help are there when a flow has what they are for, and else the author's.
func TestCommandsOfFlows(t *testing.T) {
	t.Parallel()
	f := flow.New[form]("form", flow.Trigger("/form"), flow.Back(1))
	flow.Ask(f, askName, ask.Text(), "Name?", func(c *flow.C[form], _ string) flow.Next { return c.Goto(askSure) })
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", func(c *flow.C[form], _ bool) flow.Next { return c.End() }, flow.Help("Press one."))
	b := func() *bot.Bot { return bot.New().Flow(f).Fallback(said) }
	p := flowtest.Play(t, b().Texts(bot.Texts{NothingBefore: "nada antes", Help: "sé esto:\n{commands}"}))
	p.User("/help").Bot("sé esto:\n/form\n/help\n/back\n/cancel").User("/back").Bot("nada antes")
	p.User("/form").Bot("Name?").User("/Back@some_bot").Bot("nada antes\nName?").User("/help").Bot("sé esto:\n/form\n/help\n/back\n/cancel")
	p.User("Ana").Bot("Sure?").User("/help").Bot("Press one.\nSure?").User("/back").Bot("Name?")

	if err := b().Command("/back", said).Validate(); err == nil || !strings.Contains(err.Error(), `command "/back" is the bot's own`) {
		t.Errorf("got error %v, want /back refused", err)
	}
	p = flowtest.Play(t, formBot().Command("/back", said).Command("/help", said))
	p.User("/back").Bot("said: /back").User("/help").Bot("said: /help")
	flowtest.Play(t, formBot()).User("/back").Bot("unknown command: /back").User("/help").Bot("unknown command: /help")
}

var errBroken = errors.New("broken")

func TestAHandlersErrorIsTheRuns(t *testing.T) {
	t.Parallel()
	b := bot.New().Command("/fail", func(c *bot.Context) error {
		c.Say("never said")
		return errBroken
	})
	out, err := b.Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/fail"}}}, nil)
	if !errors.Is(err, errBroken) || len(out.Sends) > 0 {
		t.Errorf("got %+v, %v, want the handler's error alone", out, err)
	}
}

// DESIGN §7: a chat that waits where this build can not go on keeps its place,
// answers commands, and can be led out by its user.
func TestStranded(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"flow gone":        `{"v":1,"position":{"flow":"old","step":"name","state":{},"wait":"","shape":""}}`,
		"step gone":        `{"v":1,"position":{"flow":"form","step":"old","state":{},"wait":"","shape":""}}`,
		"state unreadable": `{"v":1,"position":{"flow":"form","step":"sure","state":{"name":7},"wait":"","shape":""}}`,
	} {
		f := newForm("form", "/form")
		f.OnCancel(func(c *flow.C[form]) flow.Next { return c.End() })
		b := bot.New().Flow(f).Command("/echo <text>", echo)
		run := func(text string) (botmesh.Outcome, error) {
			return b.Turn(t.Context(), botmesh.Run{
				State:  []byte(state),
				Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: text}},
			}, nil)
		}
		if out, err := run("yes"); !errors.Is(err, flow.ErrStranded) {
			t.Errorf("%s, an answer: got %+v, %v, want ErrStranded", name, out, err)
		}
		if out, err := run("/echo hi"); err != nil || string(out.State) != state {
			t.Errorf("%s, a command: got state %s, error %v, want the same state", name, out.State, err)
		}
		resumed, err := b.Turn(t.Context(), botmesh.Run{
			State: []byte(state), Record: botmesh.Record{Type: botmesh.TypeCommand, Resume: &botmesh.Resume{Ask: true}},
		}, nil)
		if err != nil || !resumed.Ignored {
			t.Errorf("%s, the end of a pause: got %+v, %v, want nothing of it", name, resumed, err)
		}
		for text, want := range map[string]bool{"/cancel": true, "/CANCEL now": true, "yes": false, "/echo /cancel": false} {
			if got := b.Leaves(botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: text}}); got != want {
				t.Errorf("%q leads out: got %v, want %v", text, got, want)
			}
		}
		want := botmesh.Outcome{Sends: []botmesh.Send{{Text: "cancelled"}}}
		if out, err := run("/cancel"); err != nil || !cmp.Equal(want, out) {
			t.Errorf("%s, /cancel: got %+v, %v, want %+v", name, out, err, want)
		}
	}
	b, unread := formBot(), botmesh.Run{State: []byte("?"), Record: botmesh.Record{Type: botmesh.TypeMessage}}
	if _, err := b.Turn(t.Context(), unread, nil); !errors.Is(err, flow.ErrStranded) {
		t.Errorf("a chat that can not be read: got %v, want ErrStranded", err)
	}
	forget := botmesh.Record{Type: botmesh.TypeCommand, Resume: &botmesh.Resume{Forget: true}}
	out, err := b.Turn(t.Context(), botmesh.Run{State: unread.State, Record: forget}, nil)
	if diff := cmp.Diff(botmesh.Outcome{}, out); diff != "" || err != nil || !b.Leaves(forget) {
		t.Errorf("an operator's wish to forget it: got error %v, leads out %v, outcome (-want +got):\n%s", err, b.Leaves(forget), diff)
	}
	sends := []botmesh.Send{{Text: "from a backend"}}
	unread.Record = botmesh.Record{Type: botmesh.TypeCommand, Sends: sends}
	out, err = b.Turn(t.Context(), unread, nil)
	if diff := cmp.Diff(botmesh.Outcome{State: unread.State, Sends: sends}, out); diff != "" || err != nil {
		t.Errorf("something said from outside in such a chat: got error %v, outcome (-want +got):\n%s", err, diff)
	}
}

func TestFaultsOfABotAreToldTogether(t *testing.T) {
	t.Parallel()
	b := bot.New().
		Command("/ok", said).
		Command("/OK again", said).
		Command("ok", said).
		Command("/o k", said).
		Command("/ö", said).
		Command("/cancel", said).
		Command("/nil", nil).
		Flow(newForm("a", "/ok", "word", "")).
		Flow(newForm("a", "Word")).
		Flow(flow.New[form]("empty")).
		Fallback(said).Fallback(said)
	err := b.Validate()
	if err == nil {
		t.Fatal("got no error, want one")
	}
	want := []string{
		`bot: command "/ok" is registered twice`,
		`bot: command "ok" does not match /[a-z0-9_]{1,32}`,
		`bot: command "/ö" does not match /[a-z0-9_]{1,32}`,
		`bot: command "/cancel" is the bot's own: use flow.OnCancel and bot.Texts`,
		`bot: command "/nil" has no handler`,
		`bot: command "/ok" is registered twice`,
		`bot: trigger "" of flow "a" is empty or has space around it`,
		`bot: flow "a" is registered twice`,
		`bot: trigger "Word" is registered twice`,
		`bot: the fallback is registered twice`,
		`flow empty: has no steps`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if err := formBot().Validate(); err != nil {
		t.Errorf("a valid bot: got error %v, want none", err)
	}
}

func FuzzTurn(f *testing.F) {
	f.Add("/echo@x hi", "~1:yes", []byte(`{"v":1,"position":{"flow":"form","step":"sure","state":{},"asked":1,"wait":"","shape":""}}`))
	f.Add("yes", "", []byte(nil))
	b := formBot()
	f.Fuzz(func(t *testing.T, text, payload string, state []byte) {
		for _, typ := range []botmesh.RecordType{botmesh.TypeMessage, botmesh.TypeCallback} {
			run := botmesh.Run{State: state, Record: botmesh.Record{Seq: 2, Type: typ, Message: botmesh.Message{Text: text, Payload: payload}}}
			once, err := b.Turn(t.Context(), run, nil)
			twice, again := b.Turn(t.Context(), run, nil)
			if (err == nil) != (again == nil) || !cmp.Equal(once, twice) {
				t.Errorf("run twice: got %+v, %v and %+v, %v", once, err, twice, again)
			}
			if err != nil || once.Ignored {
				continue
			}
			if _, err := flow.DecodeChat(once.State); err != nil {
				t.Errorf("the state that was left can not be read: %v", err)
			}
		}
	})
}
