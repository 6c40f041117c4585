// Package checkpointtest is the suite that every checkpoint.Store passes, and a
// store that loses answers.
package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// Backend is a store to be tested.
type Backend struct {
	// New returns an empty store of its own for each call.
	New func(t testing.TB) checkpoint.Store
	// TooLarge is the size of a value that the store must refuse. Zero if it has no bound.
	TooLarge int
}

// Run runs the suite.
func Run(t *testing.T, b Backend) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, checkpoint.Store)
	}{
		{"NothingThereIsTheZeroRow", zeroRow},
		{"SwapReplacesWhatItNames", replaces},
		{"SwapOfAStaleRowIsAConflict", stale},
		{"TheSameSwapAgainIsDone", repeated},
		{"AnyBytesAreAValue", bytesKept},
		{"KeysAreApart", keysApart},
		{"KeysListsThem", keys},
		{"RowsExpire", expiry},
		{"OneOfManyWritersWins", oneWinner},
		{"WritersMakeOneChain", chain},
		{"AnEndedContext", endedContext},
		{"Model", model},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, b.New(t))
		})
	}
	t.Run("TooLargeIsRefused", func(t *testing.T) {
		t.Parallel()
		if b.TooLarge == 0 {
			t.Skip("this store has no bound")
		}
		tooLarge(t, b.New(t), b.TooLarge)
	})
}

const key = "telegram.-100123/55"

var nonces atomic.Uint64

// nonce is unique to a write.
func nonce() string { return "n" + strconv.FormatUint(nonces.Add(1), 10) }

// load loads a row, from a store that may be without a leader just now.
func load(t testing.TB, s checkpoint.Store, key string) (row checkpoint.Row) {
	t.Helper()
	until(t, "the store to answer", func() bool {
		var err error
		row, err = s.Load(t.Context(), key)
		if err != nil && !errors.Is(err, botmesh.ErrRefused) {
			t.Fatalf("load %s: %v", key, err)
		}
		return err == nil
	})
	return row
}

func swap(t testing.TB, s checkpoint.Store, key string, old checkpoint.Row, value string) checkpoint.Row {
	t.Helper()
	row, err := s.Swap(t.Context(), key, old, []byte(value), nonce(), 0)
	if err != nil {
		t.Fatalf("swap %s: %v", key, err)
	}
	return row
}

func wantValue(t testing.TB, s checkpoint.Store, key, want string) {
	t.Helper()
	if got := load(t, s, key); string(got.Value) != want || got.Revision == 0 {
		t.Errorf("%s: got %q at revision %d, want %q", key, got.Value, got.Revision, want)
	}
}

func zeroRow(t *testing.T, s checkpoint.Store) {
	if got := load(t, s, key); cmp.Diff(got, checkpoint.Row{}) != "" {
		t.Errorf("got %+v, want the zero Row", got)
	}
}

// SPEC: C1
func replaces(t *testing.T, s checkpoint.Store) {
	began := time.Now().Add(-time.Minute)
	var last checkpoint.Row
	for i := range 5 {
		n := nonce()
		row, err := s.Swap(t.Context(), key, last, fmt.Append(nil, i), n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if row.Revision <= last.Revision || row.Nonce != n || string(row.Value) != strconv.Itoa(i) || row.Written.Before(began) {
			t.Fatalf("got %+v, want value %d, nonce %s, a revision over %d and the time", row, i, n, last.Revision)
		}
		got := load(t, s, key)
		if diff := cmp.Diff(row, got, ignoreWritten); diff != "" {
			t.Fatalf("loaded row differs from the swapped one: %s", diff)
		}
		last = got
	}
}

var ignoreWritten = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Written" }, cmp.Ignore())

// SPEC: C1 C2
func stale(t *testing.T, s checkpoint.Store) {
	first := swap(t, s, key, checkpoint.Row{}, "1")
	swap(t, s, key, first, "2")
	for name, old := range map[string]checkpoint.Row{"the first row": first, "no row": {}, "a row that never was": {Revision: 1 << 40, Nonce: "x"}} {
		if _, err := s.Swap(t.Context(), key, old, []byte("3"), nonce(), 0); !errors.Is(err, botmesh.ErrConflict) {
			t.Errorf("swap of %s: got %v, want ErrConflict", name, err)
		}
	}
	if _, err := s.Swap(t.Context(), "x.none", first, []byte("3"), nonce(), 0); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("swap of a row that another key has: got %v, want ErrConflict", err)
	}
	wantValue(t, s, key, "2")
}

// SPEC: C5. A write that is made again, because its answer was lost, is done and
// not superseded by itself.
func repeated(t *testing.T, s checkpoint.Store) {
	old := swap(t, s, key, checkpoint.Row{}, "1")
	n := nonce()
	first, err := s.Swap(t.Context(), key, old, []byte("2"), n, 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Swap(t.Context(), key, old, []byte("2"), n, 0)
	if err != nil || again.Revision != first.Revision || again.Nonce != n {
		t.Errorf("got %+v, %v, want revision %d again", again, err, first.Revision)
	}
	next := swap(t, s, key, first, "3")
	if _, err := s.Swap(t.Context(), key, old, []byte("2"), n, 0); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("after a later write: got %v, want ErrConflict", err)
	}
	if got := load(t, s, key); got.Revision != next.Revision {
		t.Errorf("got revision %d, want %d", got.Revision, next.Revision)
	}
}

