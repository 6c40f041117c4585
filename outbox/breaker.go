package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/metric"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// An account is taken for down after so many failed calls in a row, to so many
// chats: one chat alone is slowed down by its own retries.
const (
	downCalls = 5
	downChats = 3
)

// breaker stops the calls of an account while they fail: what waits is not tried
// in vain, and no try of it is spent. After a while one call finds out whether the
// account is back.
type breaker struct {
	o  *Outbox
	cb *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu      sync.Mutex
	failing map[botmesh.ChatKey]bool // with the calls since the last good one, up to downChats
	since   time.Time                // when the account went down

	quiet      time.Duration // how long after quietSince no sign is to be given, see Delivery.sign
	quietSince moment
}

func (o *Outbox) newBreaker(account string) *breaker {
	b := &breaker{o: o, failing: map[botmesh.ChatKey]bool{}}
	count := func(outcome string) {
		telemetry.Breakers.Add(context.Background(), 1,
			metric.WithAttributes(telemetry.KeyProvider.String(account), telemetry.KeyOutcome.String(outcome)))
	}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:    account,
		Timeout: o.cfg.Down,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= downCalls && b.chats() >= downChats
		},
		IsExcluded: func(err error) bool {
			after, ok := provider.RetryAfter(err)
			return ok && after > 0 // it is there, and says when to come again
		},
		IsSuccessful: func(err error) bool { return err == nil || provider.IsPermanent(err) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				b.began(o.now().wall)
				count("open")
				o.cfg.Logger.Warn("calls fail, the account is not called for a while", "provider", account, "after", o.cfg.Down)
			case to == gobreaker.StateClosed:
				count("closed")
				o.cfg.Logger.Info("the account is back", "provider", account)
			}
		},
	})
	return b
}

// down reports whether no call is to be made.
func (b *breaker) down() bool { return b.cb.State() == gobreaker.StateOpen }

// allow lets a call to a chat be made, whose outcome heard is to be told. It fails
// with errDown while the account is down, or another call is finding out.
func (b *breaker) allow(chat botmesh.ChatKey) (heard func(error), err error) {
	done, err := b.cb.Allow()
	if err != nil {
		return nil, errDown
	}
	return func(err error) {
		b.note(chat, err)
		done(err)
	}, nil
}

// note counts the chats whose calls fail.
func (b *breaker) note(chat botmesh.ChatKey, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil, provider.IsPermanent(err):
		clear(b.failing)
	case len(b.failing) < downChats:
		b.failing[chat] = true
	}
}

func (b *breaker) chats() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failing)
}

func (b *breaker) began(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = now
}

// pause is how long a part is put off while the account is down: longer the longer
// it is, so that many chats that wait cost little, and short while a call finds out
// whether it is back.
func (b *breaker) pause() time.Duration {
	b.mu.Lock()
	since := b.since
	b.mu.Unlock()
	long := min(b.o.now().wall.Sub(since)/4, b.o.cfg.RetryMax)
	if b.cb.State() == gobreaker.StateHalfOpen {
		long = 0
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(max(b.o.cfg.Down, long)),
		backoff.WithRandomizationFactor(b.o.random),
		backoff.WithMaxElapsedTime(0),
	).NextBackOff()
}
