// Package natsd runs a NATS server with JetStream inside the process, for the
// development command and for tests.
//
// It links the whole server, so nothing that ingress or worker link may import it.
package natsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config says where a server keeps its streams and how it is reached.
type Config struct {
	// Dir is the folder of the streams, made if absent. Required.
	Dir string
	// Name is what the server calls itself to clients. Defaults to "botmesh".
	Name string
	// Port is listened on at 127.0.0.1. Zero picks a free one.
	Port int
	// SyncInterval is how often what was written is forced to disk. A power loss
	// takes what was not, a crash of the process takes nothing. Defaults to one
	// second. Below zero every message is forced before it is acknowledged.
	SyncInterval time.Duration
	// Logger gets the server's warnings and errors. Defaults to discarding.
	Logger *slog.Logger
}

// Server is a running server.
type Server struct{ s *server.Server }

// Start starts a server and waits until it takes connections and has JetStream. It
// returns ctx's error if ctx ends before.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("natsd: config: Dir is empty")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := server.NewServer(cfg.options())
	if err != nil {
		return nil, fmt.Errorf("natsd: start: %w", err)
	}
	// The server tells its log alone why it can not start.
	log := logger{cfg.Logger, make(chan string, 1)}
	s.SetLogger(log, false, false)
	s.Start()
	srv := &Server{s}
	for {
		select {
		case text := <-log.failed:
			srv.Shutdown()
			return nil, fmt.Errorf("natsd: start: %s", text)
		case <-ctx.Done():
			srv.Shutdown()
			return nil, fmt.Errorf("natsd: start: the server did not become ready: %w", ctx.Err())
		default:
		}
		if s.ReadyForConnections(10*time.Millisecond) && s.JetStreamEnabled() {
			return srv, nil
		}
	}
}

// options are the server's own.
func (cfg Config) options() *server.Options {
	opts := &server.Options{
		ServerName:   cmp.Or(cfg.Name, "botmesh"),
		Host:         "127.0.0.1",
		Port:         cfg.Port,
		StoreDir:     cfg.Dir,
		JetStream:    true,
		SyncInterval: cfg.SyncInterval,
		SyncAlways:   cfg.SyncInterval < 0,
		NoSigs:       true,
	}
	if cfg.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	if cfg.SyncInterval <= 0 {
		opts.SyncInterval = time.Second
	}
	return opts
}

// URL is the address for clients.
func (s *Server) URL() string { return s.s.ClientURL() }

// InProcessConn connects without a socket. It makes a Server a
// nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.s.InProcessConn() }

// Shutdown stops the server and waits until its streams are on disk.
func (s *Server) Shutdown() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// logger passes on what an operator should see.
type logger struct {
	log    *slog.Logger
	failed chan string // the first reason why the server can not go on
}

func (l logger) Noticef(string, ...any) {}
func (l logger) Debugf(string, ...any)  {}
func (l logger) Tracef(string, ...any)  {}

func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("nats server", "text", fmt.Sprintf(format, v...))
}

func (l logger) Errorf(format string, v ...any) {
	l.log.Error("nats server", "text", fmt.Sprintf(format, v...))
}

func (l logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("nats server failed", "text", text)
	select {
	case l.failed <- text:
	default:
	}
}
