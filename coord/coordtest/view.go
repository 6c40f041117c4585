package coordtest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// viewer is the coordinator as a viewer, if it is one.
func viewer(t testing.TB, c coord.Coordinator) coord.Viewer {
	t.Helper()
	v, ok := c.(coord.Viewer)
	if !ok {
		t.Skip("not a Viewer")
	}
	return v
}

// inspect looks at a key that must be known.
func inspect(t testing.TB, c coord.Coordinator, kind coord.Kind, key string) coord.View {
	t.Helper()
	v, err := answered(t, func() (coord.View, error) { return viewer(t, c).Inspect(t.Context(), kind, key) })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// times are the fields that the moment decides.
var times = cmpopts.IgnoreFields(coord.View{}, "Since", "Left")

// What is held, waited for and dead is shown as it is, by any replica.
func testInspect(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	unknown := func() error { _, err := viewer(t, a).Inspect(t.Context(), coord.KindTurn, "k"); return err }
	if err := told(t, unknown); !errors.Is(err, botmesh.ErrNotFound) {
		t.Errorf("got %v of a new key, want ErrNotFound", err)
	}
	const tick = 100 * time.Millisecond // what clocks may differ
	began := time.Now().Add(-tick)
	first := take(t, a, coord.Request{Key: "k", Place: 3})
	want := coord.View{Kind: coord.KindTurn, Key: "k", Fence: first.Fence(), Holder: a.Incarnation()}
	got := inspect(t, b, coord.KindTurn, "k")
	if diff := cmp.Diff(want, got, times); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if got.Since.Before(began) || got.Since.After(time.Now().Add(tick)) || got.Left <= 0 || got.Left > f.Lease {
		t.Errorf("got a turn since %s with %s left, want since %s with at most %s", got.Since, got.Left, began, f.Lease)
	}
	release(t, first, 3)
	second := take(t, b, coord.Request{Key: "k", Place: 4})
	queue(t.Context(), t, b, coord.Request{Key: "k", Place: 9})
	queue(t.Context(), t, c, coord.Request{Key: "k", Place: 7})
	want = coord.View{
		Kind: coord.KindTurn, Key: "k", Fence: second.Fence(), Holder: b.Incarnation(),
		Waiting:  []coord.Ticket{{Incarnation: c.Incarnation(), Place: 7}, {Incarnation: b.Incarnation(), Place: 9}},
		Previous: coord.Previous{Incarnation: a.Incarnation(), Released: true, Passed: 3},
	}
	if diff := cmp.Diff(want, inspect(t, a, coord.KindTurn, "k"), times); diff != "" {
		t.Errorf("waited for (-want +got):\n%s", diff)
	}
	f.Crash(b)
	eventually(t, "the death is seen", func() bool {
		v := inspect(t, a, coord.KindTurn, "k")
		return v.Deaths == 1 && v.Holder == c.Incarnation() && len(v.Waiting) == 0
	})
	if got, want := inspect(t, a, coord.KindTurn, "k").Previous, (coord.Previous{Incarnation: b.Incarnation(), Passed: 3}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// Deaths in a row are counted, and forgiven by a holder that releases.
func testDeaths(t *testing.T, f Fleet) {
	last := f.Join(t, coord.Config{})
	for deaths := range 3 {
		c := f.Join(t, coord.Config{})
		take(t, c, coord.Request{Key: "k"})
		if got := inspect(t, last, coord.KindTurn, "k").Deaths; got != deaths {
			t.Errorf("got %d deaths, want %d", got, deaths)
		}
		f.Crash(c)
	}
	turn := take(t, last, coord.Request{Key: "k"})
	if got := inspect(t, last, coord.KindTurn, "k").Deaths; got != 3 {
		t.Errorf("got %d deaths, want 3", got)
	}
	release(t, turn, 0)
	if got := inspect(t, last, coord.KindTurn, "k"); got.Deaths != 0 || !got.Idle() {
		t.Errorf("got %+v after a release, want no deaths", got)
	}
}

// List shows what is going on, each kind for itself, and no idle key.
func testList(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	release(t, take(t, a, coord.Request{Key: "idle"}), 0)
	take(t, a, coord.Request{Key: "held"})
	take(t, a, coord.Request{Key: "a}:{b:turn"})
	lead(t, a, "job")
	lock(t, a, "section", long)
	freed := lock(t, a, "freed", long)
	if err := unlock(t, a, "freed", freed.Token); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[coord.Kind][]string{
		coord.KindTurn: {"a}:{b:turn", "held"}, coord.KindLead: {"job"}, coord.KindLock: {"section"},
	} {
		var got []string
		for v, err := range viewer(t, b).List(t.Context(), kind) {
			if err != nil {
				t.Fatal(err)
			}
			if v.Kind != kind || v.Holder != a.Incarnation() {
				t.Errorf("got %+v, want a %s of %s", v, kind, a.Incarnation())
			}
			got = append(got, v.Key)
		}
		if diff := cmp.Diff(want, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	shown := 0
	for range viewer(t, b).List(t.Context(), coord.KindTurn) {
		shown++
		break
	}
	if shown != 1 {
		t.Errorf("%d shown to one who wants one", shown)
	}
}

// What has ended is shown with its fence and who had it, and not listed; of a holder
// that died it is said, and listed, until another one released. A lock just ends.
func testEnded(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn, leader, held := take(t, a, coord.Request{Key: "k"}), lead(t, a, "k"), lock(t, a, "k", long)
	release(t, turn, 0)
	stepDown(t, leader, 0)
	if err := unlock(t, b, "k", held.Token); err != nil {
		t.Fatal(err)
	}
	before := coord.Previous{Incarnation: a.Incarnation(), Released: true}
	want := []coord.View{
		{Kind: coord.KindTurn, Key: "k", Fence: turn.Fence(), Previous: before},
		{Kind: coord.KindLead, Key: "k", Fence: leader.Fence(), Previous: before},
		{Kind: coord.KindLock, Key: "k", Fence: held.Fence, Previous: before},
	}
	shows(t, b, "released", want...)
	lists(t, b, "released")

	turn, leader, held = take(t, a, coord.Request{Key: "k"}), lead(t, a, "k"), lock(t, a, "k", f.Lease)
	f.Crash(a)
	for i, fence := range []uint64{turn.Fence(), leader.Fence(), held.Fence} {
		want[i].Fence, want[i].Previous.Released = fence, false
	}
	want[0].Deaths, want[1].Deaths = 1, 1
	for _, w := range want {
		eventually(t, "the "+string(w.Kind)+" has run out", func() bool { return inspect(t, b, w.Kind, "k").Holder == "" })
	}
	shows(t, b, "ran out", want...)
	lists(t, b, "ran out", want[:2]...)

	turn, leader, held = take(t, b, coord.Request{Key: "k"}), lead(t, b, "k"), lock(t, b, "k", long)
	for i, fence := range []uint64{turn.Fence(), leader.Fence(), held.Fence} {
		want[i].Fence, want[i].Holder = fence, b.Incarnation()
	}
	shows(t, b, "taken again", want...)
	lists(t, b, "taken again", want...)
}

// shows compares what is shown of keys.
func shows(t testing.TB, c coord.Coordinator, when string, want ...coord.View) {
	t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(w, inspect(t, c, w.Kind, w.Key), times); diff != "" {
			t.Errorf("a %s that %s (-want +got):\n%s", w.Kind, when, diff)
		}
	}
}

// lists compares what is listed, of all kinds.
func lists(t testing.TB, c coord.Coordinator, when string, want ...coord.View) {
	t.Helper()
	var got []coord.View
	for _, kind := range []coord.Kind{coord.KindTurn, coord.KindLead, coord.KindLock} {
		for v, err := range viewer(t, c).List(t.Context(), kind) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
	}
	if diff := cmp.Diff(want, got, times); diff != "" {
		t.Errorf("listed when it was %s (-want +got):\n%s", when, diff)
	}
}

// An operator takes away what is held: the next in line has it at once, whoever held it
// finds out soon, and what is held under another fence is left alone.
func testBreak(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	breaker, ok := c.(coord.Breaker)
	if !ok {
		t.Skip("not a Breaker")
	}
	breaks := func(kind coord.Kind, fence uint64) {
		t.Helper()
		if err := told(t, func() error { return breaker.Break(t.Context(), kind, "k", fence) }); err != nil {
			t.Errorf("breaking the %s: got %v, want no error", kind, err)
		}
	}
	first, leader, held := take(t, a, coord.Request{Key: "k"}), lead(t, a, "k"), lock(t, a, "k", long)
	next := queue(t.Context(), t, b, coord.Request{Key: "k"})
	breaks(coord.KindTurn, first.Fence()-1)
	if v := inspect(t, c, coord.KindTurn, "k"); v.Holder != a.Incarnation() {
		t.Errorf("after the break of another fence: got holder %q, want %s", v.Holder, a.Incarnation())
	}
	breaks(coord.KindTurn, first.Fence())
	second := <-next
	if second.err != nil || second.turn.Fence() <= first.Fence() || second.turn.Previous().Released {
		t.Fatalf("got %+v, want the turn, under a higher fence than %d, of one that did not release", second, first.Fence())
	}
	breaks(coord.KindTurn, first.Fence()) // again: that turn is over
	if why := lost(t, first); why != botmesh.LossSuperseded {
		t.Errorf("got %s for who held it, want superseded", why)
	}
	if err := second.turn.Context().Err(); err != nil {
		t.Errorf("got %v of who holds it, want the turn to go on", err)
	}
	breaks(coord.KindLead, leader.Fence())
	breaks(coord.KindLock, held.Fence)
	lead(t, b, "k")
	lock(t, b, "k", long)
	<-leader.Context().Done()
	if why := reason(t, renew(t, a, "k", held.Token, long)); why != botmesh.LossSuperseded {
		t.Errorf("got %s for the lock that was broken, want superseded", why)
	}
}