func bytesKept(t *testing.T, s checkpoint.Store) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var last checkpoint.Row
	for _, value := range [][]byte{{}, all, bytes.Repeat(all, 1024)} {
		row, err := s.Swap(t.Context(), key, last, value, nonce(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if last = load(t, s, key); last.Revision != row.Revision || !bytes.Equal(last.Value, value) {
			t.Fatalf("got revision %d and %d bytes, want revision %d and the %d bytes that were written",
				last.Revision, len(last.Value), row.Revision, len(value))
		}
	}
}

func keysApart(t *testing.T, s checkpoint.Store) {
	chats := []botmesh.ChatKey{
		{Provider: "telegram", Chat: "1"}, {Provider: "telegram", Chat: "1", Participant: "2"}, {Provider: "telegram", Chat: "1/2"},
		{Provider: "x", Chat: "1"}, {Provider: "x", Chat: "*"}, {Provider: "x", Chat: ">"}, {Provider: "x", Chat: "a.b"}, {Provider: "x", Chat: "a"},
	}
	for _, c := range chats {
		swap(t, s, c.Key(), checkpoint.Row{}, c.String())
	}
	for _, c := range chats {
		wantValue(t, s, c.Key(), c.String())
	}
}

func keys(t *testing.T, s checkpoint.Store) {
	var want []string
	for i := range 150 {
		k := "x." + strconv.Itoa(i)
		want = append(want, k)
		row := swap(t, s, k, checkpoint.Row{}, "1")
		if i%10 == 0 {
			swap(t, s, k, row, "2")
		}
	}
	var got []string
	if err := s.Keys(t.Context(), func(k string) bool { got = append(got, k); return true }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys: %s", diff)
	}
	n := 0
	if err := s.Keys(t.Context(), func(string) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("got %d calls, %v, want to stop after 3", n, err)
	}
}

// DESIGN C10. What expired is as if it had never been.
func expiry(t *testing.T, s checkpoint.Store) {
	const ttl = time.Second
	var gone, kept checkpoint.Row
	for _, k := range []string{"x.gone", "x.kept"} {
		row, err := s.Swap(t.Context(), k, swap(t, s, k, checkpoint.Row{}, "1"), []byte("2"), nonce(), ttl)
		if err != nil {
			t.Fatal(err)
		}
		wantValue(t, s, k, "2")
		gone = row
		if k == "x.kept" {
			gone, kept = load(t, s, "x.gone"), swap(t, s, k, row, "3")
		}
	}
	until(t, "the row to expire", func() bool { return load(t, s, "x.gone").Revision == 0 })
	if err := s.Keys(t.Context(), func(k string) bool { return k != "x.gone" || failed(t, "an expired key is listed") }); err != nil {
		t.Error(err)
	}
	if _, err := s.Swap(t.Context(), "x.gone", gone, []byte("4"), nonce(), 0); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("swap of a row that expired: got %v, want ErrConflict", err)
	}
	swap(t, s, "x.gone", checkpoint.Row{}, "5")
	wantValue(t, s, "x.gone", "5")
	if got := load(t, s, "x.kept"); got.Revision != kept.Revision {
		t.Errorf("a row written again without a time to live: got %+v, want revision %d", got, kept.Revision)
	}
}

func failed(t *testing.T, text string) bool { t.Error(text); return true }

// until polls until ok, for half a minute at most.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// SPEC: C1
func oneWinner(t *testing.T, s checkpoint.Store) {
	const writers, rounds = 6, 20
	var last checkpoint.Row
	for round := range rounds {
		var wins, conflicts atomic.Int64
		var won checkpoint.Row
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				row, err := s.Swap(t.Context(), key, last, fmt.Append(nil, round), nonce(), 0)
				switch {
				case err == nil && wins.Add(1) == 1:
					won = row
				case errors.Is(err, botmesh.ErrConflict):
					conflicts.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 || conflicts.Load() != writers-1 {
			t.Fatalf("round %d: got %d winners and %d conflicts, want 1 and %d", round, wins.Load(), conflicts.Load(), writers-1)
		}
		if last = load(t, s, key); last.Revision != won.Revision || last.Nonce != won.Nonce {
			t.Fatalf("round %d: got %+v, want the winner's %+v", round, last, won)
		}
	}
}

func endedContext(t *testing.T, s checkpoint.Store) {
	row := swap(t, s, key, checkpoint.Row{}, "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Load(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("load: got %v, want the context's error", err)
	}
	if _, err := s.Swap(ctx, key, row, []byte("2"), nonce(), 0); !errors.Is(err, botmesh.ErrUnknown) || errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("swap: got %v, want ErrUnknown", err)
	}
}

func tooLarge(t *testing.T, s checkpoint.Store, size int) {
	row := swap(t, s, key, checkpoint.Row{}, "1")
	if _, err := s.Swap(t.Context(), key, row, make([]byte, size), nonce(), 0); !errors.Is(err, botmesh.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	wantValue(t, s, key, "1")
}
