package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/netproxy"
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
	// Bot is the bot's id. Defaults to [Bot].
	Bot string
	// Ingress and Workers count the replicas.
	Ingress int
	Workers int
	// Engines are servers that run already. By default the fleet has a NATS server
	// and a Redis of its own.
	Engines *Engines
	// Proxied puts a proxy on the way from each replica to each server and to the
	// platform, and from the platform to each ingress. [Fleet.Link] has them.
	Proxied bool
	// Polling has the ingress ask the platform for updates.
	Polling bool
	// Env is what all replicas get beside the addresses, by name.
	Env map[string]string
	// Each gives the settings that differ with each start of a replica, if set.
	Each func(process string) []string
}

// Fleet is a running Botmesh.
type Fleet struct {
	Bot     string  // its id
	NATS    *Server // the first of Engines
	Redis   *Server
	Engines *Engines
	Ingress []*Replica
	Workers []*Replica

	cfg   Config
	links links

	mu       sync.Mutex
	faults   []check.Fault
	readings map[string]reading // by process
}

// New describes a fleet without starting any of it.
func New(cfg Config) (*Fleet, error) {
	if cfg.Bot == "" {
		cfg.Bot = Bot
	}
	f := &Fleet{Bot: cfg.Bot, Engines: cfg.Engines, cfg: cfg, readings: map[string]reading{}}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if f.Engines == nil {
		var err error
		if f.Engines, err = NewEngines(EnginesConfig{Programs: cfg.Programs, Dir: cfg.Dir}); err != nil {
			return nil, err
		}
	}
	f.NATS, f.Redis = f.Engines.Nodes[0], f.Engines.Redis
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
	if f.cfg.Engines == nil {
		if err := f.Engines.Start(ctx); err != nil {
			return err
		}
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

// Stop kills all that runs, but for engines that were there before, and waits for it.
func (f *Fleet) Stop() {
	var wg sync.WaitGroup
	for _, c := range f.Children() {
		wg.Go(c.Kill)
	}
	wg.Wait()
	_ = f.links.close() // of listeners
}

// Replicas are all replicas, ingress first.
func (f *Fleet) Replicas() []*Replica { return slices.Concat(f.Ingress, f.Workers) }

// Children are the processes of the last start of each part that is the fleet's own.
func (f *Fleet) Children() (all []*proc.Child) {
	if f.cfg.Engines == nil {
		for _, s := range f.Engines.Servers() {
			if c := s.Child(); c != nil {
				all = append(all, c)
			}
		}
	}
	for _, r := range f.Replicas() {
		if c := r.Child(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// Link is the proxy on the way from one part to another, by their names, or nil if
// there is none.
func (f *Fleet) Link(from, to string) *netproxy.Proxy {
	if p := f.links.get(Link{from, to}); p != nil {
		return p
	}
	return f.Engines.links.get(Link{from, to})
}

// Links are all proxies: on the ways of replicas, of the platform, and between nodes.
func (f *Fleet) Links() []*netproxy.Proxy {
	return slices.Concat(f.links.list(), f.Engines.links.list())
}

// URLs are the public base addresses.
func (f *Fleet) URLs() (urls []string) {
	for _, r := range f.Ingress {
		urls = append(urls, r.URL)
	}
	return urls
}

// Logs is what the replicas and servers wrote, the end of each.
func (f *Fleet) Logs() string {
	var b strings.Builder
	for _, c := range f.Children() {
		fmt.Fprintf(&b, "--- %s\n%s\n", c.Name(), tail(c.Output()))
	}
	return b.String()
}
