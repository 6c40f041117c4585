// Package natsd runs a NATS server with JetStream inside the process, for the
// development command and for tests.
//
// It links the whole server, so nothing that ingress or worker link may import it.
package natsd

import (
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
	// Port is listened on at 127.0.0.1. Zero picks a free one.
	Port int
	// SyncInterval is how often what was written is forced to disk, which a power
	// loss may take; a crash of the process takes nothing. Defaults to one second.
	// Below zero every message is forced before it is acknowledged.
	SyncInterval time.Duration
	// Logger gets the server's warnings and errors. Defaults to discarding.
	Logger *slog.Logger
}

// Server is a running server.
type Server struct{ s *server.Server }

// Start starts a server and waits until it takes connections and has JetStream. It
// returns ctx's error if that takes longer than ctx lasts.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("natsd: config: Dir is empty")
	}
	opts := &server.Options{
		ServerName:   "botmesh",
		Host:         "127.0.0.1",
		Port:         cfg.Port,
		StoreDir:     cfg.Dir,
		JetStream:    true,
		SyncInterval: cfg.SyncInterval,
		NoSigs:       true,
		NoLog:        cfg.Logger == nil,
	}
	if cfg.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	switch {
	case cfg.SyncInterval == 0:
		opts.SyncInterval = time.Second
	case cfg.SyncInterval < 0:
		opts.SyncInterval, opts.SyncAlways = time.Second, true
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("natsd: start: %w", err)
	}
	if cfg.Logger != nil {
		s.SetLogger(logger{cfg.Logger}, false, false)
	}
	s.Start()
	srv := &Server{s}
	for !s.ReadyForConnections(10*time.Millisecond) || !s.JetStreamEnabled() {
		if ctx.Err() != nil || !s.Running() {
			srv.Shutdown()
			return nil, fmt.Errorf("natsd: start: %w", errors.Join(errors.New("the server did not become ready"), ctx.Err()))
		}
	}
	return srv, nil
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
type logger struct{ log *slog.Logger }

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
	l.log.Error("nats server failed", "text", fmt.Sprintf(format, v...))
}
