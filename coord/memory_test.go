package coord_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMemory(t testing.TB, hub *coord.MemoryHub, cfg coord.Config) *coord.MemoryCoordinator {
	t.Helper()
	c, err := coord.NewMemory(hub, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// SPEC: T6 T16. A crashed replica's turn goes on exactly a lease later.
func TestMemoryCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := &coord.MemoryHub{}
		a, b := newMemory(t, hub, coord.Config{}), newMemory(t, hub, coord.Config{})
		first, err := a.Take(t.Context(), coord.Request{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		crashed := time.Now()
		a.Crash()
		if first.Context().Err() == nil {
			t.Error("the turn of a crashed replica goes on")
		}
		second, err := b.Take(t.Context(), coord.Request{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(crashed), 15*time.Second; got != want {
			t.Errorf("taken over after %s, want %s", got, want)
		}
		if got, want := second.Previous(), (coord.Previous{Incarnation: a.Incarnation()}); got != want {
			t.Errorf("got previous %+v, want %+v", got, want)
		}
		if alive, _ := b.Alive(t.Context(), a.Incarnation()); alive {
			t.Error("the dead is alive")
		}
	})
}

// SPEC: T15 T16. Idle keys are bounded and fences grow over an eviction.
func TestMemoryEviction(t *testing.T) {
	t.Parallel()
	hub := &coord.MemoryHub{MaxIdleKeys: 3}
	c := newMemory(t, hub, coord.Config{})
	take := func(key string) coord.Turn {
		t.Helper()
		turn, err := c.Take(t.Context(), coord.Request{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	held := take("held")
	first := take("k")
	first.Release(t.Context(), 0)
	for i := range 10 {
		take(strconv.Itoa(i)).Release(t.Context(), 0)
	}
	if got, want := hub.Len(), 4; got != want {
		t.Errorf("the hub remembers %d keys, want %d", got, want)
	}
	again := take("k")
	if again.Fence() <= first.Fence() {
		t.Errorf("got fence %d after an eviction, want more than %d", again.Fence(), first.Fence())
	}
	if got := again.Previous(); got != (coord.Previous{}) {
		t.Errorf("got previous %+v after an eviction, want none", got)
	}
	if held.Context().Err() != nil {
		t.Error("a held key was evicted")
	}
}

// SPEC: T9 T12. A hub that forgot grants twice; the old holder finds out within a
// third of a lease, and a waiter goes back in line.
func TestMemoryForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := &coord.MemoryHub{}
		a, b := newMemory(t, hub, coord.Config{}), newMemory(t, hub, coord.Config{})
		old, _ := a.Take(t.Context(), coord.Request{Key: "k"})
		hub.Forget()
		second, err := b.Take(t.Context(), coord.Request{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if second.Fence() <= old.Fence() {
			t.Errorf("got fence %d after forgetting, want more than %d", second.Fence(), old.Fence())
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
		var lost *botmesh.LeaseLostError
		if err := old.Release(t.Context(), 0); !errors.As(err, &lost) || lost.Reason != botmesh.LossSuperseded {
			t.Errorf("got %v, want superseded", err)
		}
	})
}

// SPEC: T9. A turn that comes in the moment in which its Take is given up was not
// used: the next holder's copy of the chat is as current as it was.
func TestMemoryUnusedTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := &coord.MemoryHub{}
		a, b := newMemory(t, hub, coord.Config{}), newMemory(t, hub, coord.Config{})
		turn, err := a.Take(t.Context(), coord.Request{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := b.Take(ctx, coord.Request{Key: "k"})
			done <- err
		}()
		synctest.Wait()
		cancel() // b's Take has this to do when the turn comes
		turn.Release(t.Context(), 0)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want canceled", err)
		}
		turn, err = a.Take(t.Context(), coord.Request{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true}); got != want {
			t.Errorf("got previous %+v, want %+v", got, want)
		}
	})
}
