package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Memory is a [Store] inside the process, and the reference reading of its
// contract. All replicas that shall see the same checkpoints share one Memory.
// The zero value is an empty one.
type Memory struct {
	// MaxBytes bounds a value, as a server does. Zero is 1 MiB.
	MaxBytes int

	mu   sync.Mutex
	last uint64 // revision, of all keys together
	rows map[string]memoryRow
}

type memoryRow struct {
	Row
	ends time.Time // zero: never
}

var _ Store = (*Memory)(nil)

// Load returns the row of a key.
func (m *Memory) Load(ctx context.Context, key string) (Row, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.load(key), nil
}

// Swap replaces old by value.
func (m *Memory) Swap(ctx context.Context, key string, old Row, value []byte, nonce string, ttl time.Duration) (Row, error) {
	if err := ctx.Err(); err != nil {
		return Row{}, fmt.Errorf("checkpoint: swap %s: %w: %w", key, botmesh.ErrUnknown, err)
	}
	if limit := cmp.Or(m.MaxBytes, 1<<20); len(value) > limit {
		return Row{}, fmt.Errorf("checkpoint: swap %s: %w: %d bytes, want at most %d", key, botmesh.ErrTooLarge, len(value), limit)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.load(key)
	switch {
	case is.Revision > 0 && is.Nonce == nonce: // this very write, made before
		return is, nil
	case is.Revision != old.Revision:
		return Row{}, fmt.Errorf("checkpoint: swap %s: %w: revision is %d, want %d", key, botmesh.ErrConflict, is.Revision, old.Revision)
	}
	m.last++
	row := memoryRow{Row: Row{Value: slices.Clone(value), Revision: m.last, Nonce: nonce, Written: time.Now()}}
	if ttl > 0 {
		row.ends = row.Written.Add(ttl)
	}
	if m.rows == nil {
		m.rows = map[string]memoryRow{}
	}
	m.rows[key] = row
	return m.load(key), nil
}

// Keys calls each for every key, in order.
func (m *Memory) Keys(ctx context.Context, each func(key string) bool) error {
	m.mu.Lock()
	keys := slices.Sorted(maps.Keys(m.rows))
	m.mu.Unlock()
	for _, key := range keys {
		row, err := m.Load(ctx, key)
		if err != nil {
			return err
		}
		if row.Revision > 0 && !each(key) {
			return nil
		}
	}
	return nil
}

// load returns a copy of a row, and drops it if its time passed. It is called with
// the lock held.
func (m *Memory) load(key string) Row {
	row := m.rows[key]
	if !row.ends.IsZero() && !time.Now().Before(row.ends) {
		delete(m.rows, key)
		return Row{}
	}
	row.Value = slices.Clone(row.Value)
	return row.Row
}
