package flowtest_test

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// growing says one thing, and then another that it changes in the end.
func growing() *bot.Bot {
	return bot.New().Fallback(func(c *bot.Context) error {
		if err := c.SendNow(botmesh.Send{Text: "hello"}); err != nil {
			return err
		}
		s, err := c.Stream("…")
		if err != nil {
			return err
		}
		s.Set("an answer", []botmesh.Button{{Label: "More", Payload: "m"}})
		c.Say("bye")
		return nil
	})
}

// A message that is changed is one message, with the text and the buttons that it is left with.
func TestAnEditIsTheTextOfItsMessage(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, growing()).Repeated()
	p.User("go").Bot("hello", "an answer").Buttons("More").Bot("bye")
	p.CrashOn("go").Bot("hello", "an answer", "bye").Tap("More").Bot("hello", "an answer", "bye")
	if got, want := flowtest.Transcript(growing(), "go"), "> go\n< hello\n< an answer [More]\n< bye\n"; got != want {
		t.Errorf("got the transcript %q, want %q", got, want)
	}
}

// The bot is told of the message that was looked at last, as of one that nobody said.
func TestASendFails(t *testing.T) {
	t.Parallel()
	b := bot.New().
		Command("/menu", func(c *bot.Context) error { c.Say("our menu"); return nil }).
		OnSendFailed(func(c *bot.Context) error {
			f := c.Record().Failed
			c.Sayf("%s: %s after %d, blocked %t, by %q, %t", f.Send.Text, f.Error, f.Tries, f.Blocked, c.Record().User, strings.HasPrefix(f.Part, "test.1/"))
			return nil
		})
	p := flowtest.Play(t, b)
	p.User("/menu").Bot("our menu").SendFailed(botmesh.Failure{}).Bot(`our menu: refused after 1, blocked false, by "", true`)
	p.User("/menu").Bot("our menu").SendFailed(botmesh.Failure{Error: "403", Tries: 3, Blocked: true}).Bot(`our menu: 403 after 3, blocked true, by "", true`)
	got := failure(t, func(tb testing.TB) { flowtest.Play(tb, b).SendFailed(botmesh.Failure{}) })
	if want := "got no message"; !strings.Contains(got, want) {
		t.Errorf("with nothing said: got %q, want %q in it", got, want)
	}
}

func TestSpansAreLookedAt(t *testing.T) {
	t.Parallel()
	b := bot.New().Fallback(func(c *bot.Context) error {
		c.Send(botmesh.Send{Text: "Done.", Spans: []botmesh.Span{{To: 4, Style: botmesh.StyleBold}}})
		c.Say("plain")
		return nil
	})
	p := flowtest.Play(t, b)
	p.User("go").Bot("Done.").Spans(botmesh.Span{To: 4, Style: botmesh.StyleBold}).Bot("plain").Spans()
	got := failure(t, func(tb testing.TB) { flowtest.Play(tb, b).User("go").Bot("Done.").Spans() })
	if want := `the spans of "Done."`; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

// A message whose button was pressed is changed, and has other buttons then, or none.
func TestAnEditTakesButtonsAway(t *testing.T) {
	t.Parallel()
	yes := []botmesh.Button{{Label: "Yes", Payload: "/yes"}}
	b := bot.New().
		Command("/sure", func(c *bot.Context) error {
			c.Say("hm")
			c.Send(botmesh.Send{Text: "Sure?", Buttons: [][]botmesh.Button{yes}})
			return nil
		}).
		Command("/yes", func(c *bot.Context) error {
			c.Edit(c.Record().Message.Of, botmesh.Send{Text: "Sure: yes"})
			c.Edit("another", botmesh.Send{Text: "other"})
			return nil
		})
	p := flowtest.Play(t, b)
	p.User("/sure").Bot("hm").Bot("Sure?").Tap("Yes").Bot("Sure: yes").Bot("other")
	got := failure(t, func(tb testing.TB) {
		flowtest.Play(tb, b).User("/sure").Bot("hm", "Sure?").Tap("Yes").Bot("Sure: yes", "other").Tap("Yes")
	})
	if want := "got buttons []"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
