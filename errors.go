package botmesh

import (
	"errors"
	"fmt"
)

// A call to a store or an engine is done (no error), refused, in conflict or
// unknown. Unknown alone may have happened, and only a read can tell; any other
// error, also one that is none of these, says that nothing did.
var (
	// ErrUnknown says that no answer came: the call may have happened or not, or
	// may still happen. It is settled by reading, never by guessing.
	ErrUnknown = errors.New("botmesh: outcome unknown")

	// ErrConflict says that a compare-and-set was refused: what it was to replace
	// is no longer, or not yet, there. It never proves that somebody else wrote:
	// an engine may answer so to the repetition of a write of our own.
	ErrConflict = errors.New("botmesh: conflict: what the write expected is not there")

	// ErrRefused says that the engine did not take the call and nothing happened:
	// it is unavailable, full or has no leader just now. The identical call may be
	// made again.
	ErrRefused = errors.New("botmesh: refused: nothing was written")

	// ErrTooLarge says that a value is over the engine's limit. Nothing happened,
	// and the same call will never succeed. It is an [ErrRefused] too.
	ErrTooLarge = fmt.Errorf("%w: too large", ErrRefused)

	// ErrNotFound says that there is nothing at that key, subject or sequence.
	ErrNotFound = errors.New("botmesh: not found")

	// ErrCoordinationUnavailable says that a turn could not be had: it was not
	// granted within TurnWait, or Redis is away. Nothing was acknowledged and no
	// try was spent; the record is delivered again.
	ErrCoordinationUnavailable = errors.New("botmesh: coordination unavailable")

	// ErrStranded says, of a run, that this build can not go on from the chat's state; one
	// that knows what is kept there can. It is no failed try: the chat waits for such a build.
	ErrStranded = errors.New("botmesh: this build can not go on from the chat's state")

	// ErrLeaseLost matches every [LeaseLostError] with errors.Is.
	ErrLeaseLost = errors.New("botmesh: lease lost")
)

// LossReason says why a turn, leadership or lock ended before its holder was done.
type LossReason string

// The reasons of a loss. They are words of the wire, the logs and the metrics.
const (
	LossExpired     LossReason = "expired"     // the lease ran out in Redis
	LossStalled     LossReason = "stalled"     // this replica stood still for most of the lease and gave up by its own clock
	LossSuperseded  LossReason = "superseded"  // another replica holds the key, or wrote the checkpoint
	LossSettled     LossReason = "settled"     // the run took longer than Settle
	LossReleased    LossReason = "released"    // the holder released it
	LossUnavailable LossReason = "unavailable" // Redis did not answer for so long that the lease can not be trusted
)

// LeaseLostError is the cause with which the context of a turn ends when the
// turn was lost, and the error of what is attempted after that.
type LeaseLostError struct {
	Key    string // the chat's key, or the leadership's or lock's name
	Reason LossReason
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("botmesh: lease of %s lost: %s", e.Key, e.Reason)
}

// Is makes every LeaseLostError match [ErrLeaseLost].
func (e *LeaseLostError) Is(target error) bool { return target == ErrLeaseLost }
