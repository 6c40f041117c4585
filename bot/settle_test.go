package bot_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// bounded is a midway that notes how long the run says it may take.
type bounded struct {
	talker
	said []time.Duration
}

func (m *bounded) Settle(d time.Duration) { m.said = append(m.said, d) }

type none struct{}

// SPEC: T4.
func TestFlowsAndHandlersSayHowLongTheyMayTake(t *testing.T) {
	t.Parallel()
	const own, whole, inner flow.Step[none] = "own", "whole", "inner"
	sub := flow.New[none]("sub", flow.Settle(9*time.Second))
	flow.Ask(sub, inner, ask.Text(), "inner?", func(c *flow.C[none], _ string) flow.Next { return c.End() })
	f := flow.New[none]("f", flow.Trigger("/f"), flow.Settle(2*time.Minute))
	flow.Ask(f, own, ask.Text(), "own?", func(c *flow.C[none], _ string) flow.Next { return c.Goto(whole) }, flow.Settle(3*time.Minute))
	flow.Ask(f, whole, ask.Text(), "whole?", func(c *flow.C[none], _ string) flow.Next { return c.End() })
	plain := flow.New[none]("plain", flow.Trigger("/plain"))
	flow.Call(plain, own, sub, func(none) none { return none{} },
		func(c *flow.C[none], _ none) flow.Next { return c.Goto(whole) })
	flow.Ask(plain, whole, ask.Text(), "whole?", func(c *flow.C[none], _ string) flow.Next { return c.End() })
	nothing := func(*bot.Context) error { return nil }
	b := bot.New().Flow(f).Flow(plain)
	b.Command("/slow", nothing, bot.Settle(4*time.Minute)).Command("/usual", nothing).Fallback(nothing, bot.Settle(5*time.Second))
	b.On(botmesh.TypeEdit, nothing, bot.Settle(6*time.Second)).Timer("k", nothing, bot.Settle(7*time.Second))
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	timer := botmesh.Record{Type: botmesh.TypeTimer, Seq: 1}
	var state []byte
	for _, c := range []struct {
		r    botmesh.Record
		want []time.Duration
	}{
		{wrote(1, "/slow"), []time.Duration{4 * time.Minute}},
		{wrote(1, "/usual"), nil},
		{wrote(1, "else"), []time.Duration{5 * time.Second}},
		{botmesh.Record{Type: botmesh.TypeEdit, Seq: 1}, []time.Duration{6 * time.Second}},
		{timer, []time.Duration{7 * time.Second}},
		{wrote(1, "/f"), []time.Duration{3 * time.Minute}},
		{wrote(2, "a"), []time.Duration{3 * time.Minute, 2 * time.Minute}},
		{wrote(3, "b"), []time.Duration{2 * time.Minute}},
		{wrote(4, "/plain"), []time.Duration{9 * time.Second}},
		{wrote(5, "a"), []time.Duration{9 * time.Second, 0}},
	} {
		m := &bounded{}
		out, err := b.Turn(t.Context(), botmesh.Run{Record: c.r, State: state, Timer: botmesh.Timer{Name: "k"}}, m)
		if err != nil || !slices.Equal(m.said, c.want) {
			t.Errorf("%s %q: got %v, %v, want %v", c.r.Type, c.r.Message.Text, m.said, err, c.want)
		}
		if !out.Ignored {
			state = out.State
		}
	}
}

func TestABoundOfRunsThatWillNotDoIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	const step flow.Step[none] = "step"
	for _, d := range []time.Duration{0, -1, botmesh.MaxSettle + 1} {
		f := flow.New[none]("f", flow.Settle(d))
		flow.Ask(f, step, ask.Text(), "?", func(c *flow.C[none], _ string) flow.Next { return c.End() }, flow.Settle(d))
		b := bot.New().Flow(f).Command("/c", func(*bot.Context) error { return errors.New("no") }, bot.Settle(d))
		if err := b.Validate(); err == nil || strings.Count(err.Error(), "may take") != 3 {
			t.Errorf("%v: got %v, want it told of the flow, the step and the command", d, err)
		}
	}
}
