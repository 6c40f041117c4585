package bot_test

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

// team is where people read what is for them.
var team = botmesh.ChatKey{Provider: "test", Chat: "team"}

// unmanned is a bot whose flow may need a person.
func unmanned() *bot.Bot {
	f := flow.New[form]("form", flow.Trigger("/form"), flow.Back(1), flow.Timeout(time.Hour, flow.Step[form]("late")))
	flow.Ask(f, askName, ask.Email(), "Mail?", func(c *flow.C[form], s string) flow.Next {
		if c.State.Name = s; s == "me@example.org" {
			return c.Human()
		}
		return c.Goto(askSure)
	}, flow.Tries(2), flow.Help("like a@b.c"))
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", func(c *flow.C[form], yes bool) flow.Next {
		c.Sayf("%s: %t", c.State.Name, yes)
		return c.End()
	})
	flow.Script(f, "late", func(c *flow.Talk[form]) (flow.Next, error) { c.Say("too late"); return c.End(), nil })
	f.OnGiveUp(func(c *flow.C[form], _ flow.Step[form]) flow.Next { return c.Human() })
	return bot.New().Flow(f).Fallback(said).Command("/echo <text>", echo).
		Stale(time.Hour, func(c *bot.Context) error { c.Say("I was away"); return nil })
}

// manned is one that has people.
func manned() *bot.Bot {
	return unmanned().Human(func(c *bot.Context) error {
		c.SendTo(team, botmesh.Send{Text: c.Chat().String() + ": " + c.Text()})
		return nil
	})
}

const person, back = "a person will answer you here, /bot brings me back", "here I am again"

func TestAPersonTakesOver(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, manned())
	p.User("/human").Bot(person).Told(team, "test/1: /human")
	p.HandOver(manned()).CrashOn("hello").Silent().Told(team, "test/1: hello")
	p.User("/echo hi").Bot("hi").Late(2*time.Hour, "late").Silent().Told(team, "test/1: late")
	p.User("/cancel").Bot("nothing to cancel").User("still").Silent().Told(team, "test/1: still")
	p.User("/bot").Bot(back).User("hello").Bot("said: hello").Late(2*time.Hour, "late").Bot("I was away").Idle()
}

// The question that was open stays so, and its clock stands still.
func TestAPersonTakesOverWhereAFlowWaits(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, manned()).Repeated()
	p.User("/form").Bot("Mail?").User("a@example.org").Bot("Sure?")
	p.User("/human").Bot(person).Told(team, "test/1: /human")
	p.User("yes").Silent().Told(team, "test/1: yes").Advance(2 * time.Hour).Silent()
	p.Record(botmesh.Record{Type: botmesh.TypeCommand, Sends: []botmesh.Send{{Text: "I am Ida."}}}).Bot("I am Ida.")
	p.Record(botmesh.Record{Type: botmesh.TypeCommand, Resume: &botmesh.Resume{Ask: true}}).Silent()
	p.HandOver(manned()).User("/bot").Bot(back + "\nSure?").Advance(50 * time.Minute).Silent().Advance(11 * time.Minute).Bot("too late").Idle()
	p.User("yes").Bot("said: yes")
}

func TestAFlowCallsAPerson(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, manned()).Repeated()
	p.User("/form").Bot("Mail?").User("what?").Hear()
	p.User("which?").Bot(person).Told(team, "test/1: which?").User("help").Silent().Told(team, "test/1: help")
	p.User("/bot").Bot(back+"\nMail?").User("me@example.org").Bot(person).Told(team, "test/1: me@example.org")
	var left form
	if p.State(&left); left.Name != "" {
		t.Errorf("got %+v kept, want nothing", left)
	}
	p.User("/help").Bot("like a@b.c\nMail?").User("a@example.org").Bot("Sure?") // which brings the bot back
}

