package coordtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// slack is how much later than a lease something may be found out on a busy
// machine.
const slack = time.Second

// SPEC: T6 T9. The turn of a dead replica goes on within a lease, and its
// successor knows that it was not released.
func testCrash(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	held := take(t, a, coord.Request{Key: "k", Place: 1})
	waits := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 2})
	began := time.Now()
	f.Crash(a)
	turn := granted(t, waits)
	if got := time.Since(began); got < f.Lease/3 || got > f.Lease+slack {
		t.Errorf("taken over after %s, want about a lease of %s", got, f.Lease)
	}
	if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation()}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if turn.Fence() <= held.Fence() {
		t.Errorf("got fence %d, want more than %d", turn.Fence(), held.Fence())
	}
	if alive, err := b.Alive(t.Context(), a.Incarnation()); err != nil || alive {
		t.Errorf("the dead holder: got alive %t, %v at the take-over, want false", alive, err)
	}
	release(t, turn, 0)
	if p := take(t, b, coord.Request{Key: "k"}).Previous(); !p.Released {
		t.Errorf("got previous %+v after a clean turn, want released", p)
	}
}

// DESIGN N6. A replica that dies just after its turn came by a push is dead to its
// successor: the record that killed it is counted.
func testCrashAfterPush(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k"})
	<-time.After(f.Lease / 7)
	pushed := queue(t.Context(), t, b, coord.Request{Key: "k"})
	<-time.After(2 * f.Lease / 7) // a heartbeat comes after the ticket, and no look of its own
	release(t, turn, 0)
	granted(t, pushed)
	f.Crash(b)
	turn = take(t, c, coord.Request{Key: "k"})
	if got, want := turn.Previous(), (coord.Previous{Incarnation: b.Incarnation()}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if alive, err := c.Alive(t.Context(), b.Incarnation()); err != nil || alive {
		t.Errorf("the dead holder: got alive %t, %v at the take-over, want false", alive, err)
	}
}

// SPEC: T6. Tickets of a dead replica hold up nobody for longer than a lease.
func testCrashInLine(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	dead := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 2})
	waits := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	f.Crash(b)
	began := time.Now()
	release(t, turn, 0)
	turn = granted(t, waits)
	if got := time.Since(began); got > f.Lease+slack {
		t.Errorf("a dead ticket held the line up for %s, want at most %s", got, f.Lease)
	}
	release(t, turn, 0)
	if got := await(t, dead); got.err == nil && got.turn.Context().Err() == nil {
		t.Error("a dead replica's ticket got a turn")
	}
}

// SPEC: T6. The ticket of a replica that is dead for long is not in line.
func testLongDeadInLine(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	queue(t.Context(), t, b, coord.Request{Key: "k", Place: 2})
	waits := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	eventually(t, "both tickets are seen", func() bool { return turn.Waiting().Tickets == 2 })
	f.Crash(b)
	eventually(t, "the dead one is out of line", func() bool { return turn.Waiting().Tickets == 1 })
	began := time.Now()
	release(t, turn, 0)
	granted(t, waits)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("a dead ticket held the line up for %s", got)
	}
}

// SPEC: D4. A replica that comes back under its id inherits nothing.
func testReincarnation(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{Replica: "pod-1"})
	held := take(t, a, coord.Request{Key: "k"})
	f.Crash(a)
	again := f.Join(t, coord.Config{Replica: "pod-1"})
	if a.Incarnation() == again.Incarnation() {
		t.Fatalf("two incarnations are %s", again.Incarnation())
	}
	for _, c := range []coord.Coordinator{a, again} {
		if c.Replica() != "pod-1" || !strings.HasPrefix(c.Incarnation(), "pod-1/") {
			t.Errorf("got replica %q, incarnation %q", c.Replica(), c.Incarnation())
		}
	}
	began := time.Now()
	turn := take(t, again, coord.Request{Key: "k"})
	if got := time.Since(began); got < f.Lease/3 {
		t.Errorf("the dead one's lease was taken over after %s", got)
	}
	if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation()}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if turn.Fence() <= held.Fence() {
		t.Errorf("got fence %d, want more than %d", turn.Fence(), held.Fence())
	}
}

