package ingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/provider"
)

const testLease = 10 * time.Second

// fleet is replicas of a session on one coordinator, in virtual time, and what they
// did with it.
type fleet struct {
	hub coord.MemoryHub

	mu  sync.Mutex
	log []string // "a opens"
	at  []time.Time
}

// replica is one of them.
type replica struct {
	name        string
	fleet       *fleet
	coordinator *coord.MemoryCoordinator
	holder      *Holder
	stop        func() // returns when it has stopped
	// run is what its session does; it stays open by default.
	run func(ctx context.Context, sink provider.Sink) error
}

func (r *replica) ID() string                                  { return "held" }
func (r *replica) Exclusive() bool                             { return true }
func (r *replica) Parse(item []byte) ([]botmesh.Record, error) { return parseItem(item) }
func (r *replica) Run(ctx context.Context, s provider.Sink) error {
	r.fleet.note(r.name + " opens")
	defer r.fleet.note(r.name + " closes")
	return r.run(ctx, s)
}

func (f *fleet) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log, f.at = append(f.log, what), append(f.at, time.Now())
}

func (f *fleet) notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// times are when something was noted, from the first time on.
func (f *fleet) times(what string) (all []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := slices.Index(f.log, what)
	for i, n := range f.log {
		if n == what {
			all = append(all, f.at[i].Sub(f.at[first]))
		}
	}
	return all
}

// stays is a session that is open until it is to end.
func stays(ctx context.Context, s provider.Sink) error {
	s.Alive()
	<-ctx.Done()
	return context.Cause(ctx)
}

// join starts a replica. Its configuration has a Journal, and may have more.
func (f *fleet) join(t *testing.T, name string, cfg HolderConfig, run func(context.Context, provider.Sink) error) *replica {
	t.Helper()
	r := &replica{name: name, fleet: f, run: run}
	var err error
	if r.coordinator, err = coord.NewMemory(&f.hub, coord.Config{Replica: name, Lease: testLease}); err != nil {
		t.Fatal(err)
	}
	cfg.Session, cfg.Elector = r, r.coordinator
	if cfg.Journal == nil {
		cfg.Journal = &fakeJournal{}
	}
	if r.holder, err = NewHolder(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.holder.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, botmesh.ErrCoordinationUnavailable) { // it may have crashed
			t.Errorf("%s: got %v from Run, want no error after its end", name, err)
		}
	})
	t.Cleanup(func() { // within the bubble
		r.stop()
		_ = r.coordinator.Close(context.Background()) // as above
	})
	return r
}

// One holds the session, the others wait. It goes to the next at once when its holder
// stops, within a lease when it dies.
//
// SPEC: L1 L3
func TestOneHoldsTheSessionAndTheNextFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		a := f.join(t, "a", HolderConfig{}, stays)
		synctest.Wait()
		b := f.join(t, "b", HolderConfig{}, stays)
		synctest.Wait()
		f.join(t, "c", HolderConfig{}, stays)
		time.Sleep(time.Hour)
		if got := f.notes(); !slices.Equal(got, []string{"a opens"}) {
			t.Errorf("got %q, want one session", got)
		}
		if got := b.holder.Status(); got.Role != Standby || b.holder.Ready() != nil {
			t.Errorf("got %+v, ready %v, want a standby that is ready", got, b.holder.Ready())
		}
		if got := a.holder.Status(); got.Role != Leader || got.Fence == 0 || !got.Open || !got.Closed.IsZero() || a.holder.Ready() != nil || time.Since(got.Since) != time.Hour {
			t.Errorf("got %+v, ready %v, want an open leader since an hour", got, a.holder.Ready())
		}
		before := time.Now()
		a.stop()
		synctest.Wait()
		if took := time.Since(before); took != 0 || b.holder.Status().Role != Leader {
			t.Errorf("got %+v after %v, want the next at once", b.holder.Status(), took)
		}
		b.coordinator.Crash()
		time.Sleep(testLease + time.Second)
		if got := f.notes(); got[len(got)-1] != "c opens" {
			t.Errorf("got %q, want the third one to hold it a lease after the second died", got)
		}
	})
}

// SPEC: L4
func TestASessionThatStaysClosedGoesToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		var open atomic.Bool
		a := f.join(t, "a", HolderConfig{}, func(ctx context.Context, s provider.Sink) error {
			if open.Load() {
				return stays(ctx, s)
			}
			return errors.New("no way through")
		})
		synctest.Wait()
		if err := a.holder.Ready(); err == nil || !strings.Contains(err.Error(), "receives nothing: no way through") {
			t.Errorf("got ready %v, want that it receives nothing, and why", err)
		}
		b := f.join(t, "b", HolderConfig{}, stays)
		time.Sleep(defaultDown - time.Second)
		if got := b.holder.Status().Role; got != Standby {
			t.Errorf("got %v before its time, want a standby", got)
		}
		time.Sleep(2 * time.Second)
		if got := b.holder.Status().Role; got != Leader {
			t.Errorf("got %v after %v, want the leader", got, defaultDown)
		}
		if err := a.holder.Ready(); err != nil {
			t.Errorf("got %v from the one that stepped down, want it ready", err)
		}
		open.Store(true)
		b.stop()
		time.Sleep(defaultCoolOff)
		if got := a.holder.Status(); got.Role != Leader || !got.Open {
			t.Errorf("got %+v, want the first to lead again", got)
		}
		f.join(t, "b", HolderConfig{}, stays)
		time.Sleep(time.Hour)
		if got := a.holder.Status().Role; got != Leader {
			t.Errorf("got %v, want an open session to stay", got)
		}
	})
}

