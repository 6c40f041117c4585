package dispatcher

import (
	"context"

	"github.com/botmesh-go/botmesh"
)

// Runner decides what a record does. Package worker holds the one of a bot.
type Runner interface {
	// Run handles one record and says what follows from it. It may be called again
	// with the same record, here or on another replica, until an Outcome of it is
	// committed; what it decides may differ each time.
	//
	// An error is a failed try: the record is run again after a pause, and set
	// aside when its tries are used up. One that is botmesh.ErrStranded spends no try: the
	// record waits, and what is behind it, for a replica whose Runner can go on from the
	// state, or for one that leads out ([Leaver]). The context ends when the turn is lost or
	// the run took longer than Settle, or what it said in place of that
	// ([botmesh.Settler]); a run that goes on all the same is cut off, and what it does later has no effect.
	Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error)
}

// Within is a [Runner] around another: what that is beside a Runner, this one is too.
type Within interface {
	// Unwrap returns the Runner within.
	Unwrap() Runner
}

// as returns a Runner, or one within it, as what else it is.
func as[T any](r Runner) (t T, ok bool) {
	for r != nil {
		if t, ok = r.(T); ok {
			return t, true
		}
		w, around := r.(Within)
		if !around {
			break
		}
		r = w.Unwrap()
	}
	return t, false
}

// Leaver is a [Runner] whose users can leave a conversation that it can not go on with.
type Leaver interface {
	// Leaves reports whether a record ends the chat's conversation wherever that stands. A
	// record whose run was botmesh.ErrStranded has no effect if such a one is behind it.
	Leaves(r botmesh.Record) bool
}

// HandoverObserver is a [Runner] that wants to hear of conversations which it has from
// another process.
type HandoverObserver interface {
	// HandedOver is called when the commit of [botmesh.Outcome.Handover] has landed, once,
	// or not at all if the process dies at that moment. The context ends after a tenth of
	// a lease, and nobody waits for longer.
	HandedOver(ctx context.Context, m botmesh.Handover)
}

// LossObserver is a [Runner] that wants to hear of turns which its replica lost.
type LossObserver interface {
	// TurnLost is called when a turn is found to be lost, or a run was cut off, once for
	// each. The context ends after a tenth of a lease, and nobody waits for longer.
	TurnLost(ctx context.Context, m botmesh.TurnLost)
}
