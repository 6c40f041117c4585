package coordtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// SPEC: T12. A release ends the context with its reason; a second one has
// nothing to give up.
func testRelease(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k"})
	if got := turn.Key(); got != "k" {
		t.Errorf("got key %q, want k", got)
	}
	if err := turn.Context().Err(); err != nil {
		t.Errorf("a fresh turn has ended: %v", err)
	}
	release(t, turn, 0)
	if got := turn.Context().Err(); !errors.Is(got, context.Canceled) {
		t.Errorf("got %v from a released turn's context, want canceled", got)
	}
	if got := lost(t, turn); got != botmesh.LossReleased {
		t.Errorf("got reason %s, want released", got)
	}
	if got := reason(t, turn.Release(t.Context(), 0)); got != botmesh.LossReleased {
		t.Errorf("a second release: got reason %s, want released", got)
	}
	if !errors.Is(context.Cause(turn.Context()), botmesh.ErrLeaseLost) {
		t.Error("the cause does not match ErrLeaseLost")
	}
}

// SPEC: T6. A turn outlives its lease while its replica renews it.
func testRenewal(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k"})
	waits := queue(t.Context(), t, b, coord.Request{Key: "k"})
	select {
	case <-time.After(3 * f.Lease / 2):
	case got := <-waits:
		t.Fatalf("granted beside a renewed turn: %+v", got)
	case <-turn.Context().Done():
		t.Fatalf("a renewed turn ended: %v", context.Cause(turn.Context()))
	}
	release(t, turn, 0)
	granted(t, waits)
}

// SPEC: T9. A turn says who held the key before, and how far it came.
func testPrevious(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 5})
	if got := turn.Previous(); got != (coord.Previous{}) {
		t.Errorf("got previous %+v of a new key, want none", got)
	}
	release(t, turn, 9)
	turn = take(t, b, coord.Request{Key: "k", Place: 10})
	if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true, Passed: 9}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	waits := queue(t.Context(), t, a, coord.Request{Key: "k", Place: 11})
	release(t, turn, 0)
	turn = granted(t, waits)
	if got, want := turn.Previous(), (coord.Previous{Incarnation: b.Incarnation(), Released: true, Passed: 9}); got != want {
		t.Errorf("got previous %+v after a push, want %+v", got, want)
	}
	release(t, turn, 0)
	f.Evict(t, "k")
	if got := take(t, b, coord.Request{Key: "k"}).Previous(); got != (coord.Previous{}) {
		t.Errorf("got previous %+v after an eviction, want none", got)
	}
}

// SPEC: T9 T15. HOLE H25. Fences grow: past the caller's floor, over an eviction
// and over the loss of everything.
func testFence(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{})
	last := uint64(0)
	grown := func(what string, floor uint64) {
		t.Helper()
		turn := take(t, a, coord.Request{Key: "k", Floor: floor})
		if got, want := turn.Fence(), max(last, floor); got <= want {
			t.Errorf("%s: got fence %d, want more than %d", what, got, want)
		}
		last = turn.Fence()
		release(t, turn, 0)
	}
	grown("new key", 0)
	grown("next", 0)
	grown("above a floor", last+1_000_000_000)
	grown("below a floor", 3)
	waits := take(t, a, coord.Request{Key: "k"})
	pushed := queue(t.Context(), t, a, coord.Request{Key: "k", Floor: waits.Fence() + 1_000_000_000})
	release(t, waits, 0)
	turn := granted(t, pushed)
	if got, want := turn.Fence(), waits.Fence()+1_000_000_000; got <= want {
		t.Errorf("pushed above a floor: got fence %d, want more than %d", got, want)
	}
	release(t, turn, 0)

	turn = take(t, a, coord.Request{Key: "fresh"})
	last = turn.Fence()
	release(t, turn, 0)
	f.Evict(t, "fresh")
	turn = take(t, a, coord.Request{Key: "fresh"})
	if turn.Fence() <= last {
		t.Errorf("after an eviction: got fence %d, want more than %d", turn.Fence(), last)
	}
	last = turn.Fence()
	release(t, turn, 0)
	f.Forget(t)
	if turn = take(t, a, coord.Request{Key: "fresh"}); turn.Fence() <= last {
		t.Errorf("after the loss of everything: got fence %d, want more than %d", turn.Fence(), last)
	}
}

// DESIGN N4. Tickets at or below what a release passed are dropped without a
// grant, the next above it gets the turn.
func testPassed(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 10})
	below := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 11})
	equal := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 12})
	above := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 13})
	release(t, turn, 12)
	for _, w := range []<-chan outcome{below, equal} {
		var passed *coord.PassedError
		if got := await(t, w); !errors.As(got.err, &passed) || passed.Key != "k" || passed.Passed != 12 {
			t.Errorf("got %+v, want passed 12", got)
		}
	}
	turn = granted(t, above)
	if got, want := turn.Waiting(), (coord.Waiting{Highest: 13}); got != want {
		t.Errorf("got waiting %+v, want %+v", got, want)
	}
	release(t, turn, 13)

	// What was passed is past: a later ticket at the same place is a new one.
	release(t, take(t, a, coord.Request{Key: "k", Place: 11}), 0)
}

// A ticket without a place is not passed.
func testPassedNotByArrival(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 10})
	plain := queue(t.Context(), t, b, coord.Request{Key: "k"})
	release(t, turn, 100)
	release(t, granted(t, plain), 0)
}

// What can not be asked for is refused before anything happens.
func testBadRequest(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{})
	for _, r := range []coord.Request{{}, {Key: "k", Place: 1 << 53}, {Key: "k", Floor: 1 << 53}} {
		if _, err := a.Take(t.Context(), r); err == nil {
			t.Errorf("%+v was taken", r)
		}
	}
}
