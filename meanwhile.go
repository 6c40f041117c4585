package botmesh

import (
	"context"
	"errors"
)

// ErrInterrupted is the cause with which the context of a run ends that gave way to
// the chat's next message; see [Meanwhile.Interrupt].
var ErrInterrupted = errors.New("botmesh: interrupted by the chat's next message")

// Meanwhile is what a [Midway] may be too: it tells a run of messages that come while
// it runs, on whichever replica they arrive. It knows messages and pressed buttons, in
// journal order, and none behind a record of another kind. A run that does not ask is
// told nothing, and they wait for its end.
type Meanwhile interface {
	// Next waits for the message after the run's own, those of Run.Also and those that
	// it returned before. It is run by itself later, unless Outcome.Through says that
	// it was dealt with. The error is the cause of ctx, or of the run's end. It is
	// called by one goroutine at a time. One whose ctx has ended may be called again, and
	// misses nothing that came since.
	Next(ctx context.Context) (Record, error)
	// Interrupt makes the run give way to what Next has given: its context ends with
	// [ErrInterrupted], nothing of it takes effect but what it committed by then, and
	// the record is run again at once with those messages in Run.Also. No try is spent.
	// It returns an error: ErrInterrupted, or why it could not be.
	Interrupt(ctx context.Context) error
}

// MaxAlso bounds Run.Also: a run that has as many is given no more.
const MaxAlso = 16
