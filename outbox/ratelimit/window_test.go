package ratelimit_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/provider"
)

// allowed is a call that was allowed at some moment between two others.
type allowed struct{ asked, answered time.Time }

// Replicas with a connection of their own each, whose chats all ask at once, are
// allowed in no window of time more than the limit and its burst of an account, nor of
// one chat that all of them have.
//
// SPEC: O5. DESIGN: D6
func TestNoWindowOfTwoReplicasSeesMore(t *testing.T) {
	t.Parallel()
	rate := provider.Rate{Every: 20 * time.Millisecond, Burst: 4}
	for name, limits := range map[string]provider.Limits{"account": {Account: rate}, "chat": {Address: "group", Chat: rate}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := contend(t, limits)
			slices.SortFunc(calls, func(a, b allowed) int { return a.answered.Compare(b.answered) })
			for j := range calls {
				from := calls[j].asked
				for i := j; i >= 0; i-- {
					if calls[i].asked.Before(from) {
						from = calls[i].asked
					}
					window := calls[j].answered.Sub(from) // all of i to j were allowed within it
					if n, most := j-i+1, rate.Burst+int(window/rate.Every)+1; n > most {
						t.Fatalf("got %d calls in %v, want at most %d", n, window, most)
					}
				}
			}
		})
	}
}

// contend has two replicas ask for 60 calls each, of six chats at a time.
func contend(t *testing.T, limits provider.Limits) (calls []allowed) {
	server := redistest.Start(t)
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for range 2 {
		l := shared(t, server.Client(t), ratelimit.Config{})
		for c := range 6 {
			d := outbox.Demand{Account: "test", Limits: limits}
			d.Limits.Address = cmp.Or(limits.Address, string(rune('a'+c)))
			group.Go(func() {
				for range 10 {
					d.Waited = false
					asked := time.Now()
					for pause := l.Allow(t.Context(), d); pause > 0; pause = l.Allow(t.Context(), d) {
						<-time.After(pause)
						d.Waited, asked = true, time.Now()
					}
					mu.Lock()
					calls = append(calls, allowed{asked, time.Now()})
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	return calls
}
