package bot_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/lab/bot"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
)

// run runs a text as the record id and returns what came of it.
func run(t *testing.T, b *bot.Bot, state []byte, id, text string) (next []byte, said []string) {
	t.Helper()
	out, err := b.Run(t.Context(), botmesh.Run{State: state, Try: 1, Record: botmesh.Record{
		Type: botmesh.TypeMessage, ID: id, Message: botmesh.Message{Text: text},
	}}, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, s := range out.Sends {
		said = append(said, s.Text)
	}
	return out.State, said
}

func newBot(t *testing.T) *bot.Bot {
	t.Helper()
	b, err := bot.New(bot.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, state []byte) (chain.Chain, bool) {
	t.Helper()
	c, waiting, err := chain.Read(state)
	if err != nil {
		t.Fatal(err)
	}
	return c, waiting
}

// What the bot answers can be computed from the chain before, the record's id and
// the nonce, and differs for every run.
func TestFreeTextsAreAChain(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	var state []byte
	var last chain.Chain
	sends := map[int]bool{}
	for i := range 40 {
		id := string(rune('a' + i))
		next, said := run(t, b, state, id, "hi")
		got, _ := read(t, next)
		want := last.Next(id, got.Nonce)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("chain after %s (-want +got):\n%s", id, diff)
		}
		if diff := cmp.Diff(want.Replies(id), append([]string{}, said...)); diff != "" {
			t.Errorf("answers to %s (-want +got):\n%s", id, diff)
		}
		if again, _ := run(t, b, state, id, "hi"); cmp.Equal(next, again) {
			t.Fatalf("two runs of %s: got the same state, want another", id)
		}
		if other := last.Next(id+"x", got.Nonce); other.Hash == got.Hash {
			t.Fatalf("another record: got the same hash, want another")
		}
		sends[len(said)] = true
		state, last = next, got
	}
	if diff := cmp.Diff(map[int]bool{0: true, 1: true, 2: true, 3: true}, sends); diff != "" {
		t.Errorf("numbers of answers (-want +got):\n%s", diff)
	}
}

// An alarm is set in place of the one before, under a name of its own kind.
func TestLaterSetsTheOneAlarm(t *testing.T) {
	t.Parallel()
	b, now := newBot(t), time.Now()
	run := botmesh.Run{Now: now, Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/later 2s the tea"}}}
	out, err := b.Run(t.Context(), run, nil)
	want := botmesh.Outcome{
		Sends: []botmesh.Send{{Text: "ok"}},
		Arm:   []botmesh.Timer{{Name: "remind/later", At: now.Add(2 * time.Second), Data: []byte("the tea")}},
	}
	if diff := cmp.Diff(want, out); err != nil || diff != "" {
		t.Errorf("got error %v and (-want +got):\n%s", err, diff)
	}
	run.Record.Message.Text = "/later soon x"
	if out, err := b.Run(t.Context(), run, nil); err == nil {
		t.Errorf("got %v, want an error", out)
	}
}

// Commands, and answers that a flow waits for, are no links of the chain and leave
// it as it is.
func TestTheRestIsTheDemoBots(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	state, _ := run(t, b, nil, "1", "hi")
	before, _ := read(t, state)
	for _, step := range []struct {
		text, said string
		waits      bool
	}{
		{"/count", "count: 1", false},
		{"/order", "What would you like to order?", true},
		{"pizza", "How many?", true},
		{"/cancel", "cancelled", false},
	} {
		var said []string
		state, said = run(t, b, state, step.text, step.text)
		if diff := cmp.Diff([]string{step.said}, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.text, diff)
		}
		got, waits := read(t, state)
		if got != before || waits != step.waits {
			t.Errorf("%s: got chain %v and waiting %t, want %v and %t", step.text, got, waits, before, step.waits)
		}
	}
	state, _ = run(t, b, state, "2", "hi again")
	if after, _ := read(t, state); after.Count != 2 {
		t.Errorf("got %d links, want 2", after.Count)
	}
}
