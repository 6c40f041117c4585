package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/provider"
)

// localBot is the id of a bot in its streams, which nobody else sees.
const localBot = "local"

// LocalConfig is what a [Local] needs.
type LocalConfig struct {
	// Bot is what is run. Required, and valid; nothing is registered with it any more.
	Bot *bot.Bot
	// Senders are the platforms that it answers on. At least one.
	Senders []provider.Sender
	// Receivers take webhooks; see [Local.Handler]. None is needed where something
	// else calls [Local.Receive].
	Receivers []provider.Receiver
	// Sessions are held open, each once, from the beginning of Run to its end: long
	// polling, a gateway.
	Sessions []provider.Session
	// Retention is how long messages are kept in memory, against repetitions. What a
	// platform does not take for a quarter of that is dropped. Defaults to a day.
	Retention time.Duration
	// MaxFile bounds a file that a user sent, in bytes. Defaults to
	// [provider.DefaultMaxFile].
	MaxFile int64
	// Settle, Drain and Tries are those of [dispatcher.Config].
	Settle, Drain time.Duration
	Tries         int
	Logger        *slog.Logger // defaults to discarding
}

// Local is a bot in one process that needs no server: the dispatcher that a fleet
// runs on, with journal, checkpoints and outbox in memory. Each chat is handled in
// order, one message at a time, and answered once.
//
// It is for trying, for tests, and for bots that may forget: when Run has returned all
// is gone, the conversations too. A bot moves from here to a fleet, by [Main], as it is.
type Local struct {
	journal    *journal.Journal
	runner     *Worker
	coord      *coord.MemoryCoordinator
	dispatcher *dispatcher.Dispatcher
	server     *jet.Memory
	handler    http.Handler
	holders    []*ingress.Holder
}

// NewLocal makes a Local that does not run yet. The error names everything that is
// wrong with cfg.
func NewLocal(cfg LocalConfig) (*Local, error) {
	if cfg.Retention == 0 {
		cfg.Retention = 24 * time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	runner, err := New(Config{Bot: cfg.Bot, Logger: cfg.Logger})
	files, wrong := provider.NewFiles(provider.FilesConfig{Senders: cfg.Senders, MaxFile: cfg.MaxFile})
	err = errors.Join(err, wrong)
	if cfg.Retention < time.Minute {
		err = errors.Join(err, fmt.Errorf("worker: LocalConfig.Retention is %v, want at least a minute", cfg.Retention))
	}
	if len(cfg.Senders) == 0 {
		err = errors.Join(err, errors.New("worker: LocalConfig.Senders is empty"))
	}
	if err != nil {
		return nil, err
	}
	l := &Local{runner: runner, server: jet.NewMemory(), handler: http.NotFoundHandler()}
	if err := l.open(cfg, runner, files); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return l, nil
}

// open makes the rooms of a fleet's worker and ingress, on memory.
func (l *Local) open(cfg LocalConfig, runner *Worker, files botmesh.OpenFile) (err error) {
	ctx := context.Background() // nothing of it leaves the process
	epoch := map[string]string{"botmesh.epoch": strings.ToLower(rand.Text())}
	stream := func(name string, c jet.MemoryConfig) jet.Stream {
		c.Metadata = epoch
		return l.server.Stream(name, c)
	}
	if l.coord, err = coord.NewMemory(nil, coord.Config{}); err != nil {
		return err
	}
	l.journal, err = journal.Open(ctx, journal.Config{
		Bot:    localBot,
		Inbox:  stream(journal.InboxStream(localBot), jet.MemoryConfig{MaxAge: cfg.Retention}),
		Dead:   stream(journal.DeadStream(localBot), jet.MemoryConfig{MaxAge: cfg.Retention}),
		Logger: cfg.Logger,
	})
	if err != nil {
		return err
	}
	out, err := l.openOutbox(cfg, stream(outbox.StreamName(localBot), jet.MemoryConfig{MaxAge: cfg.Retention}))
	if err != nil {
		return err
	}
	if len(cfg.Receivers) > 0 {
		if l.handler, err = ingress.New(ingress.Config{Journal: l.journal, Receivers: cfg.Receivers, Logger: cfg.Logger}); err != nil {
			return err
		}
	}
	for _, s := range cfg.Sessions {
		h, err := ingress.NewHolder(ingress.HolderConfig{Session: s, Journal: l.journal, Logger: cfg.Logger})
		if err != nil {
			return err
		}
		l.holders = append(l.holders, h)
	}
	l.dispatcher, err = dispatcher.New(dispatcher.Config{
		Journal:     l.journal,
		Coordinator: l.coord,
		Store:       natsstore.New(stream(natsstore.Stream(localBot, 1).Name, jet.MemoryConfig{MaxPerSubject: 1}), localBot),
		Outbox:      out,
		Runner:      runner,
		Files:       files,
		Settle:      cfg.Settle,
		Drain:       cfg.Drain,
		Tries:       cfg.Tries,
		Retention:   cfg.Retention + 24*time.Hour,
		Logger:      cfg.Logger,
	})
	return err
}

func (l *Local) openOutbox(cfg LocalConfig, stream jet.Stream) (*outbox.Outbox, error) {
	limiter, err := ratelimit.NewLocal(ratelimit.Config{})
	if err != nil {
		return nil, err
	}
	return outbox.Open(context.Background(), outbox.Config{
		Stream:      stream,
		Bot:         localBot,
		Incarnation: l.coord.Incarnation(),
		Senders:     cfg.Senders,
		Dead:        workerd.SetAside(l.journal),
		Limiter:     limiter,
		GiveUp:      cfg.Retention / 4,
		Logger:      cfg.Logger,
	})
}

// Receive takes what came in on a platform. It returns when all of it is stored, and the
// bot handles it soon after. A record that came before, by its id, has no effect. On error
// some may be missing; the same call again stores those alone.
func (l *Local) Receive(ctx context.Context, records ...botmesh.Record) error {
	if _, err := l.journal.PublishAll(ctx, records); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// Handler takes the webhooks of the receivers, each at /webhooks/<id>. A server of
// [ingress.NewServer] has the bounds that a public address needs.
func (l *Local) Handler() http.Handler { return l.handler }

// Run serves chats until ctx ends, closes the sessions and drains: what runs then may
// end, and is sent. It is called once. The error is nil after a drain.
func (l *Local) Run(ctx context.Context) error {
	serving, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	var sessions sync.WaitGroup
	errs := make([]error, len(l.holders))
	for i, h := range l.holders {
		sessions.Go(func() { errs[i] = h.Run(ctx) })
	}
	defer context.AfterFunc(ctx, func() {
		sessions.Wait() // nothing comes in any more
		drain()
	})()
	err := l.dispatcher.Run(serving)
	sessions.Wait()
	err = errors.Join(append(errs, err, l.runner.Close(), l.coord.Close(context.WithoutCancel(ctx)))...)
	l.server.Close()
	return err
}