// With one replica stepping down is a pause.
//
// SPEC: L4
func TestALoneReplicaCoolsOffAndTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		a := f.join(t, "a", HolderConfig{Down: 10 * time.Second}, func(context.Context, provider.Sink) error {
			return provider.Retry(errors.New("not now"), time.Minute)
		})
		time.Sleep(10 * time.Minute)
		times := f.times("a opens")
		if len(times) < 2 {
			t.Fatalf("got it opened at %v, want it tried again", times)
		}
		for i := 1; i < len(times); i++ {
			if pause := times[i] - times[i-1]; pause < time.Minute || pause > 2*time.Minute {
				t.Errorf("got a pause of %v, want the minute that was asked for, across leaderships", pause)
			}
		}
		if a.holder.Status().Fence == 0 && a.holder.Status().Role == Leader {
			t.Errorf("got %+v, want a fence", a.holder.Status())
		}
	})
}

// The platform threw the session out since another was opened.
//
// SPEC: L4
func TestASessionThatIsTakenOver(t *testing.T) {
	t.Parallel()
	taken := func(_ context.Context, s provider.Sink) error {
		s.Alive()
		return fmt.Errorf("platform: %w", provider.ErrTaken)
	}
	t.Run("FromOutside", func(t *testing.T) { // it leads: once more after a while, then another may try
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{}
			f.join(t, "a", HolderConfig{}, taken)
			synctest.Wait()
			f.join(t, "b", HolderConfig{}, stays)
			time.Sleep(time.Hour)
			times := f.times("a opens")
			if len(times) != 2 || times[1] < defaultRetake || times[1] > 2*defaultRetake {
				t.Errorf("got it opened at %v, want once more after %v or a little later", times, defaultRetake)
			}
			if got := f.notes(); got[len(got)-1] != "b opens" {
				t.Errorf("got %q in the end, want the other one to try", got[len(got)-1])
			}
		})
	})
	t.Run("ByAnotherReplica", func(t *testing.T) { // it leads no more: it stays down
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{}
			out := make(chan struct{})
			a := f.join(t, "a", HolderConfig{}, func(ctx context.Context, s provider.Sink) error {
				s.Alive()
				<-out
				return fmt.Errorf("platform: %w", provider.ErrTaken)
			})
			time.Sleep(time.Second)
			f.join(t, "b", HolderConfig{}, stays)
			time.Sleep(testLease/3 - time.Second + time.Millisecond)
			f.hub.Forget() // just after a renewed it: b looks first, and is granted it
			time.Sleep(2 * time.Second)
			close(out)
			synctest.Wait()
			if got := a.holder.Status().Role; got != Standby {
				t.Errorf("got %v, want a standby at once: it asks before it does anything", got)
			}
			time.Sleep(time.Hour)
			if diff := cmp.Diff([]string{"a opens", "b opens", "a closes"}, f.notes()); diff != "" {
				t.Errorf("what happened (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("NowAndThen", func(t *testing.T) { // each is the first for a long time
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{}
			a := f.join(t, "a", HolderConfig{}, func(ctx context.Context, s provider.Sink) error {
				s.Alive()
				select {
				case <-time.After(time.Hour):
					return fmt.Errorf("platform: %w", provider.ErrTaken)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			synctest.Wait()
			fence := a.holder.Status().Fence
			time.Sleep(10 * time.Hour)
			if got := a.holder.Status(); got.Fence != fence || len(f.times("a opens")) < 9 {
				t.Errorf("got fence %d after %d openings, want the same leadership, %d", got.Fence, len(f.times("a opens")), fence)
			}
		})
	})
}

// Pauses grow while nothing comes of it, and begin anew after it was open. A panic is
// a session that closed.
func TestASessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		n := 0
		a := f.join(t, "a", HolderConfig{Down: time.Hour}, func(_ context.Context, s provider.Sink) error {
			n++
			switch {
			case n%2 == 0:
				panic("a fault of ours")
			case n == 9:
				s.Alive()
			}
			return nil
		})
		began := time.Now()
		synctest.Wait()
		if got := a.holder.Status(); !got.Closed.Equal(began) {
			t.Errorf("got it closed since %v, want since it was elected, %v", got.Closed, began)
		}
		time.Sleep(3 * time.Minute)
		times := f.times("a opens")
		if len(times) < 11 {
			t.Fatalf("got it opened at %v, want eleven times", times)
		}
		grown, anew := times[8]-times[7], times[9]-times[8]
		if got, want := a.holder.Status().Closed, began.Add(times[8]); !got.Equal(want) {
			t.Errorf("got it closed since %v, want since it was open last, %v", got, want)
		}
		if grown < 4*reopenAfter || anew > 2*reopenAfter {
			t.Errorf("got pauses of %v and, once it was open, %v; want them grown and then begun anew", grown, anew)
		}
	})
}

// Without an elector every replica holds it.
//
// SPEC: L1
func TestASharedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		r := &replica{name: "a", fleet: f, run: func(_ context.Context, s provider.Sink) error {
			return fmt.Errorf("platform: %w", provider.ErrTaken)
		}}
		h, err := NewHolder(HolderConfig{Session: r, Journal: &fakeJournal{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		time.AfterFunc(time.Minute, func() {
			if got := h.Status(); got.Role != Shared || h.Ready() == nil {
				t.Errorf("got %+v, ready %v, want a shared one that is not ready", got, h.Ready())
			}
		})
		if err := h.Run(ctx); err != nil {
			t.Errorf("got %v, want no error after its end", err)
		}
		if got := len(f.times("a opens")); got < 30 {
			t.Errorf("got it opened %d times in an hour, want it tried on", got)
		}
	})
}

func TestNewHolderNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewHolder(HolderConfig{Down: -1})
	for _, word := range []string{"no Session", "no Journal", "negative"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %q", err, word)
		}
	}
}
