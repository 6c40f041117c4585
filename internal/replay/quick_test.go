package replay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/worker"
)

// What a worker took in as one message is one in a replay too, and without a wait; a
// handler that listens while it is at work hears nothing.
//
// SPEC: J7
func TestWhatIsSaidInQuickSuccessionIsOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bot.New().Burst(2 * time.Second).Meanwhile(flow.Join)
		b.Fallback(func(c *bot.Context) error { c.Say("you: " + c.Text()); return nil })
		runner, err := worker.New(worker.Config{Bot: b})
		if err != nil {
			t.Fatal(err)
		}
		j := openJournal(t, jet.NewMemory())
		for _, m := range []struct {
			after    time.Duration
			id, text string
		}{
			{0, "1", "a"},
			{time.Second, "2", "b"},
			{time.Second + 900*time.Millisecond, "3", "c"},
			{3 * time.Second, "4", "d"},
			{time.Second, "5", "e"},
			{time.Second, "6", "/stop"}, // a command is no part of it
			{time.Second, "7", "f"},
		} {
			time.Sleep(m.after)
			publish(t, j, botmesh.Record{Type: botmesh.TypeMessage, ID: m.id, User: "5", Chat: key, Message: botmesh.Message{Text: m.text}})
		}
		began, got := time.Now(), []string{}
		_, err = replay.Dry(t.Context(), replay.Config{Runner: runner, Tries: 1, Settle: time.Minute}, j, key, replay.Range{}, func(s replay.Step) error {
			line := string(s.Result)
			for _, send := range s.Sends {
				line += " " + send.Text
			}
			got = append(got, line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"applied you: a\nb\nc", "joined", "joined", "applied you: d\ne", "joined", "applied unknown command: /stop", "applied you: f"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("waited for %v, want nothing to be waited for", waited)
		}
	})
}
