package workerd

import (
	"context"
	"time"

	"github.com/botmesh-go/botmesh/telemetry"
)

// countEvery is how often it is counted what waits and what was set aside.
const countEvery = 15 * time.Second

// count tells until ctx ends how many dead letters and held parts there are and chats are
// paused, and how old the oldest dead letter, held part and record that waits is. While
// nobody answers it tells what it knew.
func count(ctx context.Context, w waiting) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		if n, oldest, err := w.journal.DeadCount(ctx); err == nil {
			telemetry.DeadDepth.Record(ctx, int64(n))
			telemetry.DeadAge.Record(ctx, age(oldest))
		}
		if n, oldest, err := w.journal.HeldCount(ctx); err == nil {
			telemetry.HeldParts.Record(ctx, int64(n))
			telemetry.HeldAge.Record(ctx, age(oldest))
		}
		telemetry.ChatsPaused.Record(ctx, int64(len(w.pauses.Paused())))
		if oldest, err := w.oldest(ctx); err == nil {
			telemetry.WaitingAge.Record(ctx, age(oldest))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// age is the whole seconds since a time of the servers, 0 of none.
func age(since time.Time) int64 {
	if since.IsZero() {
		return 0
	}
	return int64(max(0, time.Since(since)).Seconds())
}
