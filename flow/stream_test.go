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
	flowtest.Play(t, b).CrashOn("go").Bot("hello", "…", "… …", "one", "two", "bye")
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
	flowtest.Play(t, b).Flaky("go", 1).Bot("…", "done")
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
	flowtest.Play(t, b).User("/plan").Bot("…", "hm", "Where to?").User("Rome").Bot("off to Rome")
}
