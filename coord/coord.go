// Package coord decides who should: which replica may handle a chat now.
//
// A replica takes a ticket for a chat and waits for its turn. A turn is held
// under a lease that is renewed while it lasts and ends by itself when its
// holder dies, freezes or loses the network. Every turn has a fence that only
// grows per key.
//
// Nothing that must be right rests on this package. A coordinator may lose
// everything or grant a turn twice: what a turn does is fenced again where it
// lands, by a compare-and-set of the checkpoint. It makes work fast and fair.
//
// The same serves leaders ([Elector]) and fenced locks ([Locker]), and can be
// looked at ([Viewer]) and taken away ([Breaker]).
//
// What belongs here: tickets, turns, leases, leadership and locks; the contract
// ([Coordinator]) and its in-process reference ([MemoryCoordinator]). Package
// rediscoord holds the one for a fleet, coordtest the suite that both pass. What
// a turn is used for does not belong here.
package coord

import (
	"context"
	"errors"
	"fmt"
)

// Request asks for a turn.
type Request struct {
	// Key names what the turn is for, a chat's [botmesh.ChatKey.Key]. Never empty.
	Key string
	// Place orders the tickets of a key: the lowest live one is next. Journaled
	// work gives the journal's sequence; zero means by arrival, after all
	// tickets that are there, and is never passed. Below 2^53.
	Place uint64
	// Floor is a fence that the turn's must exceed, as far as the caller knows.
	// Below 2^53.
	Floor uint64
	// Waiting, if set, is called once, from Take, if the turn is not granted at once.
	Waiting func()
}

// maxNumber bounds places and floors: Redis scripts count in floating point.
const maxNumber = 1 << 53

// Validate says what is wrong with r, or nil.
func (r Request) Validate() error {
	switch {
	case r.Key == "":
		return errors.New("coord: a request without a key")
	case r.Place >= maxNumber:
		return fmt.Errorf("coord: place %d of %s: want below 2^53", r.Place, r.Key)
	case r.Floor >= maxNumber:
		return fmt.Errorf("coord: floor %d of %s: want below 2^53", r.Floor, r.Key)
	}
	return nil
}

// Coordinator hands out turns. Safe for concurrent use.
//
// An instance is one incarnation: a replica restarted under the same id never
// inherits the tickets, leases or fences of the process that died. It renews a
// heartbeat, its tickets and its leases until closed.
type Coordinator interface {
	// Take puts a ticket in the key's line and waits for its turn. A second Take
	// of a key by the same incarnation is a second ticket and waits like any
	// other; a caller that needs more than one at a time should think again.
	//
	// It returns a [*PassedError] if, before the turn came, a holder released
	// with a place at or past the ticket's: what the ticket was for is done. It returns
	// botmesh.ErrCoordinationUnavailable if no turn came within TurnWait, whether Redis
	// was there or not, or the coordinator was closed, and the context's cause if it
	// ended; in each case the ticket is withdrawn, at
	// the latest by its own deadline.
	Take(ctx context.Context, r Request) (Turn, error)

	// Alive reports whether the heartbeat of an incarnation is there.
	Alive(ctx context.Context, incarnation string) (bool, error)

	// Replica and Incarnation are who this coordinator is. The incarnation is
	// unique to this instance and begins with the replica's id and a slash.
	Replica() string
	Incarnation() string

	// Close withdraws what tickets are left, ends the turns that are still held
	// (released, with a wake-up) and the heartbeat, and waits for its goroutines.
	Close(ctx context.Context) error
}

// Turn is the right to handle a key, until released or lost. A turn that the
// coordinator forgot goes on if nobody else took it meanwhile.
type Turn interface {
	Key() string
	// Context ends when the turn does: with a *botmesh.LeaseLostError as its cause
	// if it was lost, with LossReleased if released. A holder that stalls for most
	// of the lease loses its turn by its own clock before it can expire in Redis.
	Context() context.Context
	// Fence grows with every grant of the key.
	Fence() uint64
	// Previous says who held the turn before.
	Previous() Previous
	// Waiting says what is in line behind this turn, as of the last answer from
	// the coordinator (the grant or a renewal, every third of a lease).
	Waiting() Waiting
	// Release gives the turn up; its context ends at once. Tickets at or below
	// passed are dropped with it, and their Takes return a *PassedError; the next
	// live ticket is granted and woken. Zero passes nothing. It is called once.
	//
	// It returns a *botmesh.LeaseLostError if the turn was lost before: another
	// may hold it, and nothing was passed. After botmesh.ErrUnknown or ErrRefused
	// it is repeated in the background until it is done or the lease has run out; if
	// the coordinator is closed meanwhile, once more by Close.
	Release(ctx context.Context, passed uint64) error
}

// Previous is the holder of a turn before this one.
type Previous struct {
	// Incarnation of the previous holder, empty when unknown: the key is new, was
	// idle for long, or the coordinator lost its memory. A turn that came too late
	// for its Take, and so was never used, has no holder.
	Incarnation string
	// Released says that it gave the turn up itself. False with an incarnation
	// means that its lease ran out: it died, froze, or lost the coordinator.
	Released bool
	// Passed is the highest place that was ever passed by a release, as far as
	// known; zero if unknown.
	Passed uint64
	// Blind says that the turn was given without asking anybody ([Optimistic]): who
	// held the key before is not known, and others may hold it now.
	Blind bool
}

// Waiting is the line behind a turn.
type Waiting struct {
	// Tickets counts the live tickets in line, the turn's own not included.
	Tickets int
	// Highest is the highest place among the tickets in line and the turn's own.
	Highest uint64
}

// PassedError says that a ticket's place was passed by the release of another
// holder, without a grant.
type PassedError struct {
	Key    string
	Passed uint64 // the place given to Release
}

func (e *PassedError) Error() string {
	return "coord: ticket for " + e.Key + " was passed by another holder"
}
