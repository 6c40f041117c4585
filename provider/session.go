package provider

import (
	"context"
	"errors"

	"github.com/botmesh-go/botmesh"
)

// ErrTaken is matched by the error of a [Session] that the platform ended since
// another one was opened in its place. Whoever is thrown out so asks first whether
// the session is still its own to hold: two that open it again at once take it from
// each other for ever.
var ErrTaken = errors.New("provider: the session was taken over")

// Session fetches what a platform has, or holds a connection open, where others
// are posted to: long polling, a gateway, a mailbox.
//
// Who runs it decides where: a session that is exclusive runs on the elected leader
// of "provider:<id>". It also keeps the pauses, so a Session never retries by itself.
type Session interface {
	// ID is the provider's instance id: one account. It is in every chat key.
	ID() string
	// Exclusive reports whether the platform bears one such session at a time.
	Exclusive() bool
	// Parse turns one item, which is what the platform sent or the session's own
	// notation of it, into records: see [Receiver.Parse]. It is pure. An error means
	// that the item is nothing of the platform's; it is then kept as an event.
	Parse(item []byte) ([]botmesh.Record, error)
	// Run opens the session and gives all that comes to sink, until ctx ends or the
	// platform closes it. It is not called twice at a time, and ends within two
	// seconds of ctx.
	//
	// What was received is confirmed to the platform, so that it does not come again,
	// only after [Sink.Store] returned nil for it; after an error never. So a crash at
	// any step loses nothing, and what comes twice is one record by its id.
	//
	// When ctx has ended with botmesh.ErrLeaseLost as its cause another replica may
	// hold the session: nothing more is said to the platform. Otherwise Run confirms
	// what was stored and takes its leave.
	//
	// The error says why the session is closed. It matches [ErrTaken] if another was
	// opened; [Retry] says how long to leave the platform alone. It holds no secret.
	Run(ctx context.Context, sink Sink) error
}

// Sink takes what a session receives.
type Sink interface {
	// Store parses the items and journals what they hold; those of one chat in order.
	// It returns nil when the journal has confirmed all, however long that takes, and
	// an error only when ctx has ended or the session is to end: then the items may
	// be stored or not, and are to come again.
	Store(ctx context.Context, items [][]byte) error
	// Alive says that the platform has just answered: the session is open. It is to
	// be called with every answer, also one that brings nothing.
	Alive()
}
