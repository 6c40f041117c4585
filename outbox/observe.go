package outbox

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// letterSpan is the span of the letter that is being delivered.
type letterSpan struct {
	seq  uint64
	ctx  context.Context
	span trace.Span
}

// of returns a context in the span of p's letter, begun if it is another than the
// one before.
func (s *letterSpan) of(d *Delivery, p part) context.Context {
	if s.span == nil || s.seq != p.seq {
		s.end()
		s.seq = p.seq
		s.ctx, s.span = telemetry.Tracer().Start(telemetry.Extract(d.hard, p.letter.Trace), telemetry.SpanDeliver,
			trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
				telemetry.KeyBot.String(d.o.cfg.Bot), telemetry.KeyChat.String(p.letter.Chat.String()),
				telemetry.KeyProvider.String(p.letter.Chat.Provider)))
	}
	return s.ctx
}

func (s *letterSpan) end() {
	if s.span != nil {
		s.span.End()
		s.span = nil
	}
}

// callSpan begins the span of one call. done ends it and counts what came of it.
func callSpan(ctx context.Context, p part) (_ context.Context, done func(error)) {
	provider := telemetry.KeyProvider.String(p.letter.Chat.Provider)
	began := time.Now()
	ctx, span := telemetry.Tracer().Start(ctx, telemetry.SpanProvider, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(provider, telemetry.KeyTry.Int(p.Tries+1), attribute.String("bot.part", p.of().ID)))
	return ctx, func(err error) {
		outcome := telemetry.KeyOutcome.String(outcomeOf(err))
		span.SetAttributes(outcome)
		if err != nil {
			span.SetStatus(codes.Error, "")
			span.RecordError(err)
		}
		span.End()
		attrs := metric.WithAttributes(provider, outcome)
		telemetry.Deliveries.Add(ctx, 1, attrs)
		telemetry.SendDuration.Record(ctx, time.Since(began).Seconds(), attrs)
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "delivered"
	case provider.IsPermanent(err):
		return "permanent"
	case provider.InDoubt(err):
		return "unknown"
	}
	return "retry"
}

func (o *Outbox) countDoubt(ctx context.Context, chat botmesh.ChatKey, parts int) {
	telemetry.InDoubt.Add(ctx, int64(parts), metric.WithAttributes(telemetry.KeyProvider.String(chat.Provider)))
	o.cfg.Logger.WarnContext(ctx, "parts in doubt", "chat", chat, "parts", parts)
}

func (o *Outbox) countLatency(ctx context.Context, p part) {
	telemetry.OutboxLatency.Record(ctx, o.now().wall.Sub(p.letter.At).Seconds(),
		metric.WithAttributes(telemetry.KeyProvider.String(p.letter.Chat.Provider)))
}

// clip bounds what a platform answered.
func clip(err error) string {
	s := err.Error()
	return strings.ToValidUTF8(s[:min(len(s), maxError)], "")
}
