package worker_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/worker"
)

// talkative has a conversation for each of what depends on who is there when something
// is said.
func talkative() *bot.Bot {
	type list struct{ All string }
	const what flow.Step[list] = "what"
	all := flow.New[list]("list", flow.Trigger("/list"), flow.Burst(4*time.Second))
	flow.Ask(all, what, ask.Text(), "What?", func(c *flow.C[list], text string) flow.Next {
		c.Say("noted " + strings.ReplaceAll(text, "\n", ", "))
		return c.End()
	})
	const name, again flow.Step[list] = "name", "again"
	game := flow.New[list]("game", flow.Trigger("/game"), flow.Ephemeral(0))
	flow.Ask(game, name, ask.Text(), "Name?", func(c *flow.C[list], text string) flow.Next {
		c.State.All = text
		return c.Goto(again)
	})
	flow.Ask(game, again, ask.Text(), "Again?", func(c *flow.C[list], text string) flow.Next {
		c.Say(c.State.All + " and " + text)
		return c.End()
	})
	return bot.New().Flow(all).Flow(game).
		Flow(flow.NewLive("sum", func(c *flow.Live) error {
			for sum := 0; ; {
				n, err := flow.Wait(c, ask.Int(), fmt.Sprintf("%d plus?", sum))
				if err != nil {
					return err
				}
				sum += n
			}
		}, flow.Trigger("/sum"))).
		Command("/join", func(c *bot.Context) error {
			c.Meanwhile(flow.Join)
			var all []string
			for len(all) < 2 {
				select {
				case m := <-c.Incoming():
					all = append(all, m.Text)
				case <-c.Context().Done():
					return context.Cause(c.Context())
				}
			}
			c.Say(strings.Join(all, " and "))
			return nil
		}).
		Command("/think", func(c *bot.Context) error {
			c.Meanwhile(flow.Interrupt)
			if also := c.Also(); len(also) > 0 {
				c.Say("thought of " + also[0].Text)
				return nil
			}
			<-c.Context().Done()
			return context.Cause(c.Context())
		}).
		Fallback(func(c *bot.Context) error {
			c.Say(fmt.Sprintf("%d files: %s", len(c.Record().Message.Media), c.Text()))
			return nil
		})
}

// SPEC: D1 H1 J8 T3. What is said in quick succession, or while a handler runs, is dealt with in
// one process as in a fleet; and what lives in a process goes on in it.
func TestLocalHearsWhatIsSaidMeanwhile(t *testing.T) {
	t.Parallel()
	photo := func(text string) botmesh.Message {
		return botmesh.Message{Text: text, Group: "album", Media: []botmesh.Media{{Kind: "image", Ref: text}}}
	}
	text := func(text string) botmesh.Message { return botmesh.Message{Text: text} }
	for name, c := range map[string]struct {
		said []botmesh.Message // a second apart, but for albums
		want []string
	}{
		"burst":             {[]botmesh.Message{text("/list"), text("tea"), text("milk"), text("jam")}, []string{"What?", "noted tea, milk, jam"}},
		"album":             {[]botmesh.Message{photo("a"), photo("b"), photo("c"), text("d")}, []string{"3 files: a\nb\nc", "0 files: d"}},
		"join":              {[]botmesh.Message{text("/join"), text("a"), text("b"), text("c")}, []string{"a and b", "0 files: c"}},
		"interrupt":         {[]botmesh.Message{text("/think"), text("a"), text("b")}, []string{"thought of a", "0 files: b"}},
		"not kept":          {[]botmesh.Message{text("/game"), text("Ana"), text("Eva")}, []string{"Name?", "Again?", "Ana and Eva"}},
		"live conversation": {[]botmesh.Message{text("/sum"), text("1"), text("2")}, []string{"0 plus?", "1 plus?", "3 plus?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local(t, talkative(), func(l *worker.Local, p *phone) {
				for i, m := range c.said {
					r := called("1", strconv.Itoa(i), "")
					r.Message = m
					if err := l.Receive(t.Context(), r); err != nil {
						t.Fatal(err)
					}
					if m.Group == "" {
						time.Sleep(time.Second) // of the bubble
					}
				}
				time.Sleep(time.Minute)
				var got []string
				for _, s := range p.take("1") {
					got = append(got, s.Text)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("the bot said (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// SPEC: D1. A handler that ends its goroutine has decided nothing: its run has failed, and is
// made again.
func TestAHandlerThatEndsItsGoroutineIsRunAgain(t *testing.T) {
	t.Parallel()
	const count bot.State[int] = "count"
	failed := make(chan error, 1)
	b := bot.New().Command("/count", func(c *bot.Context) error {
		*count.Of(c)++
		c.Sayf("%d", *count.Of(c))
		if c.Args() == "exit" && c.Try() == 1 {
			runtime.Goexit()
		}
		return nil
	}).OnError(func(_ context.Context, _ botmesh.Run, err error) { failed <- err })
	local(t, b, func(l *worker.Local, p *phone) {
		if got, want := transcript(t, l, p, []string{"/count", "/count exit"}), "> /count\n< 1\n> /count exit\n< 2\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		select {
		case err := <-failed:
			if !strings.Contains(err.Error(), "runtime.Goexit") {
				t.Errorf("OnError: got error %v, want that it ended its goroutine", err)
			}
		default:
			t.Error("OnError was not called")
		}
	})
}
