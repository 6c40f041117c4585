package dispatcher_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/telemetrytest"
	"github.com/botmesh-go/botmesh/telemetry"
)

// metered is something that happens to a fleet, and what is counted of it.
type metered struct {
	name string
	play func(w *world)
	want map[string]float64
	// event is one of a run's span, with its outcome or reason; empty for none to look for.
	event string
	// least are sums of seconds: no less than this, and less than a second more.
	least map[string]float64
}

var happenings = []metered{
	{
		name: "a chat that another holds",
		play: func(w *world) {
			w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				time.Sleep(3 * time.Second)
				return o, nil
			}
			other, err := coord.NewMemory(w.hub, coord.Config{Lease: lease})
			if err != nil {
				w.t.Fatal(err)
			}
			defer other.Close(context.Background())
			turn, err := other.Take(w.t.Context(), coord.Request{Key: key("a").Key(), Place: 1})
			if err != nil {
				w.t.Fatal(err)
			}
			w.start()
			w.post("a", "x")
			time.Sleep(5 * time.Second)
			if err := turn.Release(w.t.Context(), 0); err != nil {
				w.t.Fatal(err)
			}
			w.settled(time.Minute)
		},
		want:  map[string]float64{"bot.turn.wait": 1, "bot.turn.hold": 1, "bot.turn.duration": 1, "bot.reply.latency": 1, "bot.turns{outcome=applied}": 1},
		least: map[string]float64{"bot.turn.wait sum": 5, "bot.turn.hold sum": 3, "bot.turn.duration sum": 3, "bot.reply.latency sum": 8},
	},
	{
		name: "a conversation that moves",
		play: func(w *world) {
			w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if r.From != "" {
					o.Handover = &botmesh.Handover{Flow: "order", Result: botmesh.HandoverRestarted}
				}
				return o, nil
			}
			a := w.start()
			w.post("a", "x")
			w.settled(time.Minute)
			a.drain()
			w.start()
			w.post("a", "x")
			w.settled(time.Minute)
		},
		want:  map[string]float64{"bot.handovers{outcome=restarted}": 1, "bot.turns{outcome=applied}": 2},
		event: "handover restarted",
	},
	{
		name: "a record that always fails",
		play: func(w *world) {
			w.bot.on = func(context.Context, botmesh.Run, botmesh.Midway, botmesh.Outcome) (botmesh.Outcome, error) {
				return botmesh.Outcome{}, errNo
			}
			w.start()
			w.post("a", "x")
			w.settled(10 * time.Minute)
		},
		want:  map[string]float64{"bot.turns{outcome=failed}": 5, "bot.turn.retries": 4, "bot.dlq.messages{kind=record}": 1},
		event: "exception ",
	},
	{
		name: "a run that takes too long",
		play: func(w *world) {
			w.bot.on = func(ctx context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if r.Try == 1 {
					<-ctx.Done()
				}
				return o, ctx.Err()
			}
			w.start()
			w.post("a", "x")
			w.settled(10 * time.Minute)
		},
		want:  map[string]float64{"bot.lease.lost{reason=settled}": 1, "bot.turns{outcome=failed}": 1, "bot.turn.retries": 1},
		event: "turn lost settled",
	},
	{
		name: "a coordinator that forgets, and another that is granted the turn",
		play: func(w *world) {
			var other coord.Turn
			w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if other == nil {
					w.hub.Forget()
					c, err := coord.NewMemory(w.hub, coord.Config{Lease: lease})
					if err == nil {
						other, err = c.Take(ctx, coord.Request{Key: key("a").Key(), Place: 1})
					}
					if err != nil {
						w.t.Error(err)
					}
					<-ctx.Done()
					return o, c.Close(context.WithoutCancel(ctx))
				}
				return o, nil
			}
			w.start()
			w.post("a", "x")
			w.settled(10 * time.Minute)
		},
		want:  map[string]float64{"bot.lease.lost{reason=superseded}": 1, "bot.checkpoint.conflicts{reason=lease_lost}": 1, "bot.turns{outcome=lost}": 1},
		event: "turn lost superseded",
	},
	{
		name: "another that wrote the checkpoint, and a repetition",
		play: func(w *world) {
			w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if w.bot.ran() == 2 {
					w.rewrite("a", func(*checkpoint.Checkpoint) {})
				}
				return o, nil
			}
			w.start()
			w.post("a", "x")
			w.settled(time.Minute)
			id := w.post("a", "x")
			w.settled(time.Minute)
			time.Sleep(24 * time.Hour) // past the journal's window
			w.postID("a", "x", id)
			w.settled(time.Minute)
		},
		want: map[string]float64{"bot.checkpoint.conflicts{reason=superseded}": 1, "bot.records.duplicate": 1},
	},
	{
		name: "a process that dies while it runs",
		play: func(w *world) {
			var a *replica
			w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if w.bot.ran() == 1 {
					a.gate.kill()
					<-ctx.Done()
				}
				return o, ctx.Err()
			}
			a = w.start()
			w.post("a", "x")
			w.waitFor(a.gate.isDead)
			w.start()
			w.settled(2 * time.Minute)
		},
		want: map[string]float64{"bot.turn.deaths": 1},
	},
}

// events are those of all runs, each with its outcome or reason.
func events(spans tracetest.SpanStubs) (all []string) {
	for _, s := range spans {
		for _, e := range s.Events {
			word := ""
			for _, kv := range e.Attributes {
				if s.Name == telemetry.SpanTurn && (kv.Key == telemetry.KeyOutcome || kv.Key == telemetry.KeyReason) {
					word = kv.Value.AsString()
				}
			}
			all = append(all, e.Name+" "+word)
		}
	}
	return all
}

// What operators count by is counted once, under the right label, in seconds, and what
// happens to a run is an event of its span. The test runs alone: meters and tracers are
// global.
//
// SPEC: W2 H11
func TestWhatHappensToTurnsIsCounted(t *testing.T) {
	tracers := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(tracers) })
	for _, h := range happenings {
		t.Run(h.name, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
			before := telemetrytest.Metrics(t)
			play(t, h.play)
			if got := events(spans.GetSpans()); h.event != "" && !slices.Contains(got, h.event) {
				t.Errorf("got the events %q, want %q", got, h.event)
			}
			after := telemetrytest.Metrics(t)
			for name, want := range h.want {
				if got := after[name] - before[name]; got != want {
					t.Errorf("%s: got %v, want %v", name, got, want)
				}
			}
			for name, want := range h.least {
				if got := after[name] - before[name]; got < want || got > want+1 {
					t.Errorf("%s: got %v, want %v", name, got, want)
				}
			}
			for _, name := range []string{"bot.slots.used", "bot.lanes"} {
				if after[name] != 0 {
					t.Errorf("%s: got %v after all drained, want 0", name, after[name])
				}
			}
		})
	}
}
