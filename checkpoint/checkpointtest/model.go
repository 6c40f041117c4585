package checkpointtest

import (
	"errors"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// model runs random calls against the store and against a map.
func model(t *testing.T, s checkpoint.Store) {
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := &machine{t: t, store: s, prefix: "m" + strconv.Itoa(run) + ".", rows: map[string]checkpoint.Row{}, past: map[string][]checkpoint.Row{}}
		r.Repeat(map[string]func(*rapid.T){"load": m.load, "swap": m.swap, "stale": m.stale, "again": m.again})
	})
}

type machine struct {
	t      *testing.T
	store  checkpoint.Store
	prefix string
	rows   map[string]checkpoint.Row   // what must be there
	past   map[string][]checkpoint.Row // what was there before, the zero Row included
	last   func() error                // the last swap that was done, once more
}

func (m *machine) key(r *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "key")
}

func (m *machine) load(r *rapid.T) {
	k := m.key(r)
	got, err := m.store.Load(m.t.Context(), k)
	want := m.rows[k]
	if err != nil || got.Revision != want.Revision || got.Nonce != want.Nonce || string(got.Value) != string(want.Value) {
		r.Fatalf("load %s: got %+v, %v, want %+v", k, got, err, want)
	}
}

func (m *machine) swap(r *rapid.T) {
	k, value, mark := m.key(r), rapid.StringN(0, 8, 32).Draw(r, "value"), nonce()
	old := m.rows[k]
	do := func() (checkpoint.Row, error) {
		return m.store.Swap(m.t.Context(), k, old, []byte(value), mark, 0)
	}
	row, err := do()
	if err != nil || row.Revision <= old.Revision || row.Nonce != mark || string(row.Value) != value {
		r.Fatalf("swap %s: got %+v, %v, want %q over revision %d", k, row, err, value, old.Revision)
	}
	m.past[k] = append(m.past[k], old)
	m.rows[k] = row
	m.last = func() error {
		again, err := do()
		if m.rows[k].Revision != row.Revision { // written since
			if !errors.Is(err, botmesh.ErrConflict) {
				return errors.Join(errors.New("an overwritten write made again is no conflict"), err)
			}
			return nil
		}
		if err == nil && again.Revision != row.Revision {
			return errors.New("a write made again has a revision of its own")
		}
		return err
	}
}

func (m *machine) stale(r *rapid.T) {
	k := m.key(r)
	if len(m.past[k]) == 0 {
		r.Skip()
	}
	old := rapid.SampledFrom(m.past[k]).Draw(r, "old")
	if row, err := m.store.Swap(m.t.Context(), k, old, []byte("stale"), nonce(), 0); !errors.Is(err, botmesh.ErrConflict) {
		r.Fatalf("swap %s of stale revision %d: got %+v, %v, want ErrConflict", k, old.Revision, row, err)
	}
}

func (m *machine) again(r *rapid.T) {
	if m.last == nil {
		r.Skip()
	}
	if err := m.last(); err != nil {
		r.Fatal(err)
	}
}
