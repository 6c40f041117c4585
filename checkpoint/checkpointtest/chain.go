package checkpointtest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// SPEC: C1
func chain(t *testing.T, s checkpoint.Store) {
	Chain(t, 4, 25, func(int) checkpoint.Store { return s })
}

// Chain lets writers, each with a store of its own on the same rows, append n marks
// each to one value, and fails if a mark is missing, doubled or out of its writer's
// order. A store may answer with ErrConflict or ErrRefused as often as it likes.
//
// A writer does as a turn does: told of a conflict it reloads, and goes by what the
// row says. A write whose answer was lost may have been replaced before it could be
// found; then its mark is there.
func Chain(t testing.TB, writers, n int, store func(writer int) checkpoint.Store) {
	t.Helper()
	want := make([][]string, writers)
	var wg sync.WaitGroup
	for w := range writers {
		s := store(w)
		for range n {
			want[w] = append(want[w], nonce())
		}
		wg.Go(func() {
			for _, mark := range want[w] {
				if err := appendMark(t, s, mark); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	got := marksOf(load(t, store(0), key))
	for w := range writers {
		own := slices.DeleteFunc(slices.Clone(got), func(m string) bool { return !slices.Contains(want[w], m) })
		if diff := cmp.Diff(want[w], own); diff != "" {
			t.Errorf("marks of writer %d: %s", w, diff)
		}
	}
	if len(got) != writers*n {
		t.Errorf("got %d marks, want %d", len(got), writers*n)
	}
}

// marksOf are the marks in a row, oldest first.
func marksOf(row checkpoint.Row) []string { return strings.Fields(string(row.Value)) }

func appendMark(t testing.TB, s checkpoint.Store, mark string) error {
	for {
		old, err := s.Load(t.Context(), key)
		switch {
		case errors.Is(err, botmesh.ErrRefused):
			continue
		case err != nil:
			return err
		case slices.Contains(marksOf(old), mark):
			return nil
		}
		_, err = s.Swap(t.Context(), key, old, append(slices.Clone(old.Value), " "+mark...), nonce(), 0)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, botmesh.ErrConflict), errors.Is(err, botmesh.ErrRefused):
		default:
			return err
		}
	}
}
