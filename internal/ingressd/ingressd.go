// Package ingressd is an ingress replica: the webhooks and sessions of the
// platforms that the settings know, wired to the journal.
//
// It answers from the first moment: 503 while NATS is away. It talks to Redis only if
// it has a session that its elected leader holds; webhooks need none.
//
// What belongs here: the wiring, in the order in which it is made and ended. What
// a room does is its own.
package ingressd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/ingress/spool"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/webchat"
)

// linger is how long webhooks are still taken after the drain began, at most: until
// everybody has heard that this replica is not ready any more.
const linger = 2 * time.Second

// Program is the ingress as a program, with what its author adds: own.Receivers and
// own.OnRole.
func Program(own Config) program.Program {
	check := config.Config.CheckIngress
	if len(own.Receivers) > 0 {
		check = config.Config.CheckReceivers
	}
	return program.Program{
		Name:     "botmesh-ingress",
		Defaults: map[string]string{"admin_listen": "127.0.0.1:9091"},
		Check:    check,
		Run: func(ctx context.Context, p program.Process) error {
			engine.LogRedis(p.Log)
			in, err := New(ctx, Config{
				Settings: p.Settings, Receivers: own.Receivers, OnRole: own.OnRole,
				Version: p.Version, Linger: min(linger, p.Settings.Drain/5), Log: p.Log,
			})
			if err != nil {
				return err
			}
			p.Private.Watch(in.Probes())
			return in.Run(ctx)
		},
	}
}

// Config configures an ingress. Settings are required.
type Config struct {
	Settings config.Config
	// Receivers are providers of the program's own, beside those that the settings know.
	Receivers []provider.Receiver
	// OnRole is told what this replica is to each session, see [ingress.HolderConfig].
	OnRole func(ctx context.Context, c ingress.RoleChange)
	// Inside connects to a NATS server in this process; nil goes by the settings.
	Inside nats.InProcessConnProvider
	// Coordination elects who holds a session. Defaults to Redis, by the settings; it
	// is not used if there is no such session.
	Coordination engine.Coordination
	// Linger is how long webhooks are still taken after Run was told to stop, part
	// of the settings' Drain.
	Linger time.Duration
	// Seam, if set, puts something between the ingress and its journal, so that tests
	// can watch and break it.
	Seam    func(jet.Stream) jet.Stream
	Version string
	Log     *slog.Logger // defaults to discarding
}

// Ingress is an ingress replica. Make one with [New] and call [Ingress.Run] once.
type Ingress struct {
	cfg      Config
	conn     *jet.Conn
	inbox    jet.Stream
	spool    *spool.Spool // nil if there is none
	server   *http.Server
	listener net.Listener
	sessions sessions
	chat     *webchat.Chat // nil if there is none
	letters  *letters      // what it shows; nil if there is none
}

// New listens, and connects to NATS, which need not be there yet. What is wrong
// with the settings is marked as such.
func New(ctx context.Context, cfg Config) (*Ingress, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := cfg.Settings
	secure, err := tlsfiles.Server(tlsfiles.Files{Cert: s.TLS.Cert, Key: s.TLS.Key}, cfg.Log)
	if err != nil {
		return nil, config.Wrong(fmt.Errorf("%s, %s: %w", config.EnvName("tls_cert"), config.EnvName("tls_key"), err))
	}
	conn, err := engine.Dial(ctx, s, "botmesh-ingress "+s.ReplicaID, cfg.Inside, cfg.Log)
	if err != nil {
		return nil, err
	}
	in := &Ingress{cfg: cfg, conn: conn, inbox: conn.Stream(journal.InboxStream(s.Bot))}
	if cfg.Seam != nil {
		in.inbox = cfg.Seam(in.inbox)
	}
	handler, err := in.open(ctx)
	if err != nil {
		in.closeSpool(ctx)
		conn.Close()
		return nil, err
	}
	in.server = ingress.NewServer(s.Listen, handler, cfg.Log)
	in.server.TLSConfig = secure
	if in.chat != nil {
		in.server.RegisterOnShutdown(in.chat.Close)
	}
	if in.listener, err = net.Listen("tcp", s.Listen); err != nil {
		in.sessions.close(ctx, in.cfg)
		in.closeSpool(ctx)
		conn.Close()
		return nil, fmt.Errorf("ingressd: %w (BOTMESH_LISTEN chooses another)", err)
	}
	return in, nil
}

