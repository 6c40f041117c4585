package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natsd"
	"github.com/botmesh-go/botmesh/internal/private"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/worker"
)

// devWorkers is how many workers there are: two show that it does not matter who
// answers.
const devWorkers = 2

type devCommand struct {
	Dir string `default:".botmesh" help:"Where everything is kept."`
}

// Run serves until Ctrl-C.
func (c devCommand) Run(a *app) error {
	loaded, err := a.settings(map[string]string{
		"admin_listen": "127.0.0.1:9090",
		"lease":        "5s", // a killed one is followed by the next soon
		"log_level":    "warn",
	})
	if err != nil {
		return err
	}
	d := &dev{dir: c.Dir, settings: loaded.Config, out: a.stdout}
	p := program.Program{Name: "botmesh", Run: d.run}
	return p.Serve(loaded.Config, a.environ, program.Logger(a.stderr, loaded.Log))
}

// dev is a whole fleet in one process.
type dev struct {
	dir      string
	settings config.Config
	out      io.Writer
	server   *natsd.Server
	ingress  *ingressd.Ingress
	workers  []*workerd.Worker
}

func (d *dev) run(ctx context.Context, p program.Process) error {
	unlock, err := lock(d.dir)
	if err != nil {
		return err
	}
	defer unlock()
	port, err := natsPort(d.settings.NATS.URL)
	if err != nil {
		return err
	}
	if d.server, err = natsd.Start(ctx, natsd.Config{Dir: filepath.Join(d.dir, "nats"), Port: port, Logger: p.Log}); err != nil {
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
	group.Go(func() error { return d.welcome(running) })
	if err := group.Wait(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, "Stopped. The conversations go on when you start it again.")
	return err
}

// open makes the ingress and the workers.
func (d *dev) open(ctx context.Context, p program.Process) error {
	s := d.settings
	if !s.Webchat.Secret.IsSet() {
		secret, err := keptSecret(filepath.Join(d.dir, "webchat.secret"))
		if err != nil {
			return err
		}
		s.Webchat.Secret = secret
	}
	var err error
	hub := &coord.MemoryHub{}
	s.ReplicaID = "dev-ingress"
	d.ingress, err = ingressd.New(ctx, ingressd.Config{
		Settings: s, Coordination: together(hub, s), Inside: d.server, Version: p.Version, Log: p.Log,
	})
	if err != nil {
		return err
	}
	limits, err := ratelimit.NewLocal(workerd.Limits(s))
	if err != nil {
		return config.Wrong(err)
	}
	for i := range devWorkers {
		s.ReplicaID = "dev-" + strconv.Itoa(i+1)
		runner, err := worker.New(worker.Config{Bot: demo.Bot(), Logger: p.Log})
		if err != nil {
			return err
		}
		w, err := workerd.New(ctx, workerd.Config{
			Settings: s, Runner: runner, Limiter: limits, Inside: d.server, Version: p.Version, Log: p.Log,
			Coordination: together(hub, s),
		})
		if err != nil {
			return err
		}
		d.workers = append(d.workers, w)
	}
	return nil
}

// welcome tells the user where to talk to the bot, as soon as it answers there.
func (d *dev) welcome(ctx context.Context) error {
	for errors.Join(d.ingress.Stores(ctx), d.serving(ctx)) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	fmt.Fprintf(d.out, "Talk to the demo bot at http://%s (Ctrl-C stops it; all is kept in %s).\n", d.ingress.Addr(), d.dir)
	if got, usual := d.server.URL(), "nats://127.0.0.1:4222"; got != usual {
		fmt.Fprintf(d.out, "Its NATS is at %s: for other botmesh commands set BOTMESH_NATS_URL.\n", got)
	}
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

// keptSecret reads the secret in a file, or makes one there, so that browsers
// keep their conversation when the program starts again.
func keptSecret(path string) (config.Secret, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text = []byte(rand.Text())
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return config.Secret{}, fmt.Errorf("the secret of the web chat: %w", err)
	}
	return config.NewSecret(string(text)), nil
}
