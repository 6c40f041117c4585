package dispatcher

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/telemetry"
)

// A record that ends its process takes others with it: whatever else ran there.
// Each of them has a death to its name, and only one is to blame. So from the second
// death on a record is a suspect and runs with no other beside it in its process,
// and from then on only a death during such a run counts. The innocent come through
// their first; the guilty is convicted by its second.
//
// Nor is to blame who did not run. A record that waits, for its next try or for another
// build, has no claim, and each of its runs begins with one.
const (
	suspected = 2 // deaths from which a record runs alone
	convicted = 4 // deaths from which it does not run any more
)

// claim marks a record that is about to run under a turn whose previous holder
// did not give it up, and counts a death if that holder is gone. The write also
// makes whatever that holder still commits fail early.
func (h *hold) claim(r botmesh.Record) error {
	if h.blind() {
		return h.claimBlind()
	}
	if h.claimed {
		return nil
	}
	tries := h.tries(r)
	died, needed, err := h.lastRun(r, tries)
	if err != nil || !needed {
		h.claimed = err == nil
		return err
	}
	if died {
		tries.Deaths++
	}
	next := h.cp
	next.Claim = nil
	if !waits(tries) {
		next.Claim = &checkpoint.Claim{Incarnation: h.d.cfg.Coordinator.Incarnation(), At: time.Now()}
	}
	next.Tries, next.Effects = &tries, nil
	ctx := telemetry.Extract(h.ctx, r.Trace)
	if err := h.write(ctx, next, 0, math.MaxInt); err != nil {
		return err
	}
	h.claimed = true
	if died {
		telemetry.Deaths.Add(ctx, 1)
		h.d.log.WarnContext(ctx, "the last holder died during a turn", "chat", h.chat, "seq", r.Seq, "deaths", tries.Deaths)
	}
	return nil
}

// lastRun reports whether the process died that may have run a record before this
// turn, and whether that is to be written.
func (h *hold) lastRun(r botmesh.Record, tries checkpoint.Tries) (died, write bool, err error) {
	prev, claim := h.turn.Previous(), h.cp.Claim
	unclean := prev.Incarnation != "" && !prev.Released
	switch {
	case tries.Deaths >= suspected:
		// Who held the chat without running it alone died of something else.
		if claim == nil || !claim.Alone || prev.Released && prev.Incarnation == claim.Incarnation {
			return false, false, nil
		}
		if !unclean || prev.Incarnation != claim.Incarnation {
			// The coordinator may have forgotten, heartbeats too. After a lease who lives has
			// brought its own back, and who died has none.
			if err := h.backOff(time.Now().Add(h.d.cfg.Lease)); err != nil {
				return false, false, err
			}
		}
		died, err = h.died(claim.Incarnation)
		return died, true, err
	case waits(tries) && (claim == nil || unclean && claim.Incarnation != prev.Incarnation):
		return false, false, nil // its last run had ended, the next one not begun
	case unclean:
		died, err = h.died(prev.Incarnation)
		return died, true, err
	case prev.Released:
		return false, false, nil
	}
	// A coordinator that lost its memory knows no previous holder: there a nudge that
	// came before is the sign, and the claim of one who ran tells whether it died.
	switch {
	case claim == nil, claim.Incarnation == h.d.cfg.Coordinator.Incarnation():
		return false, h.first.Seq == r.Seq && h.first.Delivered > 1, nil
	case time.Since(claim.At) <= h.d.cfg.Lease:
		return false, false, nil // too early to tell: the claim stands for the next one to look
	}
	died, err = h.died(claim.Incarnation)
	return died, died, err
}

// waits reports whether a record that has such tries is left alone between its runs.
func waits(t checkpoint.Tries) bool { return t.N > 0 || !t.Stranded.IsZero() }

// died reports whether another process is gone.
func (h *hold) died(incarnation string) (bool, error) {
	if incarnation == h.d.cfg.Coordinator.Incarnation() {
		return false, nil
	}
	alive, err := h.d.cfg.Coordinator.Alive(h.ctx, incarnation)
	if err != nil {
		return false, chatError("look for the last holder of", h.chat, err)
	}
	return !alive, nil
}

// company waits until a record may run: a suspect until nothing else runs in this
// process, any other until no suspect does. leave must be called after the run, whose
// context ctx is.
func (h *hold) company(ctx context.Context, tries checkpoint.Tries) (leave func(), err error) {
	weight := int64(1)
	if tries.Deaths >= suspected {
		weight = int64(h.d.cfg.Concurrency)
	}
	if !h.d.runs.TryAcquire(weight) {
		h.enter(PhaseQueued, h.fence)
		waiting, cancel := context.WithCancel(h.ctx)
		defer cancel()
		defer context.AfterFunc(h.d.soft, cancel)()
		if err := h.d.runs.Acquire(waiting, weight); err != nil {
			if h.ctx.Err() != nil {
				return nil, context.Cause(h.ctx)
			}
			return nil, &laterError{time.Now(), "draining"}
		}
	}
	leave = func() { h.d.runs.Release(weight) }
	claim := h.renewClaim
	switch c := h.cp.Claim; {
	case tries.Deaths >= suspected:
		claim = h.claimAlone
	case waits(tries) && (c == nil || c.Incarnation != h.d.cfg.Coordinator.Incarnation()):
		claim = func(ctx context.Context) error { return h.writeClaim(ctx, false) }
	}
	if err := claim(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// claimAlone notes that the head record runs alone from now on. A crash before it
// is nobody's fault; one after it is this record's.
func (h *hold) claimAlone(ctx context.Context) error { return h.writeClaim(ctx, true) }

// unclaim takes the claim of a lone run away that was cut off, or of another try, so that
// this process may end without being counted, and that of a blind turn, so that nobody
// waits for it.
// Best effort: whoever is granted the turn next sees that it was given up, unless it
// dies before it has looked; whoever comes blind waits for a lease.
func (h *hold) unclaim() {
	claim := h.cp.Claim
	if !h.current || claim == nil || claim.Incarnation != h.d.cfg.Coordinator.Incarnation() {
		return
	}
	if !claim.Alone && !h.blind() && (h.cp.Tries == nil || !waits(*h.cp.Tries)) {
		return
	}
	next := h.cp
	next.Claim, next.Effects = nil, nil
	if err := h.write(h.ctx, next, 0, math.MaxInt); err != nil {
		h.current = false // it may be there
		h.d.log.WarnContext(h.ctx, "the claim of a run that was cut off is left", "chat", h.chat, "err", err)
	}
}

// errKills is why a record is convicted.
func errKills(deaths int) error {
	return fmt.Errorf("its process ended during its run, %d times, with nothing beside it in the last %d", deaths, convicted-suspected)
}
