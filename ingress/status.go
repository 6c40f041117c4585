package ingress

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/telemetry"
)

// Role is what a replica is to a session.
type Role string

// The roles.
const (
	Leader  Role = "leader"  // it holds the session, and no other replica does
	Standby Role = "standby" // another replica holds it, or none can be found out to
	Shared  Role = "shared"  // it holds the session, as every replica does
)

// SessionStatus is what a replica knows of a session.
type SessionStatus struct {
	Provider string `json:"provider"`
	Role     Role   `json:"role"`
	// Since is when the replica came to that role.
	Since time.Time `json:"since"`
	// Fence grows with every leader, zero for the other roles.
	Fence uint64 `json:"fence,omitempty"`
	// Open says that the platform answers and what it gives is stored.
	Open bool `json:"open"`
	// Closed is since when the session is not open, by this replica's clock; zero if it
	// is, and for a standby.
	Closed time.Time `json:"closed,omitzero"`
	// LastAnswer is when the platform last answered this replica, LastUpdate when it
	// last brought something.
	LastAnswer time.Time `json:"last_answer,omitzero"`
	LastUpdate time.Time `json:"last_update,omitzero"`
	// Trouble is why the session is not open, empty if nothing is known.
	Trouble string `json:"trouble,omitempty"`
}

// String says it in a line.
func (s SessionStatus) String() string {
	return fmt.Sprintf("%s: %s since %s", s.Provider, s.Role, s.Since.UTC().Format(time.RFC3339))
}

// Status returns what is known now.
func (h *Holder) Status() SessionStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Ready says why nothing is received though this replica is to, or nil. A standby is
// ready.
func (h *Holder) Ready() error {
	s := h.Status()
	if s.Role == Standby || s.Open {
		return nil
	}
	return fmt.Errorf("%v and receives nothing: %s", s, s.Trouble)
}

func (h *Holder) labels() metric.MeasurementOption {
	return metric.WithAttributes(telemetry.KeyProvider.String(h.cfg.Session.ID()))
}

// became notes what this replica is to the session now, and why.
func (h *Holder) became(ctx context.Context, c RoleChange) RoleChange {
	h.mu.Lock()
	if h.status.Open {
		telemetry.SessionsOpen.Add(ctx, -1, h.labels())
	}
	h.status = SessionStatus{Provider: h.status.Provider, Role: c.Role, Since: time.Now(), Fence: c.Fence,
		LastAnswer: h.status.LastAnswer, LastUpdate: h.status.LastUpdate}
	if c.Role != Standby {
		h.status.Trouble, h.status.Closed = "it is being opened", h.status.Since
	}
	h.mu.Unlock()
	telemetry.LeaderChanges.Add(ctx, 1, metric.WithAttributes(
		telemetry.KeyProvider.String(h.cfg.Session.ID()), telemetry.KeyReason.String(c.Reason)))
	c.Provider, c.Name = h.cfg.Session.ID(), h.name()
	return c
}

// begins makes known that this replica leads nothing and has nothing open: to who watches,
// what was never measured is no 0.
func (h *Holder) begins(ctx context.Context) {
	telemetry.SessionsOpen.Add(ctx, 0, h.labels())
	if h.cfg.Elector != nil {
		telemetry.Leaders.Add(ctx, 0, h.labels())
	}
}

// began notes that this replica holds the session.
func (h *Holder) began(ctx context.Context, t *term) RoleChange {
	if t.lead == nil {
		return h.became(ctx, RoleChange{Role: Shared, Reason: "shared"})
	}
	telemetry.Leaders.Add(ctx, 1, h.labels())
	h.cfg.Logger.Info("leader of a session", "name", h.name(), "fence", t.lead.Fence())
	return h.became(ctx, RoleChange{Role: Leader, Fence: t.lead.Fence(), Reason: "elected"})
}

// ended notes that this replica holds the session no more, and why.
func (h *Holder) ended(ctx context.Context, t *term, why error) RoleChange {
	reason := reasonOf(why)
	if t.lead != nil {
		telemetry.Leaders.Add(ctx, -1, h.labels())
		h.cfg.Logger.Info("follower of a session", "name", h.name(), "fence", t.lead.Fence(), "reason", reason)
	}
	return h.became(ctx, RoleChange{Role: Standby, Reason: reason})
}

// reasonOf is the word of logs and metrics for what ended a term.
func reasonOf(why error) string {
	lost, ok := errors.AsType[*botmesh.LeaseLostError](why)
	switch {
	case ok:
		return string(lost.Reason)
	case errors.Is(why, errDown):
		return "down"
	case errors.Is(why, errTaken):
		return "taken"
	}
	return "stopped"
}

// alive notes that the platform answered.
func (h *Holder) alive(t *term) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.LastAnswer = time.Now()
	h.reopened(t)
}

// received notes that something was stored.
func (h *Holder) received(t *term) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.LastUpdate = time.Now()
	h.reopened(t)
}

func (h *Holder) reopened(t *term) {
	h.status.Trouble = ""
	if h.status.Open {
		return
	}
	h.status.Open, h.status.Closed, t.opened = true, time.Time{}, time.Now()
	telemetry.SessionsOpen.Add(context.Background(), 1, h.labels())
	if t.down != nil {
		t.down.Stop()
	}
}

// closed notes that the session is not open, and says whether it was.
func (h *Holder) closed(t *term, err error) (was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Trouble = err.Error()
	if !h.status.Open {
		return false
	}
	h.status.Open, h.status.Closed = false, time.Now()
	telemetry.SessionsOpen.Add(context.Background(), -1, h.labels())
	if time.Since(t.opened) >= h.cfg.Down {
		t.taken = false // that was long ago
	}
	if t.down != nil {
		t.down.Reset(h.cfg.Down)
	}
	return true
}

// stalled notes that what the session brought is not stored.
func (h *Holder) stalled(t *term, err error) {
	h.closed(t, err)
	h.outages.Do(func() {
		h.cfg.Logger.Error("what a session brought is not stored yet", "name", h.name(), "err", err)
	})
}
