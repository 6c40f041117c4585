// Package private serves a program's private address, for those who run it:
// /healthz, /readyz, /metrics and /statusz, and the pages below /v1 of a program that
// has any.
//
// Health says whether the program itself still moves and never asks another
// server, or an outage of one would restart the fleet. Readiness says whether
// work can be given to it, and ends for good when it begins to drain.
//
// What belongs here: the address and its pages. What makes a program alive or
// ready is the program's to say ([Probes]).
package private

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	beatEvery = time.Second
	// beatLate is how long the program may stand still before it is not healthy.
	beatLate = 15 * time.Second
	// askTime bounds what a program may take to say whether it is ready.
	askTime = 2 * time.Second
)

// Config configures a [Server].
type Config struct {
	// Listen is the address, as host:port. Port 0 is a free one. Required.
	Listen string
	// Metrics answers /metrics. Required.
	Metrics http.Handler
	// TLS, if set, is how the address is served; nil is plain HTTP.
	TLS    *tls.Config
	Logger *slog.Logger // defaults to discarding
}

// Probes are what a program says of itself. Each may be nil.
type Probes struct {
	// Beat goes through the program's own loops and returns. While it hangs the
	// program is not healthy. It must not ask another server.
	Beat func()
	// Ready says what keeps work from the program, or nil.
	Ready func(ctx context.Context) error
	// Note is what /readyz tells those who look at it beside that the program is
	// ready, in lines.
	Note func() string
	// Status is what /statusz shows, as JSON.
	Status func() any
	// API answers what is below /v1. It authenticates by itself.
	API http.Handler
}

// Server is a private address that is served. Until [Server.Watch] it is healthy
// and not ready.
type Server struct {
	log      *slog.Logger
	listener net.Listener
	http     http.Server
	probes   atomic.Pointer[Probes]
	beaten   atomic.Pointer[time.Time] // when Beat last returned
	draining atomic.Bool
	stop     context.CancelFunc
	group    sync.WaitGroup
}

// Start listens and serves until [Server.Close].
func Start(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("private: %w", err)
	}
	s := &Server{log: cfg.Logger, listener: l}
	s.http = http.Server{Handler: s.handler(cfg.Metrics), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)}
	if cfg.TLS != nil {
		l = tls.NewListener(l, cfg.TLS)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.group.Go(func() { s.beat(ctx) })
	s.group.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the private address is no longer served", "err", err)
		}
	})
	return s, nil
}

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Watch says from now on what p does.
func (s *Server) Watch(p Probes) {
	now := time.Now()
	s.beaten.Store(&now)
	s.probes.Store(&p)
}

// Drain makes the program not ready, for good.
func (s *Server) Drain() { s.draining.Store(true) }

// Close stops serving and waits, for the requests in hand until ctx ends. A Beat
// that hangs is not waited for.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	err := s.http.Shutdown(ctx)
	s.group.Wait()
	if err != nil {
		return fmt.Errorf("private: close: %w", err)
	}
	return nil
}

func (s *Server) handler(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.healthy(), "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, s.ready(r.Context()), s.note()) })
	mux.HandleFunc("GET /statusz", s.status)
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("/v1/", s.api)
	return mux
}

func answer(w http.ResponseWriter, err error, note string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := strings.TrimSpace("ok\n" + note)
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = err.Error()
	}
	fmt.Fprintln(w, text) // who asked may be gone
}

func (s *Server) healthy() error {
	p := s.probes.Load()
	if p == nil || p.Beat == nil {
		return nil // it has no loop that could stand still
	}
	if at := s.beaten.Load(); at != nil && time.Since(*at) > beatLate {
		return fmt.Errorf("stands still since %s", at.UTC().Format(time.RFC3339))
	}
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("draining")
	}
	p := s.probes.Load()
	if p == nil {
		return errors.New("starting")
	}
	if p.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return p.Ready(ctx)
}

func (s *Server) note() string {
	if p := s.probes.Load(); p != nil && p.Note != nil {
		return p.Note()
	}
	return ""
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	var v any = struct{}{}
	if p := s.probes.Load(); p != nil && p.Status != nil {
		v = p.Status()
	}
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		s.log.Debug("status not written", "err", err)
	}
}

func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	if p := s.probes.Load(); p != nil && p.API != nil {
		p.API.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// beat calls Beat every second, one at a time.
func (s *Server) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p := s.probes.Load()
		if p == nil || p.Beat == nil {
			continue
		}
		returned := make(chan struct{})
		go func() { p.Beat(); close(returned) }()
		select {
		case <-ctx.Done():
			return
		case <-returned:
			now := time.Now()
			s.beaten.Store(&now)
		}
	}
}
