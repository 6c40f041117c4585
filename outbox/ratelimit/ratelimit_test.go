package ratelimit_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/provider"
)

func demand(chat string, every time.Duration, burst int, account provider.Rate) outbox.Demand {
	return outbox.Demand{Account: "test", Limits: provider.Limits{
		Address: chat, Chat: provider.Rate{Every: every, Burst: burst}, Account: account,
	}}
}

func local(t *testing.T, cfg ratelimit.Config) *ratelimit.Local {
	t.Helper()
	l, err := ratelimit.NewLocal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shared(t *testing.T, client redis.Scripter, cfg ratelimit.Config) *ratelimit.Shared {
	t.Helper()
	s, err := ratelimit.NewShared(ratelimit.SharedConfig{Config: cfg, Client: client, Prefix: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// both runs a test on either limiter. The times in it are minutes, so that none
// passes by itself.
func both(t *testing.T, f func(t *testing.T, l outbox.Limiter)) {
	t.Run("local", func(t *testing.T) { t.Parallel(); f(t, local(t, ratelimit.Config{})) })
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		f(t, shared(t, redistest.Start(t).Client(t), ratelimit.Config{}))
	})
}

// about reports whether a pause is what it should be, but for the test's own time.
func about(got, want time.Duration) bool { return got <= want && got > want-time.Minute }

// Nobody knows what was sent before: one token is there, and no burst.
//
// SPEC: O5. DESIGN: D6
func TestAnUnknownBucketHoldsOneToken(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, l outbox.Limiter) {
		d := demand("a", time.Hour, 5, provider.Rate{})
		if got := l.Allow(t.Context(), d); got != 0 {
			t.Errorf("the first call: got a pause of %v, want none", got)
		}
		if got := l.Allow(t.Context(), d); !about(got, time.Hour) {
			t.Errorf("the second call: got a pause of %v, want an hour", got)
		}
		if got := l.Allow(t.Context(), demand("b", time.Hour, 5, provider.Rate{})); got != 0 {
			t.Errorf("another chat: got a pause of %v, want none", got)
		}
	})
}

// Of many chats that wait for one account each is told another time, as fast as
// the account allows, and nobody who comes anew takes the place of one of them.
//
// SPEC: O4 O5
func TestThoseWhoWaitComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, l outbox.Limiter) {
		account := provider.Rate{Every: time.Hour, Burst: 2}
		if got := l.Allow(t.Context(), demand("a", 0, 0, account)); got != 0 {
			t.Fatalf("got a pause of %v, want none", got)
		}
		for i, chat := range []string{"b", "c", "d"} {
			want := time.Duration(i+1) * time.Hour
			if got := l.Allow(t.Context(), demand(chat, 0, 0, account)); !about(got, want) {
				t.Errorf("chat %s: got a pause of %v, want %v", chat, got, want)
			}
		}
		back := demand("b", 0, 0, account)
		back.Waited = true
		if got := l.Allow(t.Context(), back); !about(got, time.Hour) {
			t.Errorf("who comes back too early: got a pause of %v, want an hour", got)
		}
	})
}

// A chat that is told to wait delays no other; two of them are the account's.
//
// SPEC: O4 O5
func TestStop(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, l outbox.Limiter) {
		a, b, c := demand("a", time.Millisecond, 9, provider.Rate{}), demand("b", time.Millisecond, 9, provider.Rate{}), demand("c", time.Millisecond, 9, provider.Rate{})
		l.Stop(t.Context(), a, false, time.Hour)
		if got := l.Allow(t.Context(), a); !about(got, time.Hour) {
			t.Errorf("the chat: got a pause of %v, want an hour", got)
		}
		if got := l.Allow(t.Context(), b); got != 0 {
			t.Errorf("another chat: got a pause of %v, want none", got)
		}
		l.Stop(t.Context(), b, false, 2*time.Hour)
		if got := l.Allow(t.Context(), c); !about(got, 2*time.Hour) {
			t.Errorf("after two: got a pause of %v, want two hours", got)
		}
	})
}

func TestStopOfAnAccount(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, l outbox.Limiter) {
		a, other := demand("a", time.Millisecond, 9, provider.Rate{}), demand("a", time.Millisecond, 9, provider.Rate{})
		other.Account = "other"
		l.Stop(t.Context(), a, true, time.Hour)
		if got := l.Allow(t.Context(), demand("b", time.Millisecond, 9, provider.Rate{})); !about(got, time.Hour) {
			t.Errorf("got a pause of %v, want an hour", got)
		}
		if got := l.Allow(t.Context(), other); got != 0 {
			t.Errorf("another account: got a pause of %v, want none", got)
		}
	})
}

