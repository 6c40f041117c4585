package coord

import (
	"context"
	"errors"
	"time"
)

// ErrHeld says that what was asked for can not be had at once: another leads,
// holds the lock, or was in line before.
var ErrHeld = errors.New("coord: held by another")

// Elector elects one leader per name among the replicas that share it. Names are
// apart from the keys of turns and locks. Both coordinators of this module
// implement it. Safe for concurrent use.
type Elector interface {
	// TryLead leads at once or not at all, as a job does that only one replica is
	// to do. It returns [ErrHeld] if another leads or is about to, this replica
	// itself included, or while the name cools off here (see
	// [Leadership.StepDown]), and botmesh.ErrCoordinationUnavailable if Redis is
	// away; what a call without an answer may have obtained is given back.
	TryLead(ctx context.Context, name string) (Leadership, error)

	// Campaign stands in line until it leads: at once when the leader steps down
	// or closes, within a lease when it dies. Only ctx bounds the wait. It returns
	// the context's cause if it ended, and botmesh.ErrCoordinationUnavailable if
	// the coordinator was closed, or another layout of keys is in use.
	Campaign(ctx context.Context, name string) (Leadership, error)
}

// Leadership is the right to act for a name, until given up or lost. It is
// renewed while it lasts.
type Leadership interface {
	Name() string
	// Context ends when the leadership does: with a *botmesh.LeaseLostError as its
	// cause if it was lost, with LossReleased if given up. It ends by this process's
	// own clock before another can lead.
	Context() context.Context
	// Fence grows with every leader of the name.
	Fence() uint64
	// Previous says who led before. One that did not give up may have left a
	// session open on the other side.
	Previous() Previous

	// Confirm asks the coordinator, now, whether this still leads, and renews it.
	// Whoever is thrown out of an exclusive session asks before trying again, once:
	// nil means that somebody from outside took the session. It returns a
	// *botmesh.LeaseLostError if the leadership is over, and botmesh.ErrUnknown or
	// ErrRefused if there was no answer, in which case it goes on as its context does.
	Confirm(ctx context.Context) error

	// StepDown gives the leadership up; its context ends at once, and who is next
	// in line leads. For coolOff this coordinator neither leads the name again nor
	// stands in line for it, so that another can try; a Campaign waits that long
	// first. Stop what only a leader may do before. It is called once; errors are
	// those of [Turn.Release].
	StepDown(ctx context.Context, coolOff time.Duration) error
}
