package coordtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// elector is the coordinator as an elector, if it is one.
func elector(t testing.TB, c coord.Coordinator) coord.Elector {
	t.Helper()
	e, ok := c.(coord.Elector)
	if !ok {
		t.Skip("not an Elector")
	}
	return e
}

// lead leads at once or fails the test.
func lead(t testing.TB, c coord.Coordinator, name string) coord.Leadership {
	t.Helper()
	l, err := tryLead(t, c, name)
	if err != nil {
		t.Fatalf("leading %s: %v", name, err)
	}
	return l
}

func tryLead(t testing.TB, c coord.Coordinator, name string) (coord.Leadership, error) {
	return answered(t, func() (coord.Leadership, error) { return elector(t, c).TryLead(t.Context(), name) })
}

// answered makes a call that does not wait again while it has no answer, as on a
// busy machine.
func answered[T any](t testing.TB, do func() (T, error)) (got T, err error) {
	eventually(t, "an answer", func() bool {
		got, err = do()
		return !errors.Is(err, botmesh.ErrCoordinationUnavailable) && !errors.Is(err, botmesh.ErrUnknown) && !errors.Is(err, botmesh.ErrRefused)
	})
	return got, err
}

// told is answered for a call that gives nothing else.
func told(t testing.TB, do func() error) error {
	_, err := answered(t, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func stepDown(t testing.TB, l coord.Leadership, coolOff time.Duration) {
	t.Helper()
	if err := l.StepDown(t.Context(), coolOff); !given(err) {
		t.Fatalf("stepping down: %v", err)
	}
}

func confirm(t testing.TB, l coord.Leadership) error {
	return told(t, func() error { return l.Confirm(t.Context()) })
}

// won is what a Campaign returned.
type won struct {
	lead coord.Leadership
	err  error
}

// campaign begins a Campaign and returns once it is in line, as the view shows.
func campaign(ctx context.Context, t testing.TB, c coord.Coordinator, name string) <-chan won {
	t.Helper()
	result := make(chan won, 1)
	go func() {
		l, err := elector(t, c).Campaign(ctx, name)
		result <- won{l, err}
	}()
	eventually(t, "the candidate is in line", func() bool {
		v, _ := viewer(t, c).Inspect(t.Context(), coord.KindLead, name)
		for _, w := range v.Waiting {
			if w.Incarnation == c.Incarnation() {
				return true
			}
		}
		return false
	})
	return result
}

func elected(t testing.TB, result <-chan won) coord.Leadership {
	t.Helper()
	select {
	case got := <-result:
		if got.err != nil {
			t.Fatalf("a Campaign failed: %v", got.err)
		}
		return got.lead
	case <-time.After(patience):
		t.Fatal("a Campaign did not return")
		return nil
	}
}

// SPEC: L6. One leads, the others are told at once; names are apart from each
// other and from the keys of turns.
func testTryLead(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	first := lead(t, a, "job")
	if first.Name() != "job" || first.Context().Err() != nil || first.Previous() != (coord.Previous{}) {
		t.Errorf("got name %q, previous %+v, %v", first.Name(), first.Previous(), first.Context().Err())
	}
	for _, c := range []coord.Coordinator{a, b} {
		began := time.Now()
		if l, err := tryLead(t, c, "job"); !errors.Is(err, coord.ErrHeld) || l != nil {
			t.Errorf("beside a leader: got %v, %v, want ErrHeld", l, err)
		}
		if got := time.Since(began); got > f.Lease/2 {
			t.Errorf("told after %s, want at once", got)
		}
	}
	stepDown(t, lead(t, b, "other"), 0)
	release(t, take(t, b, coord.Request{Key: "job"}), 0)
	stepDown(t, first, 0)
	if got := reason(t, context.Cause(first.Context())); got != botmesh.LossReleased {
		t.Errorf("got reason %s, want released", got)
	}
	second := lead(t, b, "job")
	if got, want := second.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if second.Fence() <= first.Fence() {
		t.Errorf("got fence %d, want more than %d", second.Fence(), first.Fence())
	}
	if got := reason(t, first.StepDown(t.Context(), 0)); got != botmesh.LossReleased {
		t.Errorf("stepping down twice: got reason %s, want released", got)
	}
	if _, err := elector(t, a).TryLead(t.Context(), ""); err == nil {
		t.Error("led without a name")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := elector(t, a).TryLead(ended, "job"); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: got %v, want its cause", err)
	}
}

// SPEC: L3 L6. A leader is renewed; who is next leads at once when it steps down, in
// the order of arrival.
func testCampaign(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{TurnWait: f.Lease}), f.Join(t, coord.Config{})
	leader := lead(t, a, "session")
	first := campaign(t.Context(), t, b, "session")
	second := campaign(t.Context(), t, c, "session")
	select {
	case <-time.After(3 * f.Lease / 2): // longer than b's TurnWait, which is not for leaders
	case <-leader.Context().Done():
		t.Fatalf("a renewed leadership ended: %v", context.Cause(leader.Context()))
	}
	for _, next := range []<-chan won{first, second} {
		began := time.Now()
		stepDown(t, leader, 0)
		leader = elected(t, next)
		if got := time.Since(began); got > f.Lease/3 {
			t.Errorf("led on after %s, want at once", got)
		}
	}
	stepDown(t, leader, 0)
	if _, err := elector(t, a).Campaign(t.Context(), ""); err == nil {
		t.Error("campaigned without a name")
	}
}

// SPEC: L3. A leader that closes is followed at once, one that dies within a lease,
// and its follower knows which it was.
func testLeaderGone(t *testing.T, f Fleet) {
	a, b, c := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	closed := lead(t, a, "session")
	next := campaign(t.Context(), t, b, "session")
	last := campaign(t.Context(), t, c, "session")
	began := time.Now()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	leader := elected(t, next)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("a closed leader was followed after %s, want at once", got)
	}
	if closed.Context().Err() == nil {
		t.Error("a closed leader leads on")
	}
	if p := leader.Previous(); p.Incarnation != a.Incarnation() || !p.Released {
		t.Errorf("got previous %+v, want the closed one, released", p)
	}
	began = time.Now()
	f.Crash(b)
	dead := leader
	leader = elected(t, last)
	if got := time.Since(began); got < f.Lease/3 || got > f.Lease+slack {
		t.Errorf("a dead leader was followed after %s, want about a lease of %s", got, f.Lease)
	}
	if dead.Context().Err() == nil {
		t.Error("a dead leader leads on")
	}
	if got, want := leader.Previous(), (coord.Previous{Incarnation: b.Incarnation()}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// SPEC: L4. Who steps down to cool off lets others lead, and leads again only when
// that is over.
func testCoolOff(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	began := time.Now()
	stepDown(t, lead(t, a, "session"), f.Lease)
	if _, err := tryLead(t, a, "session"); !errors.Is(err, coord.ErrHeld) {
		t.Errorf("while it cools off: got %v, want ErrHeld", err)
	}
	stepDown(t, lead(t, a, "other"), 0)
	stepDown(t, lead(t, b, "session"), 0)
	again, err := elector(t, a).Campaign(t.Context(), "session")
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Since(began); got < f.Lease {
		t.Errorf("led again after %s, want %s", got, f.Lease)
	}
	if got, want := again.Previous(), (coord.Previous{Incarnation: b.Incarnation(), Released: true}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	stepDown(t, again, patience)
	ctx, cancel := context.WithTimeoutCause(t.Context(), f.Lease/10, errNoMore)
	defer cancel()
	if _, err := elector(t, a).Campaign(ctx, "session"); !errors.Is(err, errNoMore) {
		t.Errorf("a candidate that cools off: got %v, want the context's cause", err)
	}
}

var errNoMore = errors.New("no more")

// SPEC: L6. A replaced holder asks whether it still leads, and is told the truth at
// once.
func testConfirm(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	old, kept := lead(t, a, "session"), lead(t, a, "kept")
	if err := confirm(t, old); err != nil {
		t.Errorf("a leader: got %v, want nil", err)
	}
	f.Forget(t)
	taken := lead(t, b, "session")
	if got := reason(t, confirm(t, old)); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s, want superseded", got)
	}
	if got := reason(t, context.Cause(old.Context())); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s of the context, want superseded", got)
	}
	if err := confirm(t, kept); err != nil {
		t.Errorf("a leadership that nobody took: got %v, want nil", err)
	}
	if _, err := tryLead(t, b, "kept"); !errors.Is(err, coord.ErrHeld) {
		t.Errorf("beside a leader that confirmed: got %v, want ErrHeld", err)
	}
	stepDown(t, taken, 0)
	if got := reason(t, confirm(t, taken)); got != botmesh.LossReleased {
		t.Errorf("after stepping down: got reason %s, want released", got)
	}
}

// A candidate that gave up, was closed or died leads never, and holds up nobody.
func testCandidateGone(t *testing.T, f Fleet) {
	a, b, c, d := f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	leader := lead(t, a, "session")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := campaign(ctx, t, b, "session")
	shut := campaign(t.Context(), t, c, "session")
	waits := campaign(t.Context(), t, d, "session")
	cancel(errNoMore)
	if got := <-gone; !errors.Is(got.err, errNoMore) {
		t.Errorf("got %v, want the context's cause", got.err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-shut; !errors.Is(got.err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("got %v, want ErrCoordinationUnavailable", got.err)
	}
	began := time.Now()
	stepDown(t, leader, 0)
	elected(t, waits)
	if got := time.Since(began); got > f.Lease/3 {
		t.Errorf("candidates that left held the line up for %s", got)
	}
	if _, err := elector(t, c).TryLead(t.Context(), "session"); !errors.Is(err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("leading after Close: got %v, want ErrCoordinationUnavailable", err)
	}
}
