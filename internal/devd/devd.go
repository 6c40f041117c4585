// Package devd is a whole fleet in one process, for development: a NATS server, an
// ingress and two workers that coordinate in memory.
//
// It links the NATS server, so nothing that runs in production may import it.
//
// What belongs here: the wiring. What an ingress and a worker do is ingressd and workerd.
package devd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natsd"
	"github.com/botmesh-go/botmesh/internal/private"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// workers is how many there are: two show that it does not matter who answers.
const workers = 2

// ServerName is what its NATS server calls itself, by which other commands know that
// there is no Redis beside it.
const ServerName = "botmesh-dev"

// adminToken is the file of the token that is made for other commands.
const adminToken = "admin.token"

// DefaultDir is where everything is kept if nobody says where.
const DefaultDir = ".botmesh"

// Config is what a fleet in one process is made of. Bot is required.
type Config struct {
	Bot *bot.Bot
	// Whom is what the bot is called to its user. Defaults to "your bot".
	Whom string
	// Dir is where everything is kept. Defaults to [DefaultDir].
	Dir string
	// Receivers and Senders are platforms of the program's own.
	Receivers []provider.Receiver
	Senders   []provider.Sender
	// OnRole is that of [ingressd.Config].
	OnRole func(ctx context.Context, c ingress.RoleChange)
}

// Program is the fleet as a program. It tells the user on standard output, and logs
// warnings on standard error.
func Program(cfg Config) program.Program {
	cfg.Whom, cfg.Dir = cmp.Or(cfg.Whom, "your bot"), cmp.Or(cfg.Dir, DefaultDir)
	return program.Program{
		Name: "botmesh",
		Defaults: map[string]string{
			"admin_listen": "127.0.0.1:9090",
			"lease":        "5s", // a killed one is followed by the next soon
			"log_level":    "warn",
		},
		Log: os.Stderr,
		Elsewhere: func(arg string) string {
			if slices.Contains([]string{"flows", "replay", "rebuild"}, arg) {
				return "the program that has worker.Main(b) in place of dev.Main(b): the one that runs in production"
			}
			return ""
		},
		Run: func(ctx context.Context, p program.Process) error {
			d := &dev{cfg: cfg, settings: p.Settings, out: os.Stdout}
			return d.run(ctx, p)
		},
	}
}

// dev is a whole fleet in one process.
type dev struct {
	cfg      Config
	settings config.Config
	out      io.Writer
	server   *natsd.Server
	ingress  *ingressd.Ingress
	runner   *worker.Worker
	workers  []*workerd.Worker
}

func (d *dev) run(ctx context.Context, p program.Process) error {
	if err := errors.Join(d.settings.CheckReceivers(), d.settings.CheckSenders()); err != nil {
		return config.Wrong(err)
	}
	unlock, err := lock(d.cfg.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	port, err := natsPort(d.settings.NATS.URL)
	if err != nil {
		return err
	}
	if d.server, err = natsd.Start(ctx, natsd.Config{Name: ServerName, Dir: filepath.Join(d.cfg.Dir, "nats"), Port: port, Logger: p.Log}); err != nil {
		return err
	}
	defer d.server.Shutdown()
	if err := d.open(ctx, p); err != nil {
		return err
	}
	p.Private.Watch(private.Probes{Ready: d.ready, Status: d.status, API: d.workers[0].Probes().API})
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return d.ingress.Run(running) })
	for _, w := range d.workers {
		group.Go(func() error { return w.Run(running) })
	}
	group.Go(func() error { return d.welcome(running, p.Private.Addr()) })
	if err := errors.Join(group.Wait(), d.runner.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, "Stopped. The conversations go on when you start it again, but for live and ephemeral ones.")
	return err
}

