package coord

import (
	"context"
	"iter"
	"time"
)

// Kind is what a key names. The same key may name one of each.
type Kind string

// The kinds of keys.
const (
	KindTurn Kind = "turn" // [Coordinator.Take]
	KindLead Kind = "lead" // [Elector]
	KindLock Kind = "lock" // [Locker]
)

// Viewer shows what a coordinator knows, for operators. It changes nothing. Both
// coordinators of this module implement it.
type Viewer interface {
	// Inspect shows one key; one that nobody holds any more as long as it is
	// remembered. It returns botmesh.ErrNotFound if nothing is known of it, and
	// botmesh.ErrRefused if Redis does not answer.
	Inspect(ctx context.Context, kind Kind, key string) (View, error)

	// List shows the keys of a kind that are not [View.Idle]: held, waited for, or
	// whose last holder died, in no order. What changes meanwhile may be missing or come twice. After
	// an error nothing follows. It reads through all keys of all kinds: for
	// operators, not for programs.
	List(ctx context.Context, kind Kind) iter.Seq2[View, error]
}

// Breaker ends what somebody holds, for operators. Both coordinators of this module
// implement it.
type Breaker interface {
	// Break ends the turn, the leadership or the lock of a key as if its lease had run
	// out, if it is held under that fence, and grants the next in line. After nil it is
	// not held under that fence any more. Whoever held it finds out with the next renewal,
	// of a turn within a third of a lease: until then two may be at it, of whom the fence
	// tells the later one.
	//
	// It returns botmesh.ErrRefused or ErrUnknown if Redis does not answer, and may be
	// repeated.
	Break(ctx context.Context, kind Kind, key string, fence uint64) error
}

// View is what is known of a key at one moment.
type View struct {
	Kind  Kind
	Key   string
	Fence uint64 // the last that was given
	// Holder is the incarnation that holds the key, empty if nobody does.
	Holder string
	// Since is when the holder's turn began, and Left how long its lease still
	// lasts if it is not renewed.
	Since time.Time
	Left  time.Duration
	// Waiting are the live tickets in line, the next one first.
	Waiting []Ticket
	// Previous is who held the key before the holder, or last if nobody holds it. Of a
	// lock it is who took it, whoever released it.
	Previous Previous
	// Deaths counts the holders in a row whose lease ran out. It is zero for locks:
	// those are to run out, whoever took them.
	Deaths int
}

// Idle reports whether nobody holds the key or waits for it, and the last holder
// gave it up.
func (v View) Idle() bool { return v.Holder == "" && len(v.Waiting) == 0 && v.Deaths == 0 }

// Ticket is a place in a key's line.
type Ticket struct {
	Incarnation string
	Place       uint64 // zero: by arrival
}
