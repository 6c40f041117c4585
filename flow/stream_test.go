package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// A stream's last text takes the place of its first, whatever else is sent at once.
func TestAStreamReplacesItsFirstText(t *testing.T) {
	t.Parallel()
	b := bot.New()
	var got []botmesh.Send
	b.Fallback(func(c *bot.Context) error {
		if err := c.SendNow(botmesh.Send{Text: "hello"}); err != nil {
			return err
		}
		first, err := c.Stream("…")
		if err != nil {
			return err
		}
		second, err := c.Stream("… …")
		if err != nil {
			return err
		}
		if _, err := flow.Do(c, "think", func(context.Context, string) (int, error) { return 1, nil }); err != nil {
			return err
		}
		second.Set("two")
		first.Set("a state")
		first.Set("one", []botmesh.Button{{Label: "More", Payload: "m"}})
		c.Say("bye")
		got = c.Sends()
		return nil
	})
	flowtest.Play(t, b).CrashOn("go").Bot("hello", "one", "two", "bye")
	want := []botmesh.Send{
		{Text: "one", Buttons: [][]botmesh.Button{{{Label: "More", Payload: "m"}}}, Replaces: 2},
		{Text: "two", Replaces: 3},
		{Text: "bye"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sends (-want +got):\n%s", diff)
	}
}

// A handler that fails after it began a stream goes on with the same message.
func TestAStreamGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	b := bot.New()
	b.Fallback(func(c *bot.Context) error {
		s, err := c.Stream("…")
		if err != nil {
			return err
		}
		if c.Try() == 1 {
			return errors.New("the model is away")
		}
		s.Set("done")
		return nil
	})
	flowtest.Play(t, b).Flaky("go", 1).Bot("done")
}

// A message that is never set stays as it is: nothing is said twice where none can be
// changed.
func TestAStreamThatIsNotSetStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := bot.New()
	b.Fallback(func(c *bot.Context) error {
		_, err := c.Stream("…")
		return err
	})
	flowtest.Play(t, b).User("go").Bot("…")
}

// A script that asks in between runs again: what it sets then is a message of its own.
func TestAStreamIsSetAfterAQuestion(t *testing.T) {
	t.Parallel()
	b := planner(func(c *flow.Talk[trip]) (flow.Next, error) {
		s, err := c.Stream("…")
		if err != nil {
			return flow.Next{}, err
		}
		s.Set("hm")
		to, err := flow.Await(c, "to", ask.Text(), "Where to?")
		if err != nil {
			return flow.Next{}, err
		}
		s.Set("off to " + to)
		return c.End(), nil
	})
	flowtest.Play(t, b).User("/plan").Bot("hm", "Where to?").User("Rome").Bot("off to Rome")
}

// signing is a midway that notes what is shown.
type signing struct {
	botmesh.Midway
	shown  []botmesh.Send
	typing int
}

func (m *signing) SendNow(context.Context, botmesh.Send) error { return nil }
func (m *signing) Typing()                                     { m.typing++ }
func (m *signing) Show(s botmesh.Send)                         { m.shown = append(m.shown, s) }

// What a stream is set to is shown in its message, without the buttons that the end may
// not have; what has no message to be shown in is not.
func TestAStreamShowsWhatItIsSetTo(t *testing.T) {
	t.Parallel()
	b := bot.New()
	b.Fallback(func(c *bot.Context) error {
		c.Typing()
		if err := c.SendNow(botmesh.Send{Text: "hello"}); err != nil {
			return err
		}
		s, err := c.Stream("…")
		if err != nil {
			return err
		}
		s.Set("a", []botmesh.Button{{Label: "More", Payload: "m"}})
		s.Set("")
		s.Set("a b")
		return nil
	})
	m := &signing{}
	run := botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "go"}}}
	if _, err := b.Turn(t.Context(), run, m); err != nil {
		t.Fatal(err)
	}
	want := []botmesh.Send{{Text: "a", Replaces: 2}, {Text: "a b", Replaces: 2}}
	if diff := cmp.Diff(want, m.shown); diff != "" || m.typing != 1 {
		t.Errorf("typing %d times, want once; shown (-want +got):\n%s", m.typing, diff)
	}
}
