package workerd

import (
	"context"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// opened are the rooms that a dispatcher runs on, and it.
type opened struct {
	journal    *journal.Journal
	outbox     *outbox.Outbox
	store      *natsstore.Store
	acts       *acts.Log
	pauses     *acts.Pauses
	dispatcher *dispatcher.Dispatcher
}

// open waits until the rooms can be read, and makes the dispatcher.
func (w *Worker) open(ctx context.Context, coordinator coord.Coordinator) (o *opened, err error) {
	err = engine.Await(ctx, w.cfg.Log, w.cfg.Settings, "journal and outbox", func(ctx context.Context) error {
		o, err = w.wire(ctx, coordinator)
		return err
	})
	return o, err
}

func (w *Worker) wire(ctx context.Context, coordinator coord.Coordinator) (*opened, error) {
	s := w.cfg.Settings
	o := &opened{store: natsstore.New(w.stream(natsstore.Stream(s.Bot, s.Replicas).Name), s.Bot)}
	if err := w.openActs(ctx, o); err != nil {
		return nil, err
	}
	var err error
	o.journal, err = journal.Open(ctx, journal.Config{
		Bot:     s.Bot,
		Inbox:   w.stream(journal.InboxStream(s.Bot)),
		Dead:    w.stream(journal.DeadStream(s.Bot)),
		AckWait: s.Lease,
		Logger:  w.cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	o.outbox, err = outbox.Open(ctx, outbox.Config{
		Stream:      w.stream(outbox.StreamName(s.Bot)),
		Bot:         s.Bot,
		Incarnation: coordinator.Incarnation(),
		Senders:     w.senders.all,
		InDoubt:     w.senders.inDoubt,
		Dead:        SetAside(o.journal),
		Paused:      func(chat botmesh.ChatKey) bool { return o.pauses.Known(chat).On },
		Limiter:     w.cfg.Limiter,
		Hold:        s.Lease,
		GiveUp:      min(24*time.Hour, s.Retention/4),
		Logger:      w.cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	files, err := provider.NewFiles(provider.FilesConfig{Senders: w.senders.all, MaxFile: int64(s.MaxFileBytes)})
	if err != nil {
		return nil, err
	}
	o.dispatcher, err = dispatcher.New(dispatcher.Config{
		Journal:     o.journal,
		Coordinator: coordinator,
		Store:       o.store,
		Outbox:      o.outbox,
		Runner:      &undelivered{w.cfg.Runner, o.journal, o.outbox, s.Lease, w.cfg.Log},
		Files:       files,
		Pauses:      o.pauses,
		Lease:       s.Lease,
		Settle:      s.Settle,
		Drain:       s.Drain,
		Tries:       s.Tries,
		Concurrency: s.Concurrency,
		Retention:   engine.Longest(s),
		Deploy:      s.Deploy,
		ParkAfter:   3 * s.TurnWait,
		Logger:      w.cfg.Log,
	})
	return o, err
}

func (w *Worker) openActs(ctx context.Context, o *opened) (err error) {
	cfg := acts.Config{Stream: w.stream(acts.StreamName(w.cfg.Settings.Bot)), Bot: w.cfg.Settings.Bot}
	if o.acts, err = acts.NewLog(cfg); err != nil {
		return err
	}
	o.pauses, err = acts.OpenPauses(ctx, acts.PausesConfig{Config: cfg, Listen: engine.Listen(w.conn), Logger: w.cfg.Log})
	return err
}
