package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/botmesh-go/botmesh"
)

// Settle repeats a write that may be repeated until its outcome is certain: done
// (nil), never possible, or ctx ended. Once a try's outcome was unknown and none
// was done, so is the whole. A lost connection fails a try at once; a server that
// is silent takes as long as the stream waits for it. The error is that of a publish
// ([Stream]), and the context's cause if that ended it.
func Settle(ctx context.Context, write func(context.Context) error) error {
	var last error
	unknown := false
	try := func() error {
		last = write(ctx)
		unknown = unknown || errors.Is(last, botmesh.ErrUnknown)
		if errors.Is(last, botmesh.ErrUnknown) || errors.Is(last, botmesh.ErrRefused) && !errors.Is(last, botmesh.ErrTooLarge) {
			return last
		}
		return backoff.Permanent(last)
	}
	if err := backoff.Retry(try, backoff.WithContext(patience(), ctx)); err == nil {
		return nil
	}
	if unknown && !errors.Is(last, botmesh.ErrUnknown) {
		last = fmt.Errorf("%w: an earlier try had no answer, the last one: %v", botmesh.ErrUnknown, last)
	}
	if ctx.Err() != nil {
		last = fmt.Errorf("%w (%w)", last, context.Cause(ctx))
	}
	return last
}

// patience waits 10 ms at first and 250 ms at most between tries, without end.
func patience() backoff.BackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(10*time.Millisecond),
		backoff.WithMaxInterval(250*time.Millisecond), backoff.WithMaxElapsedTime(0))
}
