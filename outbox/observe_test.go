package outbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// SPEC W1: the delivery of a letter is part of the trace of the turn that wrote it,
// and each call part of the delivery. It runs alone: tracers are global.
func TestDeliveryIsTraced(t *testing.T) {
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.process("a")
		a.answer = func(_ context.Context, part string) error {
			if part == "2" {
				return provider.Permanent(errors.New("no"))
			}
			return nil
		}
		ctx, turn := telemetry.Tracer().Start(t.Context(), telemetry.SpanTurn)
		l, err := a.Letter("l", chatA, []botmesh.Send{{Text: "1,2"}}, time.Now(), telemetry.Inject(ctx))
		if err != nil {
			t.Fatal(err)
		}
		seq, err := a.Append(ctx, l, 0)
		if err != nil {
			t.Fatal(err)
		}
		turn.End()
		a.deliver(seq)
		m, err := w.stream.Get(t.Context(), seq)
		want(w, "header", err, nil)
		want(w, "header", m.Header.Get("traceparent"), l.Trace["traceparent"])
	})

	parent := map[string]string{}
	name := map[trace.SpanID]string{}
	for _, s := range spans.GetSpans() {
		name[s.SpanContext.SpanID()] = s.Name
	}
	calls := 0
	for _, s := range spans.GetSpans() {
		parent[s.Name] = name[s.Parent.SpanID()]
		if s.Name == telemetry.SpanProvider {
			calls++
		}
	}
	for child, want := range map[string]string{
		telemetry.SpanOutbox:   telemetry.SpanTurn,
		telemetry.SpanDeliver:  telemetry.SpanTurn,
		telemetry.SpanProvider: telemetry.SpanDeliver,
	} {
		if got := parent[child]; got != want {
			t.Errorf("parent of %q: got %q, want %q", child, got, want)
		}
	}
	if calls != 2 || len(name) != 5 {
		t.Errorf("spans: got %d, %d of them calls, want 5 and 2: %v", len(name), calls, name)
	}
}

// metered reads the process's metrics. A meter takes the first provider for good.
var metered = sync.OnceValue(func() *sdkmetric.ManualReader {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	return reader
})

// SPEC W2 O7: what is in doubt is counted, and each call by what came of it. It runs
// alone: meters are global.
func TestDeliveryIsCounted(t *testing.T) {
	before := counts(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.process("a"), w.process("b")
		a.answer = func(context.Context, string) error { a.answer = nil; return errTook }
		one, _ := a.append("1")
		a.deliver(one)
		time.Sleep(a.cfg.RetryFirst)
		a.deliver(one)
		two, _ := a.append("2")
		a.setRule(when(entries(kindClaim), die))
		end := a.background(two)
		b.deliver(two)
		end()
	})

	got := counts(t)
	for name, want := range map[string]int64{
		"bot.outbox.in_doubt ":            2,
		"bot.outbox.deliveries delivered": 2,
		"bot.outbox.deliveries unknown":   1,
		"bot.outbox.call.duration":        3,
		"bot.outbox.latency":              2,
	} {
		if got := got[name] - before[name]; got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

// counts is every counter by its outcome, and how often each histogram was used.
func counts(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := metered().Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					outcome, _ := p.Attributes.Value(telemetry.KeyOutcome)
					got[m.Name+" "+outcome.AsString()] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[m.Name] += int64(p.Count)
				}
			}
		}
	}
	return got
}
