package bot_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// listening writes down voice messages, drops spam, and signs what is said in a form.
func listening(heard *[]string) *bot.Bot {
	b := bot.New().Flow(newForm("form", "/form"))
	b.BeforeMessage(func(in *bot.Incoming) error {
		if len(in.Message.Media) == 0 {
			return nil
		}
		text, err := flow.Do(in, "hear", func(context.Context, string) (string, error) {
			*heard = append(*heard, in.Message.Media[0].Ref)
			return "heard " + in.Message.Media[0].Ref, nil
		})
		in.Message.Text = text
		return err
	})
	b.BeforeMessage(func(in *bot.Incoming) error {
		*heard = append(*heard, "look at "+in.Message.Text)
		if in.Message.Text == "/do" {
			_, err := flow.Do(in, "hear", func(context.Context, string) (int, error) { return 1, nil })
			return err
		}
		switch in.Message.Text {
		case "spam":
			return bot.Drop("")
		case "rude":
			return bot.Drop("Please be kind.")
		case "broken":
			return errors.New("broken")
		}
		return nil
	})
	b.Command("/do", func(c *bot.Context) error {
		n, err := flow.Do(c, "hear", func(context.Context, string) (int, error) { return 7, nil })
		if err == nil && c.Try() == 1 {
			err = errors.New("after the result was kept")
		}
		c.Sayf("try %d: %d", c.Try(), n)
		return err
	})
	b.Fallback(func(c *bot.Context) error { c.Say("got " + c.Text()); return nil })
	b.AfterTurn(func(c *bot.Context) error {
		if n := len(c.Sends()); n > 0 && c.Sends()[n-1].Text == "got loud" {
			c.Say("Not so loud.")
		}
		return nil
	})
	return b
}

func voice(ref string) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Media: []botmesh.Media{{Kind: "voice", Ref: ref}}}}
}

func TestHooksChangeDropAndAdd(t *testing.T) {
	t.Parallel()
	var heard []string
	p := flowtest.Play(t, listening(&heard))
	p.Record(voice("a")).Bot("got heard a")
	p.User("/form").Bot("Name?").User("spam").Silent().User("rude").Bot("Please be kind.")
	p.Record(voice("Ana")).Bot("Sure?").User("yes").Bot("heard Ana: true")
	p.User("loud").Bot("got loud", "Not so loud.")
	p.Poison("broken").User("hi").Bot("got hi")
}

// SPEC: H9. What the hooks made of a message travels with what a run of it kept: no hook
// is called again, and their results are not taken for those of the handler.
func TestHooksAreCalledOnceWhereSomethingIsKept(t *testing.T) {
	t.Parallel()
	var heard []string
	p := flowtest.Play(t, listening(&heard))
	p.Flaky("/do", 1).Bot("try 2: 7")
	if got := strings.Join(heard, ", "); got != "look at /do" {
		t.Errorf("got %s, want one look", got)
	}
	heard = nil
	p.CrashOn("hi").Bot("got hi")
	if got := strings.Join(heard, ", "); got != "look at hi, look at hi" {
		t.Errorf("nothing was kept: got %s, want a look in each run", got)
	}
}

// SPEC: H9. What the hooks made of a message is kept before it is handled: a run that is
// cut short leaves it to the next one.
func TestWhatHooksHeardIsKept(t *testing.T) {
	t.Parallel()
	looks := 0
	b := bot.New().Flow(newForm("form", "/form")).BeforeMessage(func(in *bot.Incoming) error {
		looks++
		in.Message.Text = strings.ToUpper(in.Message.Text)
		return nil
	})
	p := flowtest.Play(t, b)
	p.User("/form").Bot("Name?").CrashOn("ana").Bot("Sure?").User("yes").Bot("ANA: true")
	if looks != 3 {
		t.Errorf("got %d looks at 3 messages, want one at each", looks)
	}
}

// A hook can not send: it speaks for a message that may yet be dropped.
func TestAHookSendsNothing(t *testing.T) {
	t.Parallel()
	b := bot.New().Fallback(func(c *bot.Context) error { return nil })
	b.BeforeMessage(func(in *bot.Incoming) error { return in.InTurn.(*flow.Turn).SendNow(botmesh.Send{Text: "early"}) })
	flowtest.Play(t, b).Poison("hi")
}

