package workerd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/telemetry"
)

// story writes the traces of spans as trees, in the order in which they began, with the
// number of the trace that a link leads to: "POST /webhooks/{provider}(send bot.in(…))".
// Its error names a span without its parent: the trace is not all there yet.
func story(spans tracetest.SpanStubs) (lines []string, err error) {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	byID, below := map[trace.SpanID]tracetest.SpanStub{}, map[trace.SpanID]tracetest.SpanStubs{}
	number := map[trace.TraceID]int{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID()] = s
		below[s.Parent.SpanID()] = append(below[s.Parent.SpanID()], s)
		if !s.Parent.IsValid() {
			number[s.SpanContext.TraceID()] = len(number) + 1
		}
	}
	var tell func(s tracetest.SpanStub) string
	tell = func(s tracetest.SpanStub) string {
		text := s.Name
		for _, l := range s.Links {
			why, to := l.Attributes[0].Value.AsString(), byID[l.SpanContext.SpanID()]
			text += fmt.Sprintf(" [%s: %s of %d]", why, to.Name, number[l.SpanContext.TraceID()])
		}
		var inner []string
		for _, c := range below[s.SpanContext.SpanID()] {
			inner = append(inner, tell(c))
		}
		if inner != nil {
			text += "(" + strings.Join(inner, ", ") + ")"
		}
		return text
	}
	for _, s := range spans {
		switch parent, ok := byID[s.Parent.SpanID()]; {
		case !s.Parent.IsValid():
			lines = append(lines, tell(s))
		case !ok || parent.SpanContext.TraceID() != s.SpanContext.TraceID():
			return nil, fmt.Errorf("the parent of %q is missing", s.Name)
		}
	}
	return lines, nil
}

const (
	process = "process bot.in"
	said    = "commit checkpoint, send bot.out, deliver bot.out(call provider)"
)

// unlimited are settings under which no part is put off, which would be a delivery more.
var unlimited = []string{"BOTMESH_TELEGRAM_ACCOUNT_RATE=off", "BOTMESH_TELEGRAM_CHAT_RATE=off"}

// tracing exports the spans of all tests from now on, until the test ends. Tracers are
// global: who calls it runs alone.
func tracing(t *testing.T) *tracetest.InMemoryExporter {
	t.Helper()
	before := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	return spans
}

// told waits until the spans tell a story.
func told(t *testing.T, spans *tracetest.InMemoryExporter, want []string) {
	t.Helper()
	var got []string
	var err error
	t.Cleanup(func() {
		if t.Failed() {
			t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	natstest.Until(t, "all traces are whole", func() bool {
		got, err = story(spans.GetSpans())
		return err == nil && slices.Equal(got, want)
	})
}

// Each turn is one trace, from the webhook to the platform, through the programs' own
// wiring; what it goes on from is linked: the run before, the try before, the run that
// armed a timer.
//
// SPEC: W1
func TestOneTracePerTurn(t *testing.T) {
	spans := tracing(t)
	f := startFleet(t, unlimited...)
	f.post(t, telegramtest.Text(1, 7, "/count"))
	f.expect(t, "7", "count: 1")
	f.post(t, telegramtest.Text(2, 7, "/fail 1"))
	f.expect(t, "7", "count: 1", "recovered after 1")
	f.post(t, telegramtest.Text(3, 7, "/remind 1s tea"))
	natstest.Until(t, "the reminder", func() bool { return len(f.telegram.Texts("7")) == 4 })

	const in = "POST /webhooks/{provider}(send bot.in("
	want := []string{
		in + process + "(" + said + ")))",
		in + process + " [conversation: process bot.in of 1](commit checkpoint), " +
			process + " [retry: process bot.in of 2] [conversation: process bot.in of 1](commit checkpoint, " + said + ")))", // the claim of a further try
		in + process + " [conversation: process bot.in of 2](" + said + ")))",
		process + " [timer: process bot.in of 3] [conversation: process bot.in of 3](" + said + ")",
	}
	told(t, spans, want)
	for _, s := range spans.GetSpans() {
		if s.Name == telemetry.SpanTurn && s.SpanKind != trace.SpanKindConsumer {
			t.Errorf("got a turn of kind %s, want a consumer", s.SpanKind)
		}
	}
}

// What an ingress fetches begins a trace as a webhook does, one for each update.
//
// SPEC: W1
func TestOneTracePerTurnOfASession(t *testing.T) {
	spans := tracing(t)
	f := startFleet(t, append(unlimited, "BOTMESH_TELEGRAM_MODE=polling")...)
	f.telegram.Offer(1, telegramtest.Text(1, 7, "/echo one"))
	f.telegram.Offer(2, telegramtest.Text(2, 8, "/echo two"))
	f.expect(t, "7", "one")
	f.expect(t, "8", "two")
	one := "receive session(send bot.in(" + process + "(" + said + ")))"
	told(t, spans, []string{one, one})
}
