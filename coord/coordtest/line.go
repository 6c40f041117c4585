package coordtest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
)

// SPEC: T1 T9. One holder at a time, whatever the crowd, and each later fence
// is higher.
func testExclusion(t *testing.T, f Fleet) {
	const replicas, takers, rounds = 4, 4, 10
	var holders atomic.Int32
	var mu sync.Mutex
	var fences []uint64
	var crowd sync.WaitGroup
	for range replicas {
		c := f.Join(t, coord.Config{})
		for range takers {
			crowd.Go(func() {
				for range rounds {
					turn, err := c.Take(t.Context(), coord.Request{Key: "k"})
					if err != nil {
						t.Error(err)
						return
					}
					if n := holders.Add(1); n != 1 {
						t.Errorf("%d hold the turn", n)
					}
					mu.Lock()
					fences = append(fences, turn.Fence())
					mu.Unlock()
					holders.Add(-1)
					if err := turn.Release(t.Context(), 0); !given(err) {
						t.Error(err)
					}
				}
			})
		}
	}
	crowd.Wait()
	if got, want := len(fences), replicas*takers*rounds; got != want {
		t.Errorf("%d turns, want %d", got, want)
	}
	if !slices.IsSorted(fences) || len(slices.Compact(slices.Clone(fences))) != len(fences) {
		t.Errorf("fences do not grow: %v", fences)
	}
}

// SPEC: T1. The lowest place is next, whoever holds it and whenever it came.
func testOrderByPlace(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 10})
	waits := map[uint64]<-chan outcome{}
	for _, w := range []struct {
		c     coord.Coordinator
		place uint64
	}{{b, 30}, {c, 20}, {a, 25}, {b, 5}} {
		waits[w.place] = queue(t.Context(), t, w.c, coord.Request{Key: "k", Place: w.place})
	}
	for _, place := range []uint64{5, 20, 25, 30} {
		release(t, turn, 0)
		turn = granted(t, waits[place])
	}
	release(t, turn, 0)
}

// SPEC: T1 T11. Without places the order is that of arrival, behind all that wait.
func testOrderByArrival(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k"})
	placed := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 7})
	var plain []<-chan outcome
	for i := range 6 {
		plain = append(plain, queue(t.Context(), t, []coord.Coordinator{a, b}[i%2], coord.Request{Key: "k"}))
	}
	release(t, turn, 0)
	turn = granted(t, placed)
	for _, w := range plain {
		release(t, turn, 0)
		turn = granted(t, w)
	}
	release(t, turn, 0)
}

// A second ticket of the same incarnation waits for the first one's turn.
func testSameIncarnationTwice(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{})
	first := take(t, a, coord.Request{Key: "k"})
	second := queue(t.Context(), t, a, coord.Request{Key: "k"})
	other := take(t, a, coord.Request{Key: "other"})
	if first.Context().Err() != nil || other.Context().Err() != nil {
		t.Error("a waiting ticket ended a turn")
	}
	release(t, first, 0)
	got := granted(t, second)
	if got.Fence() <= first.Fence() {
		t.Errorf("got fence %d, want more than %d", got.Fence(), first.Fence())
	}
	if p := got.Previous(); p.Incarnation != a.Incarnation() || !p.Released {
		t.Errorf("got previous %+v, want this incarnation, released", p)
	}
}

// Waiting is called only by a Take that waits. (That it is called once, every
// queued Take of the suite shows: it closes a channel.)
func testWaitingIsTold(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Waiting: func() { t.Error("an immediate grant was told to wait") }})
	waits := queue(t.Context(), t, b, coord.Request{Key: "k"})
	<-time.After(f.Lease / 2) // outlast a look of the waiter
	release(t, turn, 0)
	granted(t, waits)
}

// DESIGN N4. The holder learns who waits and how far the journal is known to go.
func testWaitingCounts(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 10})
	if got, want := turn.Waiting(), (coord.Waiting{Highest: 10}); got != want {
		t.Errorf("got waiting %+v at the grant, want %+v", got, want)
	}
	next := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 12})
	last := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 15})
	eventually(t, "a renewal tells of both tickets", func() bool {
		return turn.Waiting() == coord.Waiting{Tickets: 2, Highest: 15}
	})
	release(t, turn, 0)
	turn = granted(t, next)
	if got, want := turn.Waiting(), (coord.Waiting{Tickets: 1, Highest: 15}); got != want {
		t.Errorf("got waiting %+v at the second grant, want %+v", got, want)
	}
	release(t, turn, 0)
	turn = granted(t, last)
	for _, when := range []string{"at the last grant", "after a renewal"} {
		if got, want := turn.Waiting(), (coord.Waiting{Highest: 15}); got != want {
			t.Errorf("got waiting %+v %s, want %+v", got, when, want)
		}
		<-time.After(f.Lease / 2)
	}
}

// SPEC: T10. A release wakes the next within milliseconds, not at its next look.
func testReleaseWakes(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	var took []time.Duration
	for range 15 {
		turn := take(t, a, coord.Request{Key: "k"})
		waits := queue(t.Context(), t, b, coord.Request{Key: "k"})
		began := time.Now()
		release(t, turn, 0)
		turn = granted(t, waits)
		took = append(took, time.Since(began))
		release(t, turn, 0)
	}
	slices.Sort(took)
	if got, want := took[len(took)/2], 50*time.Millisecond; got > want {
		t.Errorf("woken after %s (median), want at most %s", got, want)
	}
}
