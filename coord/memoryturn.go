package coord

import (
	"context"

	"github.com/botmesh-go/botmesh"
)

// memoryTicket is a place in a key's line, and later the turn. Everything but
// the settled channel and what is fixed at its making is guarded by the hub's mu.
type memoryTicket struct {
	owner *MemoryCoordinator
	at    memorySlot
	place uint64
	floor uint64

	order, arrival uint64
	turn           *memoryTurn
	err            error
	settled        chan struct{} // closed when turn or err is set
}

// settle ends the wait of a ticket, with a turn or an error.
func (t *memoryTicket) settle(turn *memoryTurn, err error) {
	t.turn, t.err = turn, err
	if turn == nil {
		t.owner.drop(t)
	}
	close(t.settled)
}

func (t *memoryTicket) grant(fence uint64, before Previous) {
	turn := &memoryTurn{ticket: t, fence: fence, before: before}
	turn.ctx, turn.cancel = context.WithCancelCause(context.Background())
	if t.owner.gone { // a dead process's ticket that has not run out
		turn.cancel(&botmesh.LeaseLostError{Key: t.at.key, Reason: botmesh.LossUnavailable})
	}
	t.settle(turn, nil)
}

// lose ends the turn of a ticket, if it has one.
func (t *memoryTicket) lose(reason botmesh.LossReason) {
	if t.turn != nil {
		t.turn.cancel(&botmesh.LeaseLostError{Key: t.at.key, Reason: reason})
		if !t.owner.gone {
			t.owner.drop(t)
		}
	}
}

// check finds out what became of a turn.
func (t *memoryTicket) check() {
	switch known, other := t.owner.hub.find(t); {
	case known, t.owner.hub.revive(t):
	case other:
		t.lose(botmesh.LossSuperseded)
	default:
		t.lose(botmesh.LossExpired)
	}
}

// memoryTurn implements [Turn].
type memoryTurn struct {
	ticket *memoryTicket
	fence  uint64
	before Previous
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (t *memoryTurn) Key() string              { return t.ticket.at.key }
func (t *memoryTurn) Context() context.Context { return t.ctx }
func (t *memoryTurn) Fence() uint64            { return t.fence }
func (t *memoryTurn) Previous() Previous       { return t.before }

func (t *memoryTurn) Waiting() Waiting {
	hub := t.ticket.owner.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	return hub.waiting(t.ticket)
}

func (t *memoryTurn) Release(_ context.Context, passed uint64) error {
	c := t.ticket.owner
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if t.ticket.check(); t.ctx.Err() != nil { // the hub forgot, and the next look is to come
		return context.Cause(t.ctx)
	}
	t.ticket.lose(botmesh.LossReleased)
	c.hub.leave(t.ticket, passed, true)
	return nil
}
