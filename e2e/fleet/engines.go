package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/e2e/netproxy"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

// EnginesConfig describes the servers below one or more fleets. The zero values
// of Nodes and JetStream are one server with its own defaults.
type EnginesConfig struct {
	Programs proc.Programs
	// Dir holds logs and stores.
	Dir string
	// Nodes counts the NATS servers. More than one are a cluster, with a proxy on
	// the way from each to each.
	Nodes int
	// JetStream is a file that the nodes of a cluster include among their JetStream
	// settings.
	JetStream string
}

// Engines are the servers that fleets stand on.
type Engines struct {
	Nodes []*Server
	Redis *Server

	links links
}

// NewEngines describes servers without starting any.
func NewEngines(cfg EnginesConfig) (*Engines, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	e := &Engines{}
	var err error
	if cfg.Nodes > 1 {
		err = e.cluster(cfg)
	} else {
		e.Nodes = make([]*Server, 1)
		e.Nodes[0], err = NewNATS(cfg.Programs, cfg.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, e.links.close())
	}
	if e.Redis, err = NewRedis(cfg.Programs, cfg.Dir); err != nil {
		return nil, errors.Join(err, e.links.close())
	}
	return e, nil
}

// cluster describes the nodes. Clients are told no addresses but those that they
// are given, and nodes reach each other by their proxies alone: the address that
// they advertise leads nowhere.
func (e *Engines) cluster(cfg EnginesConfig) error {
	addrs := make([]string, 2*cfg.Nodes) // for clients, then for routes
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return err
		}
	}
	routes := addrs[cfg.Nodes:]
	for i := range cfg.Nodes {
		name := nodeName(i)
		var ways []string
		for j, route := range routes {
			if i == j {
				continue
			}
			way, err := e.links.make(name, nodeName(j), route)
			if err != nil {
				return err
			}
			ways = append(ways, fmt.Sprintf("%q", "nats://"+way))
		}
		settings, err := os.ReadFile(cfg.JetStream)
		if err != nil {
			return fmt.Errorf("fleet: settings of the cluster: %w", err)
		}
		conf := filepath.Join(cfg.Dir, name+".conf")
		text := fmt.Sprintf(nodeConf, name, addrs[i], filepath.Join(cfg.Dir, name), settings, routes[i], strings.Join(ways, ", "))
		if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
		e.Nodes = append(e.Nodes, &Server{Name: name, Addr: addrs[i],
			cfg: proc.Config{Name: name, Path: cfg.Programs.NATS, Args: []string{"-c", conf}, Logs: cfg.Dir}})
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("nats%d", i+1) }

const nodeConf = `server_name: %s
listen: %q
jetstream {
  store_dir: %q
%s}
cluster {
  name: fleet
  listen: %q
  no_advertise: true
  advertise: "127.0.0.1:1"
  routes: [%s]
}
`

// Start starts the servers and waits until they take connections. The caller stops
// them, also after an error.
func (e *Engines) Start(ctx context.Context) error {
	var g errgroup.Group
	for _, s := range e.Servers() {
		g.Go(func() error { return s.Start(ctx) })
	}
	return g.Wait()
}

// Stop kills the servers, waits for them and closes what is between them.
func (e *Engines) Stop() error {
	var wg sync.WaitGroup
	for _, s := range e.Servers() {
		wg.Go(s.Kill)
	}
	wg.Wait()
	return e.links.close()
}

// Servers are all servers.
func (e *Engines) Servers() []*Server { return append(e.Nodes[:len(e.Nodes):len(e.Nodes)], e.Redis) }

// URL is the addresses of the NATS servers themselves.
func (e *Engines) URL() string {
	var urls []string
	for _, n := range e.Nodes {
		urls = append(urls, "nats://"+n.Addr)
	}
	return strings.Join(urls, ",")
}

// Link is the way from one part of a fleet to another, by their names: those of
// the replicas and servers, and "platform".
type Link struct{ From, To string }

// links are the proxies between parts, made by the first who asks for one. The
// zero value is ready.
type links struct {
	mu  sync.Mutex
	all map[Link]*netproxy.Proxy
}

// make puts a proxy on the way from one part to another and returns its address.
func (l *links) make(from, to, target string) (addr string, err error) {
	p, err := netproxy.Listen(target)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[Link]*netproxy.Proxy{}
	}
	l.all[Link{from, to}] = p
	return p.Addr(), nil
}

func (l *links) get(way Link) *netproxy.Proxy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[way]
}

func (l *links) list() []*netproxy.Proxy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.all))
}

func (l *links) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, p := range l.all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// split parts a host from its port.
func split(addr string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil {
		return "", "", fmt.Errorf("fleet: %w", err)
	}
	return host, port, nil
}
