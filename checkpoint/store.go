// Package checkpoint keeps one value per chat, replaced only by compare-and-set.
//
// The compare-and-set of a chat's checkpoint is the moment a record takes
// effect, and the only fence that safety rests on: of two writers that replace
// the same revision one wins.
//
// What belongs here: the contract ([Store]), its in-process reference
// ([Memory]), and the checkpoint itself with its encoding ([Checkpoint]). Package
// checkpointtest holds the suite that every store passes; each backend is a
// package of its own, so that a driver is linked only by who asks for it. When to
// write what does not belong here: that is the dispatcher's.
package checkpoint

import (
	"context"
	"time"
)

// Row is a stored value with what a replacement must name.
type Row struct {
	Value []byte
	// Revision is the backend's own; zero means that there is nothing. Revisions
	// of one key grow while the key lives. Nonce is the writer's mark on this very
	// write: a backend whose revisions can repeat compares both.
	Revision uint64
	Nonce    string
	// Written is the backend's time of the write; a Row that Swap returned may have
	// the writer's own instead.
	Written time.Time
}

// Store keeps one row per key. Safe for concurrent use.
type Store interface {
	// Load returns the row of a key as its authority sees it, never a lagging
	// copy. A key that is not there, or whose time to live passed, is the zero
	// Row and no error.
	//
	// Errors: botmesh.ErrRefused if the store could not answer, or the context's.
	Load(ctx context.Context, key string) (Row, error)

	// Swap replaces old by value, in one atomic operation of the backend, if the
	// row is still old (the zero Row: if there is none). A ttl above zero
	// removes the row after that time; a later Swap without one keeps it for good.
	//
	// The nonce must be unique to this write: a lost answer is settled by reading
	// the key for it, and while the row is unchanged by the identical write again.
	// So the same Swap again is done, if its row is still there.
	//
	// Errors: botmesh.ErrConflict if the row is another's. This write is not there
	// and will not land. If its answer was lost it may have been there and been
	// replaced since, by a writer who saw it: reload, and go by what the row says.
	// botmesh.ErrRefused (ErrTooLarge): nothing was written and nothing will be.
	// botmesh.ErrUnknown: the context ended before it could be settled; the write
	// may be there, or may yet land.
	Swap(ctx context.Context, key string, old Row, value []byte, nonce string, ttl time.Duration) (Row, error)

	// Keys calls each for every key of the store until it returns false. It may
	// miss keys written meanwhile.
	Keys(ctx context.Context, each func(key string) bool) error
}
