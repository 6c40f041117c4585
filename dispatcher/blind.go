package dispatcher

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/botmesh-go/botmesh/checkpoint"
)

// A blind turn was given without asking the coordinator, which is away: others may
// hold the chat, too. Nothing goes wrong by that, as one of them wins each
// compare-and-set. That they do not all run what one of them can apply is up to claims:
// each run begins with one in the checkpoint, renewed while it lasts, and whoever finds
// a fresh one of another replica leaves the chat alone for a moment.
//
// A claim says nothing of deaths here. Heartbeats are the coordinator's.

// blind reports whether others may hold the turn, too.
func (h *hold) blind() bool { return h.turn.Previous().Blind }

// claimBlind claims the head record of a blind turn, unless another replica runs it.
func (h *hold) claimBlind() error {
	c := h.cp.Claim
	if age := h.claimAge(); c != nil && c.Incarnation != h.d.cfg.Coordinator.Incarnation() && -h.d.cfg.Lease < age && age < h.d.cfg.Lease {
		lease := h.d.cfg.Lease // each looks again at a moment of its own
		return &laterError{time.Now().Add(lease/60 + rand.N(lease/15)), "another replica runs the next record"}
	}
	return h.writeClaim()
}

// renewClaim keeps the claim of a blind turn fresh. botmesh.ErrConflict says that
// another replica was first, so that the rest of a long run need not be paid for.
func (h *hold) renewClaim() error {
	if !h.blind() || h.claimAge() < h.d.cfg.Lease/6 {
		return nil
	}
	return h.writeClaim()
}

// claimAge is how old the claim of the head record is, as far as the clocks of two
// machines can say.
func (h *hold) claimAge() time.Duration {
	if h.cp.Claim == nil {
		return math.MaxInt64
	}
	return time.Since(h.cp.Claim.At)
}

// writeClaim is the commit of a claim. A crash after it holds the chat up for a
// lease.
func (h *hold) writeClaim() error {
	me, next := h.d.cfg.Coordinator.Incarnation(), h.cp
	alone := next.Claim != nil && next.Claim.Incarnation == me && next.Claim.Alone
	next.Claim, next.Effects = &checkpoint.Claim{Incarnation: me, At: time.Now(), Alone: alone}, nil
	return h.write(h.ctx, next, 0, math.MaxInt)
}

// renewals ticks while a run of a blind turn is to renew its claim.
func (h *hold) renewals() (tick <-chan time.Time, stop func()) {
	if !h.blind() {
		return nil, func() {}
	}
	t := time.NewTicker(h.d.cfg.Lease / 3)
	return t.C, t.Stop
}