// SPEC: T6. A heartbeat is there while the replica lives.
func testAlive(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	alive := func(incarnation string) bool {
		got, err := b.Alive(t.Context(), incarnation)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if !alive(a.Incarnation()) {
		t.Error("a live replica has no heartbeat")
	}
	if alive("nobody/0") {
		t.Error("nobody has a heartbeat")
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(a.Incarnation()) {
		t.Error("a closed replica has a heartbeat")
	}
	f.Crash(b)
	c := f.Join(t, coord.Config{})
	eventually(t, "a dead replica's heartbeat ends", func() bool {
		got, err := c.Alive(t.Context(), b.Incarnation())
		return err == nil && !got
	})
}

// A replica hears what others tell it and nothing else; nobody hears what is told to one
// that is gone or does not listen.
func testCall(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	caller, ok := coord.As[coord.Caller](a)
	called, also := coord.As[coord.Caller](b)
	if !ok || !also {
		t.Fatal("it is no coord.Caller")
	}
	caller.Heed(func(message string) { t.Errorf("the caller heard %q", message) })
	if err := caller.Call(t.Context(), b.Incarnation(), "lost"); err != nil {
		t.Error(err)
	}
	heard := make(chan string, 100)
	eventually(t, "a replica hears a call", func() bool {
		called.Heed(func(message string) {
			select {
			case heard <- message:
			default:
			}
		})
		if err := caller.Call(t.Context(), b.Incarnation(), "come to 1 2"); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			return got == "come to 1 2"
		default:
			return false
		}
	})
	if err := caller.Call(t.Context(), b.Incarnation(), strings.Repeat("x", coord.MaxCall+1)); err == nil {
		t.Error("a call that is too long: got no error, want one")
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := caller.Call(t.Context(), b.Incarnation(), "nobody"); err != nil {
		t.Error(err)
	}
}

// A ticket whose caller gave up is gone: it holds nobody up and is not counted.
func testCancel(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := queue(ctx, t, b, coord.Request{Key: "k", Place: 2})
	waits := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	cancel(why)
	if got := await(t, gone); !errors.Is(got.err, why) {
		t.Errorf("got %v, want the context's cause", got.err)
	}
	began := time.Now()
	release(t, turn, 0)
	turn = granted(t, waits)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("a withdrawn ticket held the line up for %s", got)
	}
	if got, want := turn.Waiting(), (coord.Waiting{Highest: 3}); got != want {
		t.Errorf("got waiting %+v, want %+v", got, want)
	}
	if _, err := b.Take(ctx, coord.Request{Key: "other"}); !errors.Is(err, why) {
		t.Errorf("with an ended context: got %v, want its cause", err)
	}
}

// SPEC: T5. A wait ends by itself.
func testTurnWait(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{TurnWait: f.Lease / 4})
	turn := take(t, a, coord.Request{Key: "k"})
	waits := queue(t.Context(), t, b, coord.Request{Key: "k"})
	if got := await(t, waits); !errors.Is(got.err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("got %+v, want ErrCoordinationUnavailable", got)
	}
	release(t, turn, 0)
	release(t, take(t, a, coord.Request{Key: "k"}), 0)
}

// Close gives turns up at once, with a wake-up.
func testClose(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	held := take(t, a, coord.Request{Key: "k"})
	waits := queue(t.Context(), t, b, coord.Request{Key: "k"})
	began := time.Now()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	turn := granted(t, waits)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("a closed replica held the key for %s", got)
	}
	if p := turn.Previous(); p.Incarnation != a.Incarnation() || !p.Released {
		t.Errorf("got previous %+v, want the closed one, released", p)
	}
	if got := lost(t, held); got != botmesh.LossReleased {
		t.Errorf("got reason %s, want released", got)
	}
	if _, err := a.Take(t.Context(), coord.Request{Key: "k"}); !errors.Is(err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("taking after Close: got %v, want ErrCoordinationUnavailable", err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// Close ends the Takes that wait, and leaves none of their tickets.
func testCloseInLine(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	gone := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 2})
	waits := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := await(t, gone); !errors.Is(got.err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("got %+v, want ErrCoordinationUnavailable", got)
	}
	began := time.Now()
	release(t, turn, 0)
	granted(t, waits)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("a closed replica's ticket held the line up for %s", got)
	}
}

