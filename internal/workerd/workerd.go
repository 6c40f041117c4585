// Package workerd is a worker replica: the rooms that a bot needs, wired by the
// settings around what runs the bot.
//
// It takes chats in turns until it is told to stop, and drains then. It stands
// alone: a server that is away is waited for, streams that were made anew are
// opened anew.
//
// What belongs here: the wiring, in the order in which it is made and ended. What
// a room does is its own.
package workerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// closeTime bounds how long the turns that are left are given back.
const closeTime = 2 * time.Second

// Program is the worker as a program: its name, its defaults and what it needs.
// How it runs is the caller's.
func Program() program.Program {
	return program.Program{
		Name:     "botmesh-worker",
		Defaults: map[string]string{"admin_listen": "127.0.0.1:9090"},
		Check:    config.Config.CheckWorker,
	}
}

// Config configures a worker. Settings and Runner are required.
type Config struct {
	Settings config.Config
	// Runner runs the bot.
	Runner dispatcher.Runner
	// Coordination defaults to Redis, by the settings.
	Coordination engine.Coordination
	// Senders are providers of the program's own, beside those that the settings know.
	Senders []provider.Sender
	// Limiter keeps calls within the platforms' limits. Defaults to one for all
	// workers of the same Redis, or for this worker without one.
	Limiter outbox.Limiter
	// Inside connects to a NATS server in this process; nil goes by the settings.
	Inside nats.InProcessConnProvider
	// Seams are for tests.
	Seams   Seams
	Version string
	Log     *slog.Logger // defaults to discarding
}

// Worker is a worker replica. Make one with [New] and call [Worker.Run] once.
type Worker struct {
	cfg     Config
	conn    *jet.Conn
	senders senders
	api     http.Handler // nil if it is off

	mu      sync.Mutex
	serving *dispatcher.Dispatcher // nil while there is none
	rooms   *admin.Rooms           // as long
	reach   coord.Reacher          // nil if the coordinator is always there
}

// New connects a worker to its servers, which need not be there yet. What is
// wrong with the settings is marked as such.
func New(ctx context.Context, cfg Config) (*Worker, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w := &Worker{cfg: cfg}
	var err error
	if w.senders, err = newSenders(cfg.Settings); err != nil {
		return nil, config.Wrong(err)
	}
	w.senders.all = append(w.senders.all, cfg.Senders...)
	for i, s := range w.senders.all {
		w.senders.all[i] = through(cfg.Seams.Sender, s)
	}
	if w.cfg.Coordination == nil {
		if w.cfg.Coordination, err = engine.DialRedis(ctx, cfg.Settings, cfg.Log); err != nil {
			return nil, err
		}
	}
	if w.cfg.Limiter == nil {
		if w.cfg.Limiter, err = newLimiter(cfg.Settings, w.cfg.Coordination, cfg.Log); err != nil {
			return nil, config.Wrong(errors.Join(err, w.cfg.Coordination.Close()))
		}
	}
	if w.conn, err = engine.Dial(ctx, cfg.Settings, "botmesh-worker "+cfg.Settings.ReplicaID, cfg.Inside, cfg.Log); err != nil {
		return nil, errors.Join(err, w.cfg.Coordination.Close())
	}
	if w.api, err = w.newAPI(); err != nil {
		w.close(ctx)
		return nil, err
	}
	return w, nil
}

// Run serves chats until ctx ends, drains within the settings' Drain and closes
// what New opened. The error is nil after a drain.
func (w *Worker) Run(ctx context.Context) error {
	defer w.close(ctx)
	telemetry.Zero(ctx, w.senders.ids()...)
	for {
		err := w.serve(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, journal.ErrEpochChanged):
			w.cfg.Log.Warn("a stream was made anew, opening all again", "err", err)
		default:
			return err
		}
	}
}

func (w *Worker) close(ctx context.Context) {
	w.senders.close()
	engine.Close(ctx, w.conn, w.cfg.Log)
	if err := w.cfg.Coordination.Close(); err != nil {
		w.cfg.Log.Warn("the coordination was not closed in order", "err", err)
	}
}

// serve opens the rooms and runs a dispatcher on them until it has drained.
func (w *Worker) serve(ctx context.Context) error {
	if err := engine.Prepare(ctx, w.conn, w.cfg.Settings, w.cfg.Log); err != nil {
		return err
	}
	coordinator, err := w.cfg.Coordination.New()
	if err != nil {
		return config.Wrong(fmt.Errorf("workerd: %w", err))
	}
	seen := coordinator
	reach, _ := seen.(coord.Reacher)
	coordinator = through(w.cfg.Seams.Coordinator, coordinator)
	defer w.leave(ctx, coordinator)
	o, err := w.open(ctx, coordinator)
	if err != nil {
		return err
	}
	turns, _ := coord.As[admin.Turns](seen)
	w.set(o.dispatcher, reach, &admin.Rooms{
		Journal: o.journal, Store: o.store, Outbox: o.outbox, Acts: o.acts, Pauses: o.pauses, Turns: turns, Coordination: engine.NameRedis(w.cfg.Settings),
	})
	defer w.set(nil, nil, nil)
	following, stop := context.WithCancel(context.WithoutCancel(ctx)) // until the dispatcher has drained
	var follower sync.WaitGroup
	follower.Go(func() {
		if err := o.pauses.Run(following); err != nil {
			w.cfg.Log.Error("pauses are not followed", "err", err)
		}
	})
	follower.Go(func() {
		count(following, waiting{journal: o.journal, store: o.store, outbox: o.outbox, pauses: o.pauses})
	})
	defer follower.Wait()
	defer stop()
	w.cfg.Log.Info("serving", "incarnation", coordinator.Incarnation())
	return o.dispatcher.Run(ctx)
}

// leave gives back what turns are left, so that others need not wait for a lease
// to run out.
func (w *Worker) leave(ctx context.Context, c coord.Coordinator) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		w.cfg.Log.Warn("the coordinator was not closed in order", "err", err)
	}
}

func (w *Worker) set(d *dispatcher.Dispatcher, r coord.Reacher, rooms *admin.Rooms) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serving, w.reach, w.rooms = d, r, rooms
}

// opened are the rooms that are looked at and acted on, nil while they are not open.
func (w *Worker) opened() *admin.Rooms {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rooms
}

func (w *Worker) reacher() coord.Reacher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reach
}

func (w *Worker) dispatcher() *dispatcher.Dispatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.serving
}
