package dispatcher

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/botmesh-go/botmesh/checkpoint"
)

// A blind turn was given without asking the coordinator, which is away: others may
// hold the chat, too. Nothing goes wrong by that, as of two that replace one revision
// one wins. That they do not all run what one of them can apply is up to claims: each
// run begins with one in the checkpoint, renewed while it lasts, and whoever finds one
// of another replica leaves the chat alone until nothing was written there for a lease,
// by its own clock. So does a loser, for a moment: two that try again at once would
// take each other's claims for ever.
//
// A claim says nothing of deaths here. Heartbeats are the coordinator's.

// sighting is when a checkpoint with the claim of another replica was first seen.
type sighting struct {
	revision uint64
	nonce    string
	at       time.Time
}

// blind reports whether others may hold the turn, too.
func (h *hold) blind() bool { return h.turn.Previous().Blind }

// claimBlind claims the head record of a blind turn, unless another replica runs it.
func (h *hold) claimBlind() error {
	if h.rivalled() {
		return h.leaveAlone()
	}
	return h.writeClaim(h.ctx, false)
}

// rivalled reports whether the head record is claimed by another replica that may be
// alive. When that wrote its claim, its own clock says, which this one is not compared with.
func (h *hold) rivalled() bool {
	c := h.cp.Claim
	if c == nil || c.Incarnation == h.d.cfg.Coordinator.Incarnation() {
		return false
	}
	seen, ok := h.d.rivals.get(h.key)
	if !ok || seen.revision != h.row.Revision || seen.nonce != h.row.Nonce {
		seen = sighting{h.row.Revision, h.row.Nonce, time.Now()}
		h.d.rivals.put(h.key, seen)
	}
	return time.Since(seen.at) < h.d.cfg.Lease
}

// leaveAlone puts a chat off for a moment that is each replica's own.
func (h *hold) leaveAlone() error {
	lease := h.d.cfg.Lease
	return &laterError{time.Now().Add(lease/60 + rand.N(lease/15)), "another replica runs the next record"}
}

// renewClaim keeps the claim of a blind turn fresh. botmesh.ErrConflict says that
// another replica was first, so that the rest of a long run need not be paid for.
func (h *hold) renewClaim(ctx context.Context) error {
	if !h.blind() || h.claimAge() < h.d.cfg.Lease/6 {
		return nil
	}
	return h.writeClaim(ctx, h.cp.Claim != nil && h.cp.Claim.Alone)
}

// claimAge is how old this replica's claim of the head record is.
func (h *hold) claimAge() time.Duration {
	if h.cp.Claim == nil {
		return math.MaxInt64
	}
	return time.Since(h.cp.Claim.At)
}

// writeClaim is the commit of a claim. A crash after it holds the chat up for a lease.
func (h *hold) writeClaim(ctx context.Context, alone bool) error {
	next := h.cp
	next.Claim = &checkpoint.Claim{Incarnation: h.d.cfg.Coordinator.Incarnation(), At: time.Now(), Alone: alone}
	next.Effects = nil
	return h.write(ctx, next, 0, math.MaxInt)
}

// renewals ticks while a run of a blind turn is to renew its claim.
func (h *hold) renewals() (tick <-chan time.Time, stop func()) {
	if !h.blind() {
		return nil, func() {}
	}
	t := time.NewTicker(h.d.cfg.Lease / 3)
	return t.C, t.Stop
}
