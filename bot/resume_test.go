package bot_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// When an operator ends a pause, the open question is asked again if that is wanted,
// and stays open; a chat that waits for nothing hears nothing.
//
// DESIGN: N9
func TestTheOpenQuestionIsAskedAgainAfterAPause(t *testing.T) {
	t.Parallel()
	type order struct{ Item string }
	f := flow.New[order]("order", flow.Trigger("/order"))
	flow.Ask(f, flow.Step[order]("item"), ask.Text(), "What would you like?", func(c *flow.C[order], item string) flow.Next {
		c.Say("ordered: " + item)
		return c.End()
	})
	b := bot.New().Flow(f)
	run := func(state []byte, r botmesh.Record) botmesh.Outcome {
		t.Helper()
		out, err := b.Turn(t.Context(), botmesh.Run{Record: r, State: state, Now: time.Now(), Try: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	resume := func(ask bool) botmesh.Record {
		return botmesh.Record{Type: botmesh.TypeCommand, Resume: &botmesh.Resume{Ask: ask}}
	}
	if out := run(nil, resume(true)); !out.Ignored {
		t.Errorf("no question is open: got %+v, want it ignored", out)
	}
	state := run(nil, botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/order"}}).State
	if out := run(state, resume(false)); !out.Ignored {
		t.Errorf("without asking: got %+v, want it ignored", out)
	}
	out := run(state, resume(true))
	if len(out.Sends) != 1 || out.Sends[0].Text != "What would you like?" {
		t.Errorf("got %+v, want the question again", out.Sends)
	}
	out = run(out.State, botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "pizza"}})
	if len(out.Sends) != 1 || out.Sends[0].Text != "ordered: pizza" {
		t.Errorf("got %+v, want the answer taken", out.Sends)
	}
}