// multilingual has a table of German and one for its keys.
func multilingual() *bot.Bot {
	const lang bot.State[string] = "lang"
	f := flow.New[form]("order", flow.Trigger("/order"), flow.Timeout(time.Hour, flow.Step[form]("late")))
	flow.Ask(f, "size", ask.Choice("s", "l").Labels("Small", "Large"), "Which size?", func(c *flow.C[form], s string) flow.Next {
		c.State.Name = s
		return c.Goto("n")
	})
	flow.Ask(f, "n", ask.Int().Range(1, 9), func(c *flow.C[form]) string { return c.T("How many of %s?", c.State.Name) },
		func(c *flow.C[form], n int) flow.Next {
			c.Sayf("order.done", n)
			return c.End()
		})
	flow.Script(f, "late", func(c *flow.Talk[form]) (flow.Next, error) { c.Sayf("Too late."); return c.End(), nil })
	return bot.New().Flow(f).
		Command("/german", func(c *bot.Context) error { *lang.Of(c) = "de"; return nil }).
		Locale(func(c *bot.Context) string { return *lang.Of(c) }).
		Language("en", map[string]string{"order.done": "%d ordered"}).
		Language("de", map[string]string{
			"Which size?": "Welche Größe?", "Small": "Klein", "Large": "Groß", "Please choose one: %s.": "Bitte wählen: %s.",
			"How many of %s?": "Wie viele von %s?", "Please send a whole number from %d to %d.": "Bitte eine Zahl von %d bis %d.",
			"order.done": "%d bestellt", "Too late.": "Zu spät.", "unknown command: {command}": "unbekannter Befehl: {command}",
		}).
		Language("de-AT", map[string]string{"Too late.": "Zu spät, leider."})
}

func TestAChatHasItsLanguage(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, multilingual()).Repeated().Locale("de-AT")
	p.User("/order").Bot("Welche Größe?").Buttons("Klein", "Groß")
	p.User("riesig").Bot("Bitte wählen: Klein, Groß.\nWelche Größe?")
	p.User("groß").Bot("Wie viele von l?").User("x").Bot("Bitte eine Zahl von 1 bis 9.\nWie viele von l?")
	p.User("3").Bot("3 bestellt").User("/nothing").Bot("unbekannter Befehl: /nothing")
	p.User("/order").Bot("Welche Größe?").Tap("Klein").Bot("Wie viele von s?")
	p.Advance(2 * time.Hour).Bot("Zu spät, leider.") // a timer has no language of its own

	p = flowtest.Play(t, multilingual()).Locale("fr")
	p.User("/order").Bot("Which size?").Buttons("Small", "Large").User("2").Bot("How many of l?").User("3").Bot("3 ordered")
	p.User("/german").User("/order").Bot("Welche Größe?")
}

// SPEC: H11. A hand-over is told with the first message that finds a flow waiting at
// another replica, and not again.
func TestAHandOverIsTold(t *testing.T) {
	t.Parallel()
	var told []botmesh.Handover
	b := func() *bot.Bot {
		return formBot().OnHandover(func(_ context.Context, m botmesh.Handover) { told = append(told, m) })
	}
	p := flowtest.Play(t, b())
	p.User("/form").Bot("Name?").HandOver(b())
	p.CrashOn("Ana").Bot("Sure?").User("yes").Bot("Ana: true")
	p.HandOver(b()).User("hi").Bot("said: hi") // nothing waits
	want := []botmesh.Handover{{From: "replica1", To: "replica2", Flow: "form", Result: botmesh.HandoverResumed}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestHooksAndLanguagesThatAreWrong(t *testing.T) {
	t.Parallel()
	b := bot.New().BeforeMessage(nil).AfterTurn(nil).OnError(nil).OnHandover(nil).OnTurnLost(nil).Language("", nil).Language("de", map[string]string{}).Language("DE", nil)
	err := b.Validate()
	for _, want := range []string{"before a message", "after a turn", "on errors", "on hand-overs", "on lost turns", `language ""`, `language "de"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