// open makes the ingress and the workers.
func (d *dev) open(ctx context.Context, p program.Process) (err error) {
	s := d.settings
	if !s.Webchat.Secret.IsSet() {
		if s.Webchat.Secret, err = keptSecret(filepath.Join(d.cfg.Dir, "webchat.secret")); err != nil {
			return fmt.Errorf("the secret of the web chat: %w", err)
		}
	}
	if !s.AdminToken.IsSet() {
		if s.AdminToken, err = keptSecret(filepath.Join(d.cfg.Dir, adminToken)); err != nil {
			return fmt.Errorf("the token of the private address: %w", err)
		}
	}
	hub := &coord.MemoryHub{}
	s.ReplicaID = "dev-ingress"
	d.ingress, err = ingressd.New(ctx, ingressd.Config{
		Settings: s, Receivers: d.cfg.Receivers, OnRole: d.cfg.OnRole,
		Coordination: together(hub, s), Inside: d.server, Version: p.Version, Log: p.Log,
	})
	if err != nil {
		return err
	}
	limits, err := ratelimit.NewLocal(workerd.Limits(s))
	if err != nil {
		return config.Wrong(err)
	}
	d.runner, err = worker.New(worker.Config{Bot: d.cfg.Bot, Handover: handover(s.Handover), StaleAfter: s.StaleAfter, Logger: p.Log})
	if err != nil {
		return config.Wrong(err)
	}
	for i := range workers {
		s.ReplicaID = "dev-" + strconv.Itoa(i+1)
		w, err := workerd.New(ctx, workerd.Config{
			Settings: s, Runner: d.runner, Senders: d.cfg.Senders, Limiter: limits, Inside: d.server, Version: p.Version, Log: p.Log,
			Coordination: together(hub, s),
		})
		if err != nil {
			return err
		}
		d.workers = append(d.workers, w)
	}
	return nil
}

// handover is what worker.Main makes of the same settings.
func handover(s config.Handover) bot.Handover {
	return bot.Handover{
		Forward: s.Flows == "forward", TTL: s.TTL,
		Lost: map[string]bot.LostPolicy{"notify": bot.Notify, "restart": bot.Restart}[s.Fallback],
	}
}

// welcome tells the user where to talk to the bot, as soon as it answers there.
func (d *dev) welcome(ctx context.Context, private string) error {
	for errors.Join(d.ingress.Stores(ctx), d.serving(ctx)) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	fmt.Fprintf(d.out, "Talk to %s at http://%s (Ctrl-C stops it; all is kept in %s).\n", d.cfg.Whom, d.ingress.Addr(), d.cfg.Dir)
	if got, usual := d.server.URL(), "nats://127.0.0.1:4222"; got != usual {
		fmt.Fprintf(d.out, "Its NATS is at %s: for other botmesh commands set BOTMESH_NATS_URL.\n", got)
	}
	token := "the BOTMESH_ADMIN_TOKEN that it runs with"
	if !d.settings.AdminToken.IsSet() {
		token = "BOTMESH_ADMIN_TOKEN_FILE=" + filepath.Join(d.cfg.Dir, adminToken)
	}
	fmt.Fprintf(d.out, "Commands on its chats ask it with BOTMESH_ADMIN_URL=http://%s and %s.\n", private, token)
	if t := d.settings.Telegram; t.Token.IsSet() && !t.Secret.IsSet() && !t.Polls() {
		fmt.Fprintln(d.out, "Telegram is half on: to take messages set BOTMESH_TELEGRAM_MODE=polling, or BOTMESH_TELEGRAM_SECRET and point the webhook at /webhooks/telegram.")
	}
	return nil
}

func (d *dev) ready(ctx context.Context) error {
	return errors.Join(d.ingress.Ready(ctx), d.serving(ctx))
}

// serving says which worker is not ready.
func (d *dev) serving(ctx context.Context) error {
	var errs []error
	for _, w := range d.workers {
		errs = append(errs, w.Ready(ctx))
	}
	return errors.Join(errs...)
}

func (d *dev) status() any {
	s := struct {
		Ingress ingressd.Status  `json:"ingress"`
		Workers []workerd.Status `json:"workers"`
	}{Ingress: d.ingress.Status()}
	for _, w := range d.workers {
		s.Workers = append(s.Workers, w.Status())
	}
	return s
}

// inMemory coordinates the replicas of this process.
type inMemory struct {
	hub *coord.MemoryHub
	cfg coord.Config
}

func together(hub *coord.MemoryHub, s config.Config) inMemory {
	return inMemory{hub: hub, cfg: coord.Config{Replica: s.ReplicaID, Lease: s.Lease, TurnWait: s.TurnWait}}
}

func (m inMemory) New() (coord.Coordinator, error) { return coord.NewMemory(m.hub, m.cfg) }
func (inMemory) Ping(context.Context) error        { return nil }
func (inMemory) Close() error                      { return nil }

// natsPort is the port for the server of this process: that of the settings, so
// that other commands find it, or any if that is taken.
func natsPort(u config.URL) (int, error) {
	parsed, err := url.Parse(u.Reveal())
	if err != nil || (parsed.Hostname() != "127.0.0.1" && parsed.Hostname() != "localhost") {
		return 0, config.Wrong(errors.New("BOTMESH_NATS_URL is elsewhere, but dev runs its own NATS: leave it out, or run ingress and worker"))
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		return 0, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+parsed.Port())
	if err != nil {
		return 0, nil
	}
	return port, l.Close()
}
