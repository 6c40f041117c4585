package ingress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
)

// parseItem makes one record of an item, under its text as the id.
func parseItem(item []byte) ([]botmesh.Record, error) {
	switch {
	case bytes.HasPrefix(item, []byte("panic")):
		panic("a fault of ours")
	case bytes.HasPrefix(item, []byte("junk")):
		return nil, errors.New("junk")
	}
	return []botmesh.Record{{Type: botmesh.TypeMessage, ID: string(item), Chat: botmesh.ChatKey{Provider: "held", Chat: "5"}}}, nil
}

// brings is a session that brings items once, and says what came of it.
func brings(stored chan<- error, items ...string) func(context.Context, provider.Sink) error {
	return func(ctx context.Context, s provider.Sink) error {
		s.Alive()
		var all [][]byte
		for _, item := range items {
			all = append(all, []byte(item))
		}
		err := s.Store(ctx, all)
		stored <- err
		if err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// outcome is what came of a Store, within an hour of virtual time.
func outcome(t *testing.T, stored <-chan error) error {
	t.Helper()
	select {
	case err := <-stored:
		return err
	case <-time.After(time.Hour):
		t.Fatal("got no end of Store, want one")
		return nil
	}
}

// While the journal is away nothing is confirmed, and it goes on when it is back.
//
// SPEC: J1 L1
func TestNothingIsConfirmedWhileTheJournalIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, stored := &fleet{}, make(chan error, 1)
		var back atomic.Bool
		j := &fakeJournal{publish: func(ctx context.Context, _ []botmesh.Record) error {
			if back.Load() {
				return nil
			}
			<-ctx.Done() // as the publisher does: it repeats until its time is over
			return fmt.Errorf("%w: no answer", botmesh.ErrUnknown)
		}}
		a := f.join(t, "a", HolderConfig{Journal: j}, brings(stored, "1", "2"))
		time.Sleep(30 * time.Second)
		select {
		case err := <-stored:
			t.Errorf("got %v from Store without a journal, want it to wait", err)
		default:
		}
		if err := a.holder.Ready(); err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("got ready %v, want that nothing is stored", err)
		}
		back.Store(true)
		if err := outcome(t, stored); err != nil {
			t.Errorf("got %v once the journal was back, want no error", err)
		}
		synctest.Wait()
		if got := a.holder.Status(); !got.Open || got.LastUpdate != time.Now() || a.holder.Ready() != nil {
			t.Errorf("got %+v, ready %v, want it open and the update just now", got, a.holder.Ready())
		}
	})
}

// A replica that can not write the journal gives the session to one that may.
//
// SPEC: L4
func TestWhoCanNotStoreStepsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, stored := &fleet{}, make(chan error, 2)
		away := &fakeJournal{publish: func(context.Context, []botmesh.Record) error { return botmesh.ErrRefused }}
		f.join(t, "a", HolderConfig{Journal: away}, brings(stored, "1"))
		synctest.Wait()
		there := &fakeJournal{}
		f.join(t, "b", HolderConfig{Journal: there}, brings(stored, "1"))
		if err := outcome(t, stored); !errors.Is(err, errDown) {
			t.Errorf("got %v from Store, want that it steps down", err)
		}
		if err := outcome(t, stored); err != nil || len(there.calls()) != 1 {
			t.Errorf("got %v and %d calls at the other, want it stored there", err, len(there.calls()))
		}
	})
}

// Who has lost the leadership stores nothing more; what it was storing when it lost
// it may be stored, and is not confirmed.
//
// SPEC: L3 T7
func TestWhoLostTheSessionConfirmsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, stored := &fleet{}, make(chan error, 2)
		j := &fakeJournal{}
		crash := make(chan func(), 1)
		j.publish = func(context.Context, []botmesh.Record) error {
			(<-crash)() // nothing renews it any more
			time.Sleep(testLease)
			return nil // it was stored all the same
		}
		a := f.join(t, "a", HolderConfig{Journal: j}, func(ctx context.Context, s provider.Sink) error {
			stored <- s.Store(ctx, [][]byte{[]byte("1")})
			stored <- s.Store(context.Background(), [][]byte{[]byte("2")})
			return nil
		})
		crash <- a.coordinator.Crash
		for _, what := range []string{"what was in hand", "what came later"} {
			if err := outcome(t, stored); !errors.Is(err, botmesh.ErrLeaseLost) {
				t.Errorf("got %v from storing %s, want that the lease is lost", err, what)
			}
		}
		if got := len(j.calls()); got != 1 {
			t.Errorf("got %d calls of the journal, want only the first", got)
		}
	})
}

// What can not be made into records, or not be journaled, is kept as an event and
// holds up nothing.
//
// SPEC: X2 J9
func TestWhatASessionBringsIsKeptWhateverItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, stored := &fleet{}, make(chan error, 1)
		j := &fakeJournal{publish: func(_ context.Context, recs []botmesh.Record) error {
			for _, r := range recs {
				switch {
				case strings.HasPrefix(r.ID, "invalid"):
					return journal.ErrInvalid
				case strings.HasPrefix(r.ID, "large"), len(r.Raw) > 0:
					return botmesh.ErrTooLarge
				}
			}
			return nil
		}}
		items := []string{"1", "panic", "junk", "invalid", "large", `"large and JSON"`, "2"}
		f.join(t, "a", HolderConfig{Journal: j}, brings(stored, items...))
		if err := outcome(t, stored); err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		var got []string
		for _, call := range j.calls()[1:] {
			for _, r := range call {
				if j.publish(t.Context(), []botmesh.Record{r}) == nil {
					got = append(got, string(r.Type))
				}
			}
		}
		want := []string{"message", "event", "event", "event", "event", "message", "message"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("types that were stored (-want +got):\n%s", diff)
		}
	})
}