// Addr is the public address.
func (in *Ingress) Addr() string { return in.listener.Addr().String() }

// Run takes webhooks and holds sessions until ctx ends. It leaves the sessions at
// once, answers the webhooks in hand within the settings' Drain and closes what New
// opened. The error is nil after a drain.
func (in *Ingress) Run(ctx context.Context) error {
	defer engine.Close(ctx, in.conn, in.cfg.Log)
	defer in.closeSpool(ctx)
	defer in.sessions.close(ctx, in.cfg)
	in.cfg.Log.Info("serving", "addr", in.Addr())
	group, all := errgroup.WithContext(ctx)
	group.Go(func() error { return in.prepare(all) })
	group.Go(func() error {
		return engine.Answer(all, in.conn, in.cfg.Settings.Bot, func() any { return in.Status() })
	})
	for _, h := range in.sessions.holders {
		group.Go(func() error { return h.Run(all) })
	}
	if in.spool != nil {
		group.Go(func() error { return in.spool.Run(all) })
	}
	group.Go(func() error {
		<-all.Done()
		if ctx.Err() != nil { // told to stop; else one of the others failed
			time.Sleep(in.cfg.Linger)
		}
		return in.close(context.WithoutCancel(ctx))
	})
	group.Go(func() error {
		if err := in.serve(); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("ingressd: %w", err)
		}
		return nil
	})
	return group.Wait()
}

// serve answers until the server is told to stop, with TLS if there is a certificate.
func (in *Ingress) serve() error {
	if in.server.TLSConfig != nil {
		return in.server.ServeTLS(in.listener, "", "")
	}
	return in.server.Serve(in.listener)
}

// prepare makes the streams, in the background: until they are there the webhooks
// are answered 503.
func (in *Ingress) prepare(ctx context.Context) error {
	err := engine.Prepare(ctx, in.conn, in.cfg.Settings, in.cfg.Log)
	if err == nil {
		err = in.letters.open(ctx, in.conn, in.cfg.Settings, in.cfg.Log)
	}
	if ctx.Err() != nil {
		return nil // draining
	}
	return err
}

// close stops listening and waits for the requests in hand.
func (in *Ingress) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, in.cfg.Settings.Drain-in.cfg.Linger)
	defer cancel()
	if err := in.server.Shutdown(ctx); err != nil {
		in.cfg.Log.Warn("requests were cut off", "err", err)
		return in.server.Close()
	}
	return nil
}

// open wires the platforms that the settings know.
func (in *Ingress) open(ctx context.Context) (http.Handler, error) {
	s, log := in.cfg.Settings, in.cfg.Log
	publisher, err := journal.NewPublisher(journal.Config{Bot: s.Bot, Inbox: in.inbox, Logger: log})
	if err != nil {
		return nil, config.Wrong(err)
	}
	if err := in.openSpool(); err != nil {
		return nil, err
	}
	taking := publisher
	if in.spool != nil { // for webhooks: a session's messages are asked for again
		if taking, err = journal.NewPublisher(journal.Config{Bot: s.Bot, Inbox: in.spool, Logger: log}); err != nil {
			return nil, config.Wrong(err)
		}
	}
	handler, err := in.handler(taking)
	if err != nil {
		return nil, config.Wrong(err)
	}
	in.sessions, err = openSessions(ctx, in.cfg, publisher)
	return handler, err
}

// handler takes the webhooks of the platforms that the settings have a secret for.
func (in *Ingress) handler(j ingress.Journal) (http.Handler, error) {
	s, log := in.cfg.Settings, in.cfg.Log
	cfg := ingress.Config{Journal: j, Logger: log}
	var err error
	if cfg.Receivers, err = receivers(s); err != nil {
		return nil, err
	}
	cfg.Receivers = append(cfg.Receivers, in.cfg.Receivers...)
	if s.Webchat.Secret.IsSet() {
		in.letters = newLetters()
		in.chat, err = webchat.New(webchat.Config{Secret: s.Webchat.Secret.Reveal(), Letters: in.letters, Title: s.Bot, Logger: log})
		if err != nil {
			return nil, err
		}
		cfg.Receivers = append(cfg.Receivers, in.chat)
		cfg.Web = in.chat
	}
	if len(cfg.Receivers) == 0 {
		return http.NotFoundHandler(), nil // it has sessions only
	}
	return ingress.New(cfg)
}
