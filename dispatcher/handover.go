package dispatcher

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/telemetry"
)

// handedOver tells of a conversation that this replica has from another, once that is
// committed.
func (h *hold) handedOver(ctx context.Context, m botmesh.Handover, from string) {
	m.Chat, m.From, m.To = h.chat, from, h.d.cfg.Coordinator.Incarnation()
	outcome := telemetry.KeyOutcome.String(string(m.Result))
	telemetry.Handovers.Add(ctx, 1, metric.WithAttributes(outcome))
	trace.SpanFromContext(ctx).AddEvent("handover", trace.WithAttributes(
		telemetry.KeyFrom.String(m.From), telemetry.KeyFlow.String(m.Flow), outcome))
	h.d.log.InfoContext(ctx, "conversation handed over", "chat", h.chat, "flow", m.Flow, "from", m.From, "outcome", string(m.Result))
	observer, ok := h.d.cfg.Runner.(HandoverObserver)
	if !ok {
		return
	}
	bound := h.d.cfg.Lease / 10
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		defer func() {
			if p := recover(); p != nil {
				h.d.log.ErrorContext(ctx, "hand-over observer panicked", "chat", h.chat, "err", firstLine(panicked(p)))
			}
		}()
		observer.HandedOver(ctx, m)
	}()
	grace := time.NewTimer(bound)
	defer grace.Stop()
	select {
	case <-told:
	case <-grace.C:
		h.d.log.ErrorContext(ctx, "a hand-over observer takes too long, it is left behind", "chat", h.chat)
	}
}
