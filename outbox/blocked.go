package outbox

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/metric"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/telemetry"
)

// refused reports whether p is not even to be called: the platform said of an earlier
// part that it takes nothing for the chat, and the user has done nothing since. Whoever
// writes to the bot has let it in again, and all that is said after that is called.
func (p part) refused() bool {
	return p.Blocked != "" && p.letter.Heard != "" && p.letter.Heard == p.Heard
}

// after reports whether one Heard is of a later record than another, of the same journal.
func after(one, other string) bool {
	epoch, seq, _ := cutLast(one, ".")
	otherEpoch, otherSeq, _ := cutLast(other, ".")
	n, err := strconv.ParseUint(seq, 10, 64)
	m, otherErr := strconv.ParseUint(otherSeq, 10, 64)
	return epoch == otherEpoch && err == nil && otherErr == nil && n > m
}

// refuse settles a part without a call. It is no dead letter, and the bot is not told:
// it was, of the part that the platform refused. A crash before the receipt repeats it.
func (d *Delivery) refuse(ctx context.Context, p part) entry {
	telemetry.Deliveries.Add(ctx, 1, metric.WithAttributes(telemetry.KeyProvider.String(d.c.chat.Provider), telemetry.KeyOutcome.String("blocked")))
	d.o.cfg.Logger.InfoContext(ctx, "part not sent, the chat is blocked", "chat", d.c.chat, "part", p.of().ID)
	e := d.settled(p, botmesh.Receipt{Result: botmesh.ResultPermanent, InDoubt: p.Doubt > 0, Error: "not called since: " + p.Blocked})
	e.Receipt.Attempts = p.Tries
	return e
}
