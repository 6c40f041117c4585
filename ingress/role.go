package ingress

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// RoleChange says what a replica is to a session now.
type RoleChange struct {
	// Provider is the id of the session's provider, Name what is led: "provider:<id>".
	Provider, Name string
	Role           Role
	// Fence grows with every leader of the name, zero for the other roles.
	Fence uint64
	// Reason is "elected" of a leader and "shared" where every replica holds the session.
	// Of a standby it is why it holds it no more: "stopped" by its program, "down" (the
	// session stayed closed), "taken" (from outside), or the [botmesh.LossReason] of its
	// leadership.
	Reason string
}

// tellTime is how long who is told of a change of roles may take.
const tellTime = time.Second

// tell tells of a change once the telling of the one before is over. The channel is closed
// when who is told has returned, or has taken too long.
func (h *Holder) tell(before <-chan struct{}, c RoleChange) <-chan struct{} {
	over := make(chan struct{})
	if h.cfg.OnRole == nil {
		close(over)
		return over
	}
	go func() {
		defer close(over)
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(context.Background(), tellTime)
		defer cancel()
		told := make(chan struct{})
		go func() {
			defer close(told)
			defer func() {
				if p := recover(); p != nil {
					h.cfg.Logger.Error("OnRole panicked", "name", h.name(), "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				}
			}()
			h.cfg.OnRole(ctx, c)
		}()
		select {
		case <-told:
			return
		case <-ctx.Done():
		}
		h.cfg.Logger.Error("OnRole takes too long, it is left behind", "name", h.name())
	}()
	return over
}
