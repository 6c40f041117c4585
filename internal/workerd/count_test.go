package workerd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/telemetrytest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// A worker tells for how long the oldest message waits, how many dead letters and held
// parts there are and how old the oldest is, and how many chats are paused; when nothing is
// left of it, it tells that too. The test runs alone: gauges are global.
//
// SPEC: W2 J8 O7
func TestWhatWaitsIsCounted(t *testing.T) {
	telemetrytest.Metrics(t)
	synctest.Test(t, func(t *testing.T) {
		server := jet.NewMemory()
		defer server.Close()
		j, err := journal.Open(t.Context(), journal.Config{
			Bot: "demo", Inbox: server.Stream("INBOX", jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
			Dead: server.Stream("DEAD", jet.MemoryConfig{}), AckWait: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		pauses, err := acts.OpenPauses(t.Context(), acts.PausesConfig{Config: acts.Config{Stream: server.Stream("ACTS", jet.MemoryConfig{}), Bot: "demo"}})
		if err != nil {
			t.Fatal(err)
		}
		var settle []func() error
		pull := func(n int) {
			t.Helper()
			if err := j.Pull(t.Context(), n, time.Second, func(n journal.Nudge) { settle = append(settle, n.Ack) }); err != nil {
				t.Fatal(err)
			}
		}
		pull(1)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		o, err := outbox.Open(t.Context(), outbox.Config{Bot: "demo", Stream: server.Stream("OUTBOX", jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}})})
		if err != nil {
			t.Fatal(err)
		}
		go count(ctx, waiting{journal: j, store: &checkpoint.Memory{}, outbox: o, pauses: pauses})
		expect := func(when string, want map[string]float64) {
			t.Helper()
			time.Sleep(countEvery)
			synctest.Wait()
			got := telemetrytest.Metrics(t)
			for name, want := range want {
				if got[name] != want {
					t.Errorf("%s, %s: got %v, want %v", when, name, got[name], want)
				}
			}
		}
		chat := botmesh.ChatKey{Provider: "telegram", Chat: "7"}
		expect("at first", map[string]float64{
			"bot.waiting.oldest.age": 0, "bot.dlq.depth": 0, "bot.dlq.oldest.age": 0, "bot.chats.paused": 0, "bot.outbox.held": 0, "bot.outbox.held.oldest.age": 0,
		})
		for _, id := range []string{"1", "2"} {
			if _, err := j.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: id, Chat: chat}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
		}
		expect("two wait", map[string]float64{"bot.waiting.oldest.age": 20*60 + 15})
		if err := j.SetAside(t.Context(), journal.Dead{Chat: chat, Epoch: "e1", Seq: 1, Error: "no"}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.SetAsidePart(t.Context(), journal.DeadPart{Chat: chat, Part: botmesh.LetterID(chat, "e1", 1) + "/0.0", Held: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := pauses.Set(t.Context(), acts.Pause{Chat: chat, On: true, Since: time.Now()}); err != nil {
			t.Fatal(err)
		}
		pull(2)
		if err := settle[0](); err != nil {
			t.Fatal(err)
		}
		expect("one was set aside", map[string]float64{
			"bot.waiting.oldest.age": 0, "bot.dlq.depth": 1, "bot.dlq.oldest.age": 15, "bot.chats.paused": 1, "bot.outbox.held": 1, "bot.outbox.held.oldest.age": 15,
		})
		if err := settle[1](); err != nil {
			t.Fatal(err)
		}
		expect("none waits", map[string]float64{"bot.waiting.oldest.age": 0, "bot.dlq.oldest.age": 30})
	})
}
