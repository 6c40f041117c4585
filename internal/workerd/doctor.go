package workerd

import (
	"context"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/streams"
)

// Patient is what the doctor looks at by the settings, over a connection. Redis and
// platforms are left to the caller.
func Patient(s config.Config, conn *jet.Conn) doctor.Config {
	cfg := doctor.Config{
		JetStream: conn.JetStream(), Streams: engine.Streams(s), Inbox: journal.InboxStream(s.Bot), Prefix: s.Prefix, RedisName: engine.NameRedis(s), Lease: s.Lease,
		Ingresses: func(ctx context.Context) ([]doctor.Ingress, error) {
			return engine.Who[doctor.Ingress](ctx, conn, s.Bot)
		},
	}
	if s.Telegram.Polls() && s.ProviderSession != "shared" {
		cfg.Sessions = append(cfg.Sessions, "provider:telegram")
	}
	return cfg
}

// servers look at what is below a worker, as it reaches it: its own user on NATS may list
// no streams, so other bots are not looked for.
type servers struct{ w *Worker }

// Plan implements [admin.Servers]: it returns a [streams.Diff].
func (s servers) Plan(ctx context.Context) (any, error) {
	diff, err := streams.Plan(ctx, s.w.conn.JetStream(), engine.Streams(s.w.cfg.Settings))
	if diff == nil {
		diff = streams.Diff{}
	}
	return diff, err
}

// Examine implements [admin.Servers]: it returns findings, and what could not be looked at
// is one of them.
func (s servers) Examine(ctx context.Context, look admin.Look, waiting time.Duration) (any, error) {
	w := s.w
	cfg := Patient(w.cfg.Settings, w.conn)
	cfg.Redis, _ = engine.RedisOf(w.cfg.Coordination)
	if rooms := w.opened(); rooms != nil && rooms.Turns != nil {
		cfg.Leaders = rooms.Turns
	}
	for _, sender := range w.senders.all {
		if checker, ok := sender.(provider.Checker); ok {
			cfg.Intakes = append(cfg.Intakes, doctor.Intake{ID: sender.ID(), Polls: sender.ID() == "telegram" && w.cfg.Settings.Telegram.Polls(), Checker: checker})
		}
	}
	found := doctor.Examine(ctx, cfg)
	chats, err := doctor.Chats(ctx, look, waiting)
	if err != nil {
		chats = []doctor.Finding{{Level: doctor.Unknown, Check: "chats", Text: err.Error()}}
	}
	return append(found, chats...), nil
}
