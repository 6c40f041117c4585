package dispatcher

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/telemetry"
)

// lose counts and tells that the turn was lost, or its run cut off. Without a loss it does
// nothing.
func (h *hold) lose(ctx context.Context, loss botmesh.LossReason) {
	if loss == "" {
		return
	}
	telemetry.LeasesLost.Add(ctx, 1, reason(string(loss)))
	if loss == botmesh.LossSettled {
		lostIn(trace.SpanFromContext(ctx), loss)
	}
	h.d.log.WarnContext(ctx, "turn lost", "chat", h.chat, "fence", h.fence, "reason", string(loss))
	if observer, ok := as[LossObserver](h.d.cfg.Runner); ok {
		m := botmesh.TurnLost{Chat: h.chat, Fence: h.fence, Reason: loss}
		h.tell(ctx, func(ctx context.Context) { observer.TurnLost(ctx, m) })
	}
}

// lossOf is why a turn was lost, empty if it was not. That its own process gave it back
// is no loss.
func lossOf(err error) botmesh.LossReason {
	var lost *botmesh.LeaseLostError
	if !errors.As(err, &lost) || lost.Reason == botmesh.LossReleased {
		return ""
	}
	return lost.Reason
}

// lostIn tells in a run's span why it lost the turn or was cut off.
func lostIn(span trace.Span, why botmesh.LossReason) {
	span.AddEvent("turn lost", trace.WithAttributes(telemetry.KeyReason.String(string(why))))
}

// tell calls an observer, whose context ends after a tenth of a lease. One that takes
// longer is left behind, and a panic of it harms nothing.
func (h *hold) tell(ctx context.Context, call func(context.Context)) {
	bound := h.d.cfg.Lease / 10
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	told := make(chan struct{})
	go func() {
		defer close(told)
		defer func() {
			if p := recover(); p != nil {
				h.d.log.ErrorContext(ctx, "an observer panicked", "chat", h.chat, "err", firstLine(panicked(p)))
			}
		}()
		call(ctx)
	}()
	grace := time.NewTimer(bound)
	defer grace.Stop()
	select {
	case <-told:
	case <-grace.C:
		h.d.log.ErrorContext(ctx, "an observer takes too long, it is left behind", "chat", h.chat)
	}
}
