package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
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
