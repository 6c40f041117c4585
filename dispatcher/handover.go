package dispatcher

import (
	"context"

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
	if observer, ok := as[HandoverObserver](h.d.cfg.Runner); ok {
		h.tell(ctx, func(ctx context.Context) { observer.HandedOver(ctx, m) })
	}
}
