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

// locker is the coordinator as a locker, if it is one.
func locker(t testing.TB, c coord.Coordinator) coord.Locker {
	t.Helper()
	l, ok := c.(coord.Locker)
	if !ok {
		t.Skip("not a Locker")
	}
	return l
}

// lock takes a lock or fails the test.
func lock(t testing.TB, c coord.Coordinator, key string, ttl time.Duration) coord.Lock {
	t.Helper()
	l, err := tryLock(t, c, key, ttl)
	if err != nil {
		t.Fatalf("locking %s: %v", key, err)
	}
	return l
}

func tryLock(t testing.TB, c coord.Coordinator, key string, ttl time.Duration) (coord.Lock, error) {
	return answered(t, func() (coord.Lock, error) { return locker(t, c).AcquireLockFenced(t.Context(), key, ttl) })
}

func renew(t testing.TB, c coord.Coordinator, key, token string, ttl time.Duration) error {
	return told(t, func() error { return locker(t, c).RenewLock(t.Context(), key, token, ttl) })
}

func unlock(t testing.TB, c coord.Coordinator, key, token string) error {
	if err := locker(t, c).ReleaseLock(t.Context(), key, token); !given(err) {
		return err
	}
	return nil
}

// long is a ttl that does not run out in a test.
const long = time.Hour

// SPEC: L7. One holds a lock; its token renews and releases it from anywhere, and no
// other does; every acquisition has a higher fence.
func testLock(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	first := lock(t, a, "k", long)
	if first.Key != "k" || !strings.HasPrefix(first.Token, a.Incarnation()+"/") {
		t.Errorf("got %+v, want key k and a token of %s", first, a.Incarnation())
	}
	for _, c := range []coord.Coordinator{a, b} {
		if _, err := tryLock(t, c, "k", long); !errors.Is(err, coord.ErrHeld) {
			t.Errorf("beside a holder: got %v, want ErrHeld", err)
		}
	}
	release(t, take(t, b, coord.Request{Key: "k"}), 0) // a turn is something else
	other := lock(t, b, "other", long)
	for what, err := range map[string]error{
		"renewing":  renew(t, b, "k", other.Token, long),
		"releasing": unlock(t, b, "k", other.Token),
	} {
		if got := reason(t, err); got != botmesh.LossSuperseded {
			t.Errorf("%s by another's token: got reason %s, want superseded", what, got)
		}
	}
	if err := renew(t, b, "k", first.Token, long); err != nil {
		t.Errorf("renewing elsewhere: %v", err)
	}
	if err := unlock(t, b, "k", first.Token); err != nil {
		t.Errorf("releasing elsewhere: %v", err)
	}
	for what, err := range map[string]error{
		"renewing":  renew(t, a, "k", first.Token, long),
		"releasing": unlock(t, a, "k", first.Token),
	} {
		if got := reason(t, err); got != botmesh.LossExpired {
			t.Errorf("%s what was released: got reason %s, want expired", what, got)
		}
	}
	if second := lock(t, b, "k", long); second.Fence <= first.Fence {
		t.Errorf("got fence %d, want more than %d", second.Fence, first.Fence)
	}
	for _, ttl := range []time.Duration{0, 25 * time.Hour} {
		_, err := locker(t, a).AcquireLockFenced(t.Context(), "bad", ttl)
		if renew := renew(t, a, "k", first.Token, ttl); err == nil || renew == nil {
			t.Errorf("ttl %s was taken: %v, %v", ttl, err, renew)
		}
	}
	if _, err := locker(t, a).AcquireLockFenced(t.Context(), "", long); err == nil {
		t.Error("locked without a key")
	}
}

// SPEC: L7. A lock ends after its ttl, not before, counted from its last renewal;
// also when its owner is dead.
func testLockEnds(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	var first coord.Lock
	var renewed time.Time
	eventually(t, "a lock is renewed in time", func() bool { // a machine that stalls lets it end
		began := time.Now()
		var err error
		if first, err = locker(t, a).AcquireLockFenced(t.Context(), "k", f.Lease); err != nil {
			return false
		}
		<-time.After(f.Lease / 3)
		renewed = time.Now()
		if err = renew(t, a, "k", first.Token, f.Lease); err != nil && time.Since(began) < f.Lease/2 {
			t.Fatal(err)
		}
		return err == nil
	})
	f.Crash(a)
	var second coord.Lock
	eventually(t, "the lock has ended", func() bool {
		var err error
		second, err = locker(t, b).AcquireLockFenced(t.Context(), "k", long)
		return err == nil
	})
	if got := time.Since(renewed); got < f.Lease-2*time.Millisecond || got > f.Lease+slack {
		t.Errorf("ended %s after its renewal, want %s", got, f.Lease)
	}
	if second.Fence <= first.Fence {
		t.Errorf("got fence %d, want more than %d", second.Fence, first.Fence)
	}
	if got := reason(t, renew(t, b, "k", first.Token, long)); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s, want superseded", got)
	}
	third := lock(t, b, "short", time.Millisecond)
	eventually(t, "a lock that nobody takes ends", func() bool {
		var lost *botmesh.LeaseLostError
		return errors.As(renew(t, b, "short", third.Token, time.Millisecond), &lost) && lost.Reason == botmesh.LossExpired
	})
}

// SPEC: L7. HOLE H25. Fences of locks grow over the loss of everything.
func testLockForgotten(t *testing.T, f Fleet) {
	a := f.Join(t, coord.Config{})
	first := lock(t, a, "k", long)
	f.Forget(t)
	second := lock(t, a, "k", long)
	if second.Fence <= first.Fence {
		t.Errorf("got fence %d, want more than %d", second.Fence, first.Fence)
	}
	if got := reason(t, unlock(t, a, "k", first.Token)); got != botmesh.LossSuperseded {
		t.Errorf("got reason %s, want superseded", got)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := locker(t, a).AcquireLockFenced(t.Context(), "new", long); !errors.Is(err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("locking after Close: got %v, want ErrCoordinationUnavailable", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locker(t, a).AcquireLockFenced(ended, "k", long); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: got %v, want its cause", err)
	}
}

// Locks are not tied to the coordinator that took them, but one that is closed does
// nothing more. Who gives a lock up is heard though its context ended.
func testLockClosed(t *testing.T, f Fleet) {
	a, b := f.Join(t, coord.Config{}), f.Join(t, coord.Config{})
	first := lock(t, a, "k", long)
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"renewing":  locker(t, a).RenewLock(t.Context(), "k", first.Token, long),
		"releasing": locker(t, a).ReleaseLock(t.Context(), "k", first.Token),
	} {
		if !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("%s after Close: got %v, want ErrRefused", what, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := locker(t, b).RenewLock(ended, "k", first.Token, long); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("renewing with an ended context: got %v, want ErrRefused", err)
	}
	if err := renew(t, b, "k", first.Token, long); err != nil {
		t.Errorf("renewing what a closed one took: %v", err)
	}
	if err := locker(t, b).ReleaseLock(ended, "k", first.Token); !given(err) {
		t.Errorf("releasing with an ended context: %v", err)
	}
	eventually(t, "the lock is free", func() bool {
		_, err := locker(t, b).AcquireLockFenced(t.Context(), "k", long)
		return err == nil
	})
}
