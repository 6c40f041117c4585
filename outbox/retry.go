package outbox

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// sleep waits for d. It fails with the context's cause if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newPause returns the wait between two tries of a call to the stream, from 10 ms
// up to a second.
func (o *Outbox) newPause() func(ctx context.Context) {
	var b *backoff.ExponentialBackOff
	return func(ctx context.Context) {
		if b == nil {
			b = backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(10*time.Millisecond),
				backoff.WithMultiplier(2),
				backoff.WithRandomizationFactor(o.random),
				backoff.WithMaxInterval(time.Second),
				backoff.WithMaxElapsedTime(0),
			)
		}
		_ = sleep(ctx, b.NextBackOff())
	}
}

// retryAfter is the pause after a part's n-th failed call, counted from zero.
func (o *Outbox) retryAfter(n int) time.Duration {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(o.cfg.RetryFirst),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(o.random),
		backoff.WithMaxInterval(o.cfg.RetryMax),
		backoff.WithMaxElapsedTime(0),
	)
	d := b.NextBackOff()
	for range min(n, 32) { // by then RetryMax is long reached
		d = b.NextBackOff()
	}
	return d
}