// All replicas take from the same buckets, whatever the account.
//
// SPEC: O5
func TestReplicasShareTheBuckets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cfg := ratelimit.Config{All: provider.Rate{Every: time.Hour, Burst: 1}}
	one, two := shared(t, server.Client(t), cfg), shared(t, server.Client(t), cfg)
	if got := one.Allow(t.Context(), outbox.Demand{Account: "a"}); got != 0 {
		t.Errorf("the first call: got a pause of %v, want none", got)
	}
	if got := two.Allow(t.Context(), outbox.Demand{Account: "b"}); !about(got, time.Hour) {
		t.Errorf("the second call, at another: got a pause of %v, want an hour", got)
	}
}

// The settings replace what a platform publishes.
func TestOverride(t *testing.T) {
	t.Parallel()
	l := local(t, ratelimit.Config{Override: map[string]ratelimit.Override{"test": {Chat: &provider.Rate{}}}})
	for range 3 {
		if got := l.Allow(t.Context(), demand("a", time.Hour, 1, provider.Rate{})); got != 0 {
			t.Errorf("got a pause of %v, want none", got)
		}
	}
	for name, cfg := range map[string]ratelimit.Config{
		"all":     {All: provider.Rate{Every: time.Second}},
		"chat":    {Override: map[string]ratelimit.Override{"x": {Chat: &provider.Rate{Every: -1}}}},
		"account": {Override: map[string]ratelimit.Override{"x": {Account: &provider.Rate{Every: 1, Burst: -1}}}},
	} {
		if _, err := ratelimit.NewLocal(cfg); err == nil {
			t.Errorf("%s: got no error for a rate without a burst", name)
		}
	}
	if _, err := ratelimit.NewShared(ratelimit.SharedConfig{}); err == nil || !strings.Contains(err.Error(), "Client") || !strings.Contains(err.Error(), "Prefix") {
		t.Errorf("got %v, want all that is missing", err)
	}
}

// While Redis is away each replica keeps the limits by itself, and loses no time.
//
// SPEC: O5 T14. DESIGN: D6
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := shared(t, server.Client(t), ratelimit.Config{})
	server.Kill()
	d := demand("a", time.Hour, 5, provider.Rate{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if got := s.Allow(ctx, d); got != 0 {
		t.Errorf("the first call: got a pause of %v, want none", got)
	}
	if got := s.Allow(ctx, d); !about(got, time.Hour) {
		t.Errorf("the second call: got a pause of %v, want an hour", got)
	}
}

// A chat that was idle for long has its burst, though its key is gone.
func TestAnIdleChatIsFull(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(t)
	s := shared(t, client, ratelimit.Config{})
	if got := s.Allow(t.Context(), demand("a", time.Millisecond, 1, provider.Rate{})); got != 0 {
		t.Fatalf("got a pause of %v, want none", got)
	}
	const counts = "p:limits:{calls}" // since an hour ago
	if err := client.HSet(t.Context(), counts, "since", time.Now().Add(-time.Hour).UnixMicro()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := s.Allow(t.Context(), demand("b", 10*time.Minute, 3, provider.Rate{})); got != 0 {
			t.Errorf("got a pause of %v, want none", got)
		}
	}
	if got := s.Allow(t.Context(), demand("b", 10*time.Minute, 3, provider.Rate{})); !about(got, 10*time.Minute) {
		t.Errorf("got a pause of %v, want ten minutes", got)
	}
	if ttl := client.TTL(t.Context(), counts+":test.b").Val(); ttl < 29*time.Minute || ttl > 31*time.Minute {
		t.Errorf("got a life of %v of the chat's key, want until it is full", ttl)
	}
}

// However many ask, no window of time sees more calls than the limit and the burst,
// and all come to their call.
//
// SPEC: O5
func TestNoWindowSeesMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := local(t, ratelimit.Config{})
		rate := provider.Rate{Every: 100 * time.Millisecond, Burst: 3}
		const chats = 200
		calls := make(chan time.Time, chats)
		for i := range chats {
			go func() {
				d := demand(string(rune('a'+i)), 0, 0, rate)
				for {
					pause := l.Allow(t.Context(), d)
					if pause == 0 {
						calls <- time.Now()
						return
					}
					<-time.After(pause)
					d.Waited = true
				}
			}()
		}
		var at []time.Time
		began := time.Now()
		for range chats {
			at = append(at, <-calls)
		}
		for i := range at {
			for j := i; j < len(at); j++ {
				if n, most := j-i+1, rate.Burst+int(at[j].Sub(at[i])/rate.Every)+1; n > most {
					t.Fatalf("got %d calls in %v, want at most %d", n, at[j].Sub(at[i]), most)
				}
			}
		}
		if took, want := time.Since(began), chats*rate.Every*11/10; took > want {
			t.Errorf("got all calls after %v, want within %v", took, want)
		}
	})
}
