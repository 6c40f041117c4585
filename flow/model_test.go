package flow_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// The things that a script at random does, one after the other.
const (
	says = iota
	does
	asks
)

// randomScript does ops, and counts what it does outside in keys, by idempotency key.
func randomScript(ops []int, keys map[string]int) *bot.Bot {
	f := flow.New[trip]("random", flow.Trigger("/go"), flow.Back(1))
	flow.Script(f, plan, func(c *flow.Talk[trip]) (flow.Next, error) {
		for i, op := range ops {
			switch op {
			case says:
				c.Sayf("say %d", i)
			case does:
				n, err := flow.Do(c, "do", func(_ context.Context, key string) (int, error) {
					keys[key]++
					return len(keys), nil
				})
				if err != nil {
					return flow.Next{}, err
				}
				c.Sayf("did %d", n)
			case asks:
				n, err := flow.Await(c, "ask", ask.Int(), fmt.Sprintf("ask %d?", i))
				if err != nil {
					return flow.Next{}, err
				}
				c.Sayf("got %d", n)
			}
		}
		c.Say("end")
		return c.End(), nil
	})
	return bot.New().Flow(f)
}

// scriptModel is a script as its author thinks of it: a place in a list.
type scriptModel struct {
	ops  []int
	open int // the question that is open, -1 if the script does not wait
	did  int
}

// goOn is what is said from op i on.
func (m *scriptModel) goOn(i int) (said []string) {
	for ; i < len(m.ops); i++ {
		switch m.ops[i] {
		case says:
			said = append(said, fmt.Sprintf("say %d", i))
		case does:
			m.did++
			said = append(said, fmt.Sprintf("did %d", m.did))
		case asks:
			m.open = i
			return append(said, fmt.Sprintf("ask %d?", i))
		}
	}
	m.open = -1
	return append(said, "end")
}

// next is what is said to a text.
func (m *scriptModel) next(text string) []string {
	if text == "/go" {
		return m.goOn(0)
	}
	question := fmt.Sprintf("ask %d?", m.open)
	if text == "/back" {
		for i := m.open - 1; i >= 0; i-- {
			if m.ops[i] == asks {
				m.open = i
				return []string{fmt.Sprintf("ask %d?", i)}
			}
		}
		return []string{"there is no question before this one\n" + question}
	}
	if _, err := strconv.Atoi(text); err != nil {
		return []string{"Please send a whole number.\n" + question}
	}
	return append([]string{"got " + text}, m.goOn(m.open+1)...)
}

// SPEC: H10 H13. Whatever a script does, and wherever its replica dies, it goes on as
// if it had run once from its start to its end, and does everything once.
func TestAnyScriptGoesAsIfItRanOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(says, asks), 0, 9).Draw(t, "ops")
		keys := map[string]int{}
		m := &scriptModel{ops: ops, open: -1}
		var state []byte
		for seq := range uint64(rapid.IntRange(1, 12).Draw(t, "records")) {
			text := "/go"
			if m.open >= 0 {
				text = rapid.SampledFrom([]string{"7", "8", "many", "/back", "/go"}).Draw(t, "text")
			}
			b := randomScript(ops, keys) // another replica each time
			run := botmesh.Run{State: state, Record: botmesh.Record{
				Epoch: "e", Seq: seq + 1, Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "p", Chat: "1"}, Message: botmesh.Message{Text: text},
			}}
			keeper := &keeping{}
			var out botmesh.Outcome
			for range rapid.IntRange(1, 3).Draw(t, "runs") { // all but the last are lost before their commit
				var err error
				if out, err = b.Turn(t.Context(), run, keeper); err != nil {
					t.Fatalf("%s: got error %v", text, err)
				}
				run.Kept = keeper.kept
			}
			var got []string
			for _, s := range out.Sends {
				got = append(got, s.Text)
			}
			if diff := cmp.Diff(m.next(text), got); diff != "" {
				t.Fatalf("%s (-model +bot):\n%s", text, diff)
			}
			if state = out.State; (state != nil) != (m.open >= 0) {
				t.Fatalf("%s: got state %s while question %d is open", text, state, m.open)
			}
		}
		for key, n := range keys {
			if n != 1 {
				t.Fatalf("%s was done %d times", key, n)
			}
		}
	})
}
