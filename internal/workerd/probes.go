package workerd

import (
	"context"
	"errors"
	"time"

	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/private"
)

// Status is what a worker shows of itself.
type Status struct {
	dispatcher.Status
	Bot     string `json:"bot"`
	Version string `json:"version"`
	// Trouble is what is wrong with the connection to NATS, empty if nothing.
	Trouble string `json:"trouble,omitempty"`
	// AwaySince is since when turns can not be had, of some chats at least. They wait
	// then, or are served all the same if the settings say so.
	AwaySince time.Time `json:"coordination_away_since,omitzero"`
}

// Probes are what the private address asks.
func (w *Worker) Probes() private.Probes {
	return private.Probes{
		Beat:   func() { w.Status() }, // through every lane
		Ready:  w.Ready,
		Status: func() any { return w.Status() },
		API:    w.api,
	}
}

// Ready says why no chat would be served now, or nil.
func (w *Worker) Ready(ctx context.Context) error {
	if w.dispatcher() == nil {
		return errors.Join(errors.New("not serving yet"), w.conn.Healthy())
	}
	if r := w.reacher(); r != nil { // also where chats are served without coordination: it is not away, the settings are wrong
		if err := r.Denied(); err != nil {
			return errors.Join(w.conn.Healthy(), err)
		}
	}
	return errors.Join(w.conn.Healthy(), w.cfg.Coordination.Ping(ctx))
}

// Status returns what the worker does now.
func (w *Worker) Status() Status {
	s := Status{Bot: w.cfg.Settings.Bot, Version: w.cfg.Version}
	if d := w.dispatcher(); d != nil {
		s.Status = d.Status()
	} else {
		s.Status = dispatcher.Status{Replica: w.cfg.Settings.ReplicaID, Lanes: []dispatcher.LaneStatus{}}
	}
	if r := w.reacher(); r != nil {
		s.AwaySince = r.AwaySince()
	}
	if err := w.conn.Healthy(); err != nil {
		s.Trouble = err.Error()
	}
	return s
}
