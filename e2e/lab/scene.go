package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/proc"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/streams"
)

const (
	token  = "700:lab-token"
	secret = "lab-secret"

	// retention is what the programs are told, and far more than a run lasts. The
	// streams themselves forget nothing.
	retention = 8 * 24 * time.Hour
)

// sceneConfig describes a scene.
type sceneConfig struct {
	programs proc.Programs
	dir      string // for logs, history and dumps
	bot      string
	engines  *fleet.Engines // running
	ingress  int
	workers  int
	proxied  bool
	lease    time.Duration
	env      map[string]string
}

// scene is one bot's fleet, its platform and their history.
type scene struct {
	cfg      sceneConfig
	log      *history.Log
	platform *platform.Platform
	fleet    *fleet.Fleet
	conn     *jet.Conn // to the servers themselves, no proxy between
	follow   *follower

	stop    context.CancelFunc
	running sync.WaitGroup
}

// newScene makes a scene, its streams too, and starts no replica. The caller closes
// it.
func newScene(ctx context.Context, cfg sceneConfig) (*scene, error) {
	s := &scene{cfg: cfg}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("lab: %s: %w", cfg.bot, err)
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.running.Go(func() { s.follow.run(following) })
	return s, nil
}

func (s *scene) histories() string { return historyDir(s.cfg.dir) }

func historyDir(dir string) string { return filepath.Join(dir, "history") }

func (s *scene) open(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.histories(), 0o755); err != nil {
		return err
	}
	s.follow = newFollower(s.histories())
	if s.log, err = history.Open(filepath.Join(s.histories(), "lab"+history.Suffix), "lab"); err != nil {
		return err
	}
	s.platform, err = platform.Start(platform.Config{API: telegramtest.New(token), Token: token, Secret: secret, Watch: s.watch})
	if err != nil {
		return err
	}
	s.fleet, err = fleet.New(fleet.Config{
		Programs: s.cfg.programs, Platform: s.platform, Dir: s.cfg.dir, Bot: s.cfg.bot,
		Ingress: s.cfg.ingress, Workers: s.cfg.workers, Engines: s.cfg.engines, Proxied: s.cfg.proxied,
		Env: s.settings(), Each: s.each,
	})
	if err != nil {
		return err
	}
	if s.conn, err = jet.Dial(ctx, jet.Config{URL: s.cfg.engines.URL(), Name: "lab"}); err != nil {
		return err
	}
	return s.makeStreams(ctx)
}

// settings are the programs'.
func (s *scene) settings() map[string]string {
	env := map[string]string{
		"BOTMESH_STREAMS":          "trust", // the lab made them
		"BOTMESH_LEASE":            s.cfg.lease.String(),
		"BOTMESH_TRIES":            "3",
		"BOTMESH_DUPLICATE_WINDOW": duplicateWindow.String(),
		"BOTMESH_LOG_LEVEL":        "debug",
		"BOTMESH_ADMIN_TOKEN":      adminToken,
	}
	for k, v := range s.cfg.env {
		env[k] = v
	}
	return env
}

func (s *scene) each(process string) []string {
	return []string{
		history.EnvFile + "=" + filepath.Join(s.histories(), process+history.Suffix),
		history.EnvProcess + "=" + process,
	}
}

// watch tells the history each call that the platform meets.
func (s *scene) watch(c check.Call) func(platform.Fate) {
	return func(f platform.Fate) {
		chat, err := strconv.ParseInt(c.Chat, 10, 64)
		if err != nil {
			return // nothing that the bot sends has such a chat
		}
		e := history.Event{Kind: history.Platform, Chat: history.Telegram(chat), By: c.By, Text: history.Digest(c.Text), Status: f.Status}
		switch {
		case f.Told:
			e.Outcome = history.Accepted
		case f.Taken:
			e.Outcome = history.Dropped
		default:
			e.Outcome = history.Refused
		}
		s.log.Note(e)
	}
}

// wanted are the bot's streams as it would make them, but that they forget nothing:
// they are the evidence.
func wanted(bot string) []jetstream.StreamConfig {
	// Replicas of zero are as many as the servers can keep.
	all := engine.Streams(config.Config{Bot: bot, Retention: retention, DuplicateWindow: duplicateWindow})
	for i := range all {
		all[i].MaxAge = 0
		all[i].MaxMsgsPerSubject = -1
	}
	return all
}

// makeStreams repeats until the servers, which may have just begun, can.
func (s *scene) makeStreams(ctx context.Context) error {
	for {
		trying, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := streams.Ensure(trying, s.conn.JetStream(), streams.Create, wanted(s.cfg.bot))
		cancel()
		if err == nil {
			return nil
		}
		if !wait(ctx, 100*time.Millisecond) {
			return fmt.Errorf("making the streams: %w", err)
		}
	}
}

// start starts all replicas and waits until they are ready.
func (s *scene) start(ctx context.Context) error {
	for _, r := range s.fleet.Replicas() {
		if err := s.launch(r); err != nil {
			return err
		}
	}
	for _, r := range s.fleet.Replicas() {
		if err := r.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// launch starts a replica, and notes that and its end.
func (s *scene) launch(r *fleet.Replica) error {
	if err := r.Launch(); err != nil {
		return err
	}
	name, child := r.Process(), r.Child()
	s.log.Note(history.Event{Kind: history.Spawned, Target: name})
	s.running.Go(func() {
		status, _ := child.Wait(context.Background()) // close kills what is left
		s.log.Note(history.Event{Kind: history.Exited, Target: name, Status: status})
	})
	return nil
}

// close ends all that runs.
func (s *scene) close() {
	if s.fleet != nil {
		s.fleet.Stop()
	}
	if s.stop != nil {
		s.stop()
	}
	s.running.Wait()
	if s.conn != nil {
		s.conn.Close()
	}
	if s.platform != nil {
		_ = s.platform.Close() // of listeners
	}
	_ = s.log.Close() // every line was written at once
}

// backlog is what a bot has still to do: timers that have not fired, nudges that were
// not handed out yet, and those that are not acknowledged.
type backlog struct{ armed, pending, unacked uint64 }

func (b backlog) all() uint64 { return b.armed + b.pending + b.unacked }

// waiting counts the backlog. Timers come first: one that fires becomes a nudge.
func (s *scene) waiting(ctx context.Context) (b backlog, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // servers in trouble do not answer
	defer cancel()
	str, err := s.conn.JetStream().Stream(ctx, journal.InboxStream(s.cfg.bot))
	if err != nil {
		return b, err
	}
	info, err := str.Info(ctx, jetstream.WithSubjectFilter(check.Timers(s.cfg.bot)+">"))
	if err != nil {
		return b, err
	}
	for _, n := range info.State.Subjects {
		b.armed += n
	}
	b.pending, b.unacked, err = fleet.Backlog(ctx, s.conn.JetStream(), s.cfg.bot)
	return b, err
}

// drain waits until every timer has fired and every record is acknowledged. It is no
// error if that does not come: the judge says what is stuck.
func (s *scene) drain(ctx context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		left, err := s.waiting(ctx)
		if err == nil && left.all() == 0 {
			s.log.Note(history.Event{Kind: history.Drained})
			return
		}
		if !wait(ctx, 100*time.Millisecond) {
			return
		}
	}
}