// SPEC: T12 T14. A coordinator that lost its memory grants again at once; the old
// holder finds out within a lease. A turn that nobody took meanwhile goes on.
func testForget(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	old, alone := take(t, a, coord.Request{Key: "k"}), take(t, a, coord.Request{Key: "alone"})
	began := time.Now()
	f.Forget(t)
	turn := take(t, b, coord.Request{Key: "k"})
	if got := turn.Previous(); got != (coord.Previous{}) {
		t.Errorf("got previous %+v, want none", got)
	}
	if turn.Fence() <= old.Fence() {
		t.Errorf("got fence %d, want more than %d", turn.Fence(), old.Fence())
	}
	if got := lost(t, old); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s of a key that another took, want superseded", got)
	}
	if got := time.Since(began); got > f.Lease+slack {
		t.Errorf("found out after %s, want within a lease", got)
	}
	<-time.After(f.Lease) // renewals come meanwhile
	behind := queue(t.Context(), t, b, coord.Request{Key: "alone"})
	if err := alone.Context().Err(); err != nil {
		t.Errorf("a turn that nobody took: %v", context.Cause(alone.Context()))
	}
	release(t, alone, 0)
	next := granted(t, behind)
	if got, want := next.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true}); got != want || next.Fence() <= alone.Fence() {
		t.Errorf("after a turn that went on: got previous %+v, fence %d, want %+v, more than %d", got, next.Fence(), want, alone.Fence())
	}
	if got := reason(t, old.Release(t.Context(), 99)); got != botmesh.LossSuperseded {
		t.Errorf("releasing a lost turn: got reason %s, want superseded", got)
	}
	waits := queue(t.Context(), t, a, coord.Request{Key: "k"})
	release(t, turn, 0)
	if p := granted(t, waits).Previous(); p.Incarnation != b.Incarnation() || p.Passed != 0 {
		t.Errorf("got previous %+v, want the second holder, nothing passed", p)
	}
}

// A holder that was superseded and does not know it yet gives up nothing and
// passes nothing.
func testReleaseSuperseded(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	old, alone := take(t, a, coord.Request{Key: "k", Place: 1}), take(t, a, coord.Request{Key: "alone"})
	had := take(t, a, coord.Request{Key: "had"})
	f.Forget(t)
	release(t, take(t, b, coord.Request{Key: "had"}), 5)
	if got := reason(t, had.Release(t.Context(), 99)); got != botmesh.LossExpired && got != botmesh.LossSuperseded {
		t.Errorf("got reason %s of a key that another had, want expired", got) // or it was renewed in that moment
	}
	if got, want := take(t, c, coord.Request{Key: "had"}).Previous(), (coord.Previous{Incarnation: b.Incarnation(), Released: true, Passed: 5}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	turn := take(t, b, coord.Request{Key: "k", Place: 2})
	waits := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	if got := reason(t, old.Release(t.Context(), 99)); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s, want superseded", got)
	}
	release(t, alone, 7) // as if nothing had happened
	if got, want := take(t, b, coord.Request{Key: "alone"}).Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true, Passed: 7}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	release(t, turn, 2)
	if got, want := granted(t, waits).Previous(), (coord.Previous{Incarnation: b.Incarnation(), Released: true, Passed: 2}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// SPEC: T14. Who waits when the memory is lost is granted all the same: at once, or
// when the holder releases, if that was heard of first.
func testForgetInLine(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	first := queue(t.Context(), t, b, coord.Request{Key: "k", Place: 2})
	second := queue(t.Context(), t, c, coord.Request{Key: "k", Place: 3})
	f.Forget(t)
	<-time.After(f.Lease / 2)
	turn.Release(t.Context(), 0)
	began := time.Now()
	for range 2 { // either may find out first
		var got outcome
		select {
		case got = <-first:
		case got = <-second:
		case <-time.After(patience):
			t.Fatal("nobody in line was granted")
		}
		if got.err != nil {
			t.Fatal(got.err)
		}
		release(t, got.turn, 0)
	}
	if got := time.Since(began); got > f.Lease+slack {
		t.Errorf("the line went on after %s, want within a lease", got)
	}
}
