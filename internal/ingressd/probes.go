package ingressd

import (
	"context"
	"errors"
	"time"

	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/ingress/spool"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/private"
)

// Status is what an ingress shows of itself.
type Status struct {
	Replica string `json:"replica"`
	Bot     string `json:"bot"`
	Version string `json:"version"`
	// At is when this was so, by the ingress's clock.
	At time.Time `json:"at"`
	// Trouble is what keeps messages from being stored, empty if nothing is known.
	Trouble string `json:"trouble,omitempty"`
	// Spool is what waits on the disk until it is stored in NATS, nil if there is none.
	Spool *spool.Status `json:"spool,omitempty"`
	// Sessions are those that the ingress holds or stands by for.
	Sessions []ingress.SessionStatus `json:"sessions,omitempty"`
}

// Probes are what the private address asks.
func (in *Ingress) Probes() private.Probes {
	return private.Probes{Ready: in.Ready, Note: in.note, Status: func() any { return in.Status() }}
}

// Ready says why a message would not be taken or stored now, or nil. Who stands by
// for a session is ready; who holds it and receives nothing is not.
func (in *Ingress) Ready(ctx context.Context) error {
	return errors.Join(in.Stores(ctx), in.sessions.ready())
}

// Stores says why a webhook would not be stored now, or nil. What is kept on the disk is
// stored.
func (in *Ingress) Stores(ctx context.Context) error {
	err := in.conn.Healthy()
	if err == nil {
		err = engine.Writable(ctx, in.inbox, in.cfg.Settings.Bot)
	}
	if in.keeps() {
		return nil
	}
	return err
}

// Status returns what the ingress knows of itself now.
func (in *Ingress) Status() Status {
	s := Status{Replica: in.cfg.Settings.ReplicaID, Bot: in.cfg.Settings.Bot, Version: in.cfg.Version, At: time.Now(), Spool: in.spooled(), Sessions: in.sessions.status()}
	if err := in.conn.Healthy(); err != nil {
		s.Trouble = err.Error()
	}
	return s
}
