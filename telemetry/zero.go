package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Zero makes the counters of what should not happen to a worker known from the
// start, at 0 and for each of the attributes that they are counted under: an alert
// on an increase misses the first one of a series that it brings into being.
// Providers are those that the worker sends to.
func Zero(ctx context.Context, providers ...string) {
	for _, c := range []metric.Int64Counter{TurnRetries, BlindTurns, Deaths, DuplicatesIn, OutboxSurplus} {
		c.Add(ctx, 0)
	}
	zero := func(c metric.Int64Counter, key attribute.Key, values ...string) {
		for _, v := range values {
			c.Add(ctx, 0, metric.WithAttributes(key.String(v)))
		}
	}
	zero(Handovers, KeyOutcome, "resumed", "forwarded", "notified", "restarted", "custom", "dropped")
	zero(LeasesLost, KeyReason, "expired", "stalled", "superseded", "settled", "unavailable")
	zero(Conflicts, KeyReason, "superseded", "lease_lost")
	zero(DeadLetters, KeyKind, "record", "send")
	zero(InDoubt, KeyProvider, providers...)
	for _, p := range providers {
		for _, outcome := range []string{"open", "closed"} {
			Breakers.Add(ctx, 0, metric.WithAttributes(KeyProvider.String(p), KeyOutcome.String(outcome)))
		}
	}
}
