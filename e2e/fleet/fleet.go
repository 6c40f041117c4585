package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

// Bot is the id of the bot that fleets run.
const Bot = "demo"

// Config describes a fleet.
type Config struct {
	Programs proc.Programs
	// Platform is where webhooks come from and replies go to.
	Platform *platform.Platform
	// Dir holds logs and stores.
	Dir string
	// Ingress and Workers count the replicas.
	Ingress int
	Workers int
	// Env is what all replicas get beside the addresses, by name.
	Env map[string]string
}

// Fleet is a running Botmesh.
type Fleet struct {
	NATS    *Server
	Redis   *Server
	Ingress []*Replica
	Workers []*Replica

	cfg Config

	mu       sync.Mutex
	faults   []check.Fault
	readings map[string]reading // by process
}

// New describes a fleet without starting any of it.
func New(cfg Config) (*Fleet, error) {
	f := &Fleet{cfg: cfg, readings: map[string]reading{}}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	var err error
	if f.NATS, err = NewNATS(cfg.Programs, cfg.Dir); err != nil {
		return nil, err
	}
	if f.Redis, err = NewRedis(cfg.Programs, cfg.Dir); err != nil {
		return nil, err
	}
	for i := range cfg.Ingress {
		r, err := f.ingress(fmt.Sprintf("ingress%d", i+1))
		if err != nil {
			return nil, err
		}
		f.Ingress = append(f.Ingress, r)
	}
	for i := range cfg.Workers {
		r, err := f.worker(fmt.Sprintf("worker%d", i+1))
		if err != nil {
			return nil, err
		}
		f.Workers = append(f.Workers, r)
	}
	return f, nil
}

// Start starts a fleet and waits until every replica is ready. The caller stops it,
// also after an error.
func (f *Fleet) Start(ctx context.Context) error {
	if err := errors.Join(f.NATS.Start(ctx), f.Redis.Start(ctx)); err != nil {
		return err
	}
	for _, r := range f.Replicas() {
		if err := r.Launch(); err != nil {
			return err
		}
	}
	for _, r := range f.Replicas() {
		if err := r.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop kills all that runs and waits for it.
func (f *Fleet) Stop() {
	var wg sync.WaitGroup
	for _, c := range f.Children() {
		wg.Go(c.Kill)
	}
	wg.Wait()
}

// Replicas are all replicas, ingress first.
func (f *Fleet) Replicas() []*Replica { return slices.Concat(f.Ingress, f.Workers) }

// Children are the processes of the last start of each part.
func (f *Fleet) Children() (all []*proc.Child) {
	for _, s := range []*Server{f.NATS, f.Redis} {
		if c := s.Child(); c != nil {
			all = append(all, c)
		}
	}
	for _, r := range f.Replicas() {
		if c := r.Child(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// URLs are the public base addresses.
func (f *Fleet) URLs() (urls []string) {
	for _, r := range f.Ingress {
		urls = append(urls, r.URL)
	}
	return urls
}

func (f *Fleet) ingress(name string) (*Replica, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	r, err := f.replica(name, f.cfg.Programs.Ingress, "BOTMESH_LISTEN="+addr, "BOTMESH_TELEGRAM_SECRET="+f.cfg.Platform.Secret())
	if err != nil {
		return nil, err
	}
	r.URL = "http://" + addr
	return r, nil
}

func (f *Fleet) worker(name string) (*Replica, error) {
	r, err := f.replica(name, f.cfg.Programs.Worker,
		"BOTMESH_REDIS_URL=redis://"+f.Redis.Addr+"/0", "BOTMESH_TELEGRAM_TOKEN="+f.cfg.Platform.Token())
	if err != nil {
		return nil, err
	}
	r.env = func(process string) []string {
		return []string{"BOTMESH_TELEGRAM_API_URL=" + f.cfg.Platform.URL(process)}
	}
	return r, nil
}

func (f *Fleet) replica(name, path string, env ...string) (*Replica, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	env = append(env,
		"BOTMESH_BOT="+Bot,
		"BOTMESH_REPLICA_ID="+name,
		"BOTMESH_NATS_URL=nats://"+f.NATS.Addr,
		"BOTMESH_ADMIN_LISTEN="+addr,
	)
	for _, k := range slices.Sorted(maps.Keys(f.cfg.Env)) {
		env = append(env, k+"="+f.cfg.Env[k])
	}
	return &Replica{
		Name:  name,
		Admin: "http://" + addr,
		cfg:   proc.Config{Name: name, Path: path, Env: env, Logs: f.cfg.Dir},
		env:   func(string) []string { return nil },
	}, nil
}

// Logs is what the replicas and servers wrote, the end of each.
func (f *Fleet) Logs() string {
	var b strings.Builder
	for _, c := range f.Children() {
		fmt.Fprintf(&b, "--- %s\n%s\n", c.Name(), tail(c.Output()))
	}
	return b.String()
}
