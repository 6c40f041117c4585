package fleet

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/proc"
)

// Server is one engine: a NATS server or a Redis. It keeps its address and what it
// stored over a restart. Safe for concurrent use.
type Server struct {
	Name string
	Addr string

	cfg   proc.Config
	mu    sync.Mutex
	child *proc.Child
}

// NewNATS describes a single NATS server with JetStream that stores below dir.
func NewNATS(p proc.Programs, dir string) (*Server, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	host, port, err := split(addr)
	if err != nil {
		return nil, err
	}
	args := []string{"--addr", host, "--port", port, "--jetstream", "--store_dir", filepath.Join(dir, "nats")}
	return &Server{Name: "nats1", Addr: addr, cfg: proc.Config{Name: "nats", Path: p.NATS, Args: args, Logs: dir}}, nil
}

// NewRedis describes a Redis that keeps nothing over a restart.
func NewRedis(p proc.Programs, dir string) (*Server, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	host, port, err := split(addr)
	if err != nil {
		return nil, err
	}
	args := []string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", dir}
	return &Server{Name: "redis", Addr: addr, cfg: proc.Config{Name: "redis", Path: p.Redis, Args: args, Logs: dir}}, nil
}

// Start starts the server and waits until it takes connections.
func (s *Server) Start(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.Logs, 0o755); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	child, err := proc.Start(s.cfg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.child = child
	s.mu.Unlock()
	ctx, cancel := watch(ctx, s.cfg.Name, child)
	defer cancel()
	return poll(ctx, s.cfg.Name+" takes connections", func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", s.Addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// watch is ctx, until the child ends.
func watch(ctx context.Context, name string, child *proc.Child) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-child.Exited():
			cancel(fmt.Errorf("fleet: %s ended: %s", name, tail(child.Output())))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Child is the server's process, nil before its first start.
func (s *Server) Child() *proc.Child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child
}

// Kill takes the server away with SIGKILL. [Server.Start] brings it back.
func (s *Server) Kill() {
	if c := s.Child(); c != nil {
		c.Kill()
	}
}

// poll tries until ok gives no error. The error when ctx ends first names what was
// waited for and the last error.
func poll(ctx context.Context, what string, ok func(context.Context) error) error {
	const pause = 10 * time.Millisecond
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("fleet: waiting until %s: %w (last: %w)", what, context.Cause(ctx), err)
		}
	}
}
