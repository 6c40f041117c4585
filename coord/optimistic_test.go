package coord_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// moody is a coordinator that is away at times: then no Take is answered.
type moody struct {
	coord.Coordinator
	away atomic.Bool
}

func (m *moody) Denied() error { return nil }

func (m *moody) Away(string) bool { return m.away.Load() }

func (m *moody) AwaySince() (since time.Time) {
	if m.away.Load() {
		since = time.Now()
	}
	return since
}

func (m *moody) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	if m.away.Load() {
		r.Waiting()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return m.Coordinator.Take(ctx, r)
}

// optimists are two replicas that can lose sight of each other.
func optimists(t *testing.T) (a, b *coord.Optimistic, away func(bool)) {
	t.Helper()
	hub := &coord.MemoryHub{}
	var moods []*moody
	join := func() *coord.Optimistic {
		m := &moody{Coordinator: newMemory(t, hub, coord.Config{})}
		moods = append(moods, m)
		o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: m})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := o.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return o
	}
	a, b = join(), join()
	return a, b, func(is bool) {
		for _, m := range moods {
			m.away.Store(is)
		}
	}
}

func takeNow(t *testing.T, c coord.Coordinator, r coord.Request) coord.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	turn, err := c.Take(ctx, r)
	if err != nil {
		t.Fatalf("taking %s: %v", r.Key, err)
	}
	return turn
}

// While the coordinator is away two replicas hold a key, and each in its own process
// only once, in order. Its fences are above those that were given before. When it is
// back there is one holder again, with a higher fence.
//
// SPEC: T9 T11 T14.
func TestOptimistic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, away := optimists(t)
		first := takeNow(t, a, coord.Request{Key: "k", Place: 1, Floor: uint64(time.Now().UnixMicro()) + 7})
		if first.Previous().Blind {
			t.Error("got a blind turn while the coordinator is there")
		}
		away(true)
		one, two := takeNow(t, a, coord.Request{Key: "k", Place: 2, Floor: first.Fence()}), takeNow(t, b, coord.Request{Key: "k", Place: 3})
		for _, turn := range []coord.Turn{one, two} {
			if got, want := turn.Previous(), (coord.Previous{Blind: true}); got != want {
				t.Errorf("previous holder: got %+v, want %+v", got, want)
			}
			if got := turn.Waiting().Tickets; got != 0 {
				t.Errorf("got %d waiting, want none", got)
			}
		}
		if one.Fence() <= first.Fence() || two.Fence() < uint64(time.Now().UnixMicro()) {
			t.Errorf("fences: got %d and %d after %d, want higher, and the clock's at least", one.Fence(), two.Fence(), first.Fence())
		}
		order := make(chan uint64, 2)
		for _, place := range []uint64{9, 5} {
			go func() {
				turn := takeNow(t, a, coord.Request{Key: "k", Place: place})
				order <- place
				turn.Release(t.Context(), 0)
			}()
			synctest.Wait()
		}
		if got := one.Waiting(); got.Tickets != 2 || got.Highest != 9 {
			t.Errorf("waiting: got %+v, want both", got)
		}
		away(false)
		if got := two.Waiting().Tickets; got != 1 {
			t.Errorf("got %d waiting, want whoever asks the coordinator now", got)
		}
		if err := one.Release(t.Context(), 2); err != nil {
			t.Error(err)
		}
		if got := []uint64{<-order, <-order}; got[0] != 5 || got[1] != 9 {
			t.Errorf("got turns %v, want the lower place first", got)
		}
		if err := first.Release(t.Context(), 1); err != nil {
			t.Error(err)
		}
		last := takeNow(t, b, coord.Request{Key: "k", Place: 4, Floor: two.Fence()})
		if last.Previous().Blind || last.Fence() <= two.Fence() {
			t.Errorf("got a turn after %+v with fence %d, want one of the coordinator's above %d", last.Previous(), last.Fence(), two.Fence())
		}
	})
}

// Who waits in line when the coordinator goes away waits no longer, and is told once
// that it waits.
//
// SPEC: T14.
func TestOptimisticInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, away := optimists(t)
		held := takeNow(t, a, coord.Request{Key: "k"})
		began, told := time.Now(), 0
		time.AfterFunc(10*time.Second, func() { away(true) })
		turn, err := b.Take(t.Context(), coord.Request{Key: "k", Waiting: func() { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second || !turn.Previous().Blind {
			t.Errorf("got a turn after %s, after %+v; want a blind one soon after 10s", took, turn.Previous())
		}
		if told != 1 {
			t.Errorf("told to wait %d times, want once", told)
		}
		if a.AwaySince().IsZero() || !a.Away("k") {
			t.Error("got a coordinator that is there, want one that is away")
		}
		if held.Context().Err() != nil {
			t.Error("the turn that was held ended")
		}
	})
}

// A wait ends for the same reasons as ever, and so do bad requests.
//
// SPEC: T5.
func TestOptimisticRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, away := optimists(t)
		for _, is := range []bool{false, true} {
			away(is)
			if _, err := a.Take(t.Context(), coord.Request{}); err == nil {
				t.Error("got a turn without a key")
			}
			key := fmt.Sprint(is)
			takeNow(t, a, coord.Request{Key: key})
			why := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
			defer cancel()
			if _, err := a.Take(ctx, coord.Request{Key: key}); !errors.Is(err, why) {
				t.Errorf("away %t: got %v, want the context's cause", is, err)
			}
			if _, err := a.Take(t.Context(), coord.Request{Key: key}); !errors.Is(err, botmesh.ErrCoordinationUnavailable) {
				t.Errorf("away %t: got %v, want ErrCoordinationUnavailable after TurnWait", is, err)
			}
		}
		if _, err := coord.NewOptimistic(coord.OptimisticConfig{TurnWait: -1}); err == nil {
			t.Error("got a coordinator from a wrong configuration")
		}
	})
}
