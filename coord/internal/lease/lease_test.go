package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const length = 9 * time.Second

func reason(t *testing.T, err error) botmesh.LossReason {
	t.Helper()
	var lost *botmesh.LeaseLostError
	if !errors.As(err, &lost) {
		t.Fatalf("got %v, want a LeaseLostError", err)
	}
	return lost.Reason
}

// SPEC: T7. An unrenewed lease ends by itself, exactly its length after the
// call that obtained it began.
func TestRunsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from := Now()
		<-time.After(2 * time.Second) // the call took that long
		l := Begin("k", length, from)
		ctx, cancel := context.WithCancel(l.Context())
		defer cancel()
		<-ctx.Done()
		if got := from.Elapsed(); got != length {
			t.Errorf("ended after %s, want %s", got, length)
		}
		if got := reason(t, context.Cause(ctx)); got != botmesh.LossStalled {
			t.Errorf("got reason %s, want stalled", got)
		}
	})
}

// A renewal counts from the moment it was sent; an older one that comes late
// changes nothing.
func TestRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := Now()
		l := Begin("k", length, begin)
		<-time.After(3 * time.Second)
		early := Now()
		<-time.After(3 * time.Second)
		sent := Now()
		<-time.After(time.Second)
		l.Renew(sent)
		l.Renew(early)
		<-l.Context().Done()
		if got, want := begin.Elapsed(), 6*time.Second+length; got != want {
			t.Errorf("ended after %s, want %s", got, want)
		}
		l.Renew(Now())
		if l.Err() == nil {
			t.Error("a renewal revived the lease")
		}
	})
}

// SPEC: T12. A lease that runs out since renewals failed was not lost by this
// process; a renewal that succeeds forgives the failures before it.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Begin("k", length, Now())
		l.Fail()
		<-l.Context().Done()
		if got := reason(t, context.Cause(l.Context())); got != botmesh.LossUnavailable {
			t.Errorf("got reason %s, want unavailable", got)
		}
		l = Begin("k", length, Now())
		<-time.After(time.Second)
		l.Fail()
		l.Renew(Now())
		<-l.Context().Done()
		if got := reason(t, context.Cause(l.Context())); got != botmesh.LossStalled {
			t.Errorf("got reason %s after a renewal, want stalled", got)
		}
	})
}

// HOLE H24. SPEC: T7. Neither a machine that was suspended, whose monotonic
// clock stood still, nor a wall clock that was set back makes a lease longer;
// and who asks is told at once, before any timer runs.
func TestClocks(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]struct {
		mono, wall time.Duration
		ends       bool
	}{
		"both run":        {8 * time.Second, 8 * time.Second, false},
		"both passed":     {9 * time.Second, 9 * time.Second, true},
		"suspended":       {time.Second, time.Hour, true},
		"wall set back":   {10 * time.Second, -time.Hour, true},
		"wall a bit back": {8 * time.Second, 7 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := Instant{mono: time.Minute, wall: time.Unix(1_800_000_000, 0)}
			now := begin
			ask := map[string]func(context.Context) bool{
				"Err": func(ctx context.Context) bool { return ctx.Err() != nil },
				"Done": func(ctx context.Context) bool {
					select {
					case <-ctx.Done():
						return true
					default:
						return false
					}
				},
			}
			for how, ended := range ask {
				now = begin
				l := beginAt("k", time.Hour, begin, func() Instant { return now }) // the timer is far away
				l.length = length
				now = Instant{begin.mono + later.mono, begin.wall.Add(later.wall)}
				if got := ended(l.Context()); got != later.ends {
					t.Errorf("%s: got ended %t, want %t", how, got, later.ends)
				}
				l.End(botmesh.LossReleased)
			}
		})
	}
}

// Of all who end a lease one wins, and its reason stands.
func TestEndOnce(t *testing.T) {
	t.Parallel()
	l := Begin("k", time.Hour, Now())
	var won atomic.Int32
	done := make(chan struct{})
	reasons := []botmesh.LossReason{botmesh.LossExpired, botmesh.LossSuperseded, botmesh.LossReleased}
	for _, r := range reasons {
		go func() {
			if l.End(r) {
				won.Add(1)
			}
			done <- struct{}{}
		}()
	}
	for range reasons {
		<-done
	}
	if got := won.Load(); got != 1 {
		t.Errorf("%d ended the lease, want 1", got)
	}
	first := reason(t, l.Err())
	l.End(botmesh.LossStalled)
	if got := reason(t, context.Cause(l.Context())); got != first {
		t.Errorf("got reason %s, want %s as before", got, first)
	}
	if got := l.Context().Err(); !errors.Is(got, context.Canceled) {
		t.Errorf("got %v, want canceled", got)
	}
}