// A press, and a flow that begins, bring the bot back; the end of a flow does not.
func TestWhatBringsTheBotBack(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, manned())
	p.User("/form").Bot("Mail?").User("a@example.org").Bot("Sure?")
	p.User("/human").Bot(person).Told(team, "test/1: /human").Tap("Yes").Bot("a@example.org: true").Idle()
	p.User("hi").Bot("said: hi")
	p.User("/human").Bot(person).Told(team, "test/1: /human").User("/form").Bot("Mail?").User("a@example.org").Bot("Sure?")
	p.User("/human").Bot(person).Told(team, "test/1: /human").User("/cancel").Bot("cancelled").Idle()
	p.User("hi").Silent().Told(team, "test/1: hi")
	p.User("/form").Bot("Mail?").User("a@example.org").Bot("Sure?").User("/human").Bot(person).Told(team, "test/1: /human")
	p.User("/back").Bot("Mail?").User("a@example.org").Bot("Sure?").User("/cancel").Bot("cancelled")
}

func TestABuildWithoutPeople(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, manned())
	p.User("/form").Bot("Mail?").User("/human").Bot(person).Told(team, "test/1: /human").Redeploy(unmanned())
	p.Advance(2 * time.Hour).Bot("too late").User("hi").Bot("said: hi").Idle()
}

// A flow that is lost at a hand-over is so in silence: people have the message.
func TestALostFlowIsNotToldWhilePeopleAnswer(t *testing.T) {
	t.Parallel()
	var told []string
	build := func() *bot.Bot {
		return brief(bot.Handover{Lost: bot.Restart}, &told).Human(func(c *bot.Context) error { c.SendTo(team, botmesh.Send{Text: c.Text()}); return nil })
	}
	p := flowtest.Play(t, build())
	p.User("/brief").Bot("Name?").User("/human").Bot(person).Told(team, "/human")
	p.HandOver(build()).User("Ana").Silent().Told(team, "Ana").Idle().User("/bot").Bot(back)
	heardOf(t, told, "brief dropped")
}

func TestPeopleThatAreWrong(t *testing.T) {
	t.Parallel()
	b := bot.New().Human(nil).Command("/human", said).Command("/bot", said).Human(said)
	err := b.Validate()
	for _, want := range []string{"Human has no handler, or is registered twice", `command "/human" is the bot's own`, `command "/bot" is the bot's own`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if got := manned().Commands(); strings.Join(got[len(got)-3:], " ") != "/human /bot /cancel" {
		t.Errorf("got commands %q, want those of people among them", got)
	}
	f := flow.New[form]("form", flow.Trigger("/form"))
	flow.Script(f, "call", func(c *flow.Talk[form]) (flow.Next, error) { return c.Human(), nil })
	_, err = bot.New().Flow(f).Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/form"}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "set Bot.Human") {
		t.Errorf("a flow that calls people who are not there: got error %v, want what to do", err)
	}
}

// SPEC: H7. What a bot says by itself it says in the language of its chat.
func TestTheBotsOwnWordsHaveALanguage(t *testing.T) {
	t.Parallel()
	var told []string
	build := func() *bot.Bot {
		return brief(bot.Handover{Lost: bot.Notify}, &told).Human(said).Language("de", map[string]string{
			"we were interrupted, please begin again": "Wir wurden unterbrochen.", "cancelled": "Abgebrochen.",
			"nothing to cancel": "Nichts da.", "unknown command: {command}": "{command}?", "usage: {usage}": "so: {usage}",
			"that button is no longer in use": "Zu spät.", person: "Ein Mensch kommt.", back: "Wieder da.",
		})
	}
	p := flowtest.Play(t, build()).Locale("de")
	p.User("/brief").Bot("Name?").HandOver(build()).User("Ana").Bot("Wir wurden unterbrochen.")
	p.User("/cancel").Bot("Nichts da.").User("/nope").Bot("/nope?").User("/echo").Bot("so: /echo <text>")
	p.User("/brief").Bot("Name?").User("Ana").Bot("Sure?").User("/cancel").Bot("Abgebrochen.").Tap("Yes").Bot("Zu spät.")
	p.User("/human").Bot("Ein Mensch kommt.", "said: /human").User("/bot").Bot("Wieder da.")
}
