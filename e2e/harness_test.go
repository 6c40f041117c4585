package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const (
	token  = "700:e2e-token"
	secret = "e2e-secret"

	// lease is how long a dead worker's chats wait in the runs that have any.
	lease = 2 * time.Second
	// delay is what a call of the platform takes: long enough that faults meet some.
	delay = 20 * time.Millisecond
	// confirm is the time that a receipt may be on its way on a loaded machine.
	confirm = 500 * time.Millisecond

	inbox = "BOT_" + fleet.Bot + "_INBOX"
	dead  = "BOT_" + fleet.Bot + "_DEAD"
)

// quick are the settings of runs in which processes die. A short lease leaves the
// platform's calls little time too, so that the other runs have the default.
var quick = map[string]string{"BOTMESH_LEASE": lease.String()}

// scene is one test's fleet and platform.
type scene struct {
	*fleet.Fleet
	*platform.Platform
	t *testing.T

	mu      sync.Mutex
	awaited map[int64][]string // the texts that were waited for, by chat
}

// described makes a fleet of two ingress and three workers, not started, and takes
// care of its end.
func described(t *testing.T, env map[string]string, but ...func(*fleet.Config)) *scene {
	t.Helper()
	p, err := platform.Start(platform.Config{API: telegramtest.New(token), Token: token, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	p.Delay(delay)
	cfg := fleet.Config{Programs: programs, Platform: p, Dir: t.ArtifactDir(), Ingress: 2, Workers: 3, Env: env}
	for _, change := range but {
		change(&cfg)
	}
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.Logs())
		}
		f.Stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scene{Fleet: f, Platform: p, t: t}
}

// started is described, running and ready.
func started(t *testing.T, env map[string]string) *scene {
	t.Helper()
	s := described(t, env)
	if err := s.Start(s.within(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return s
}

// within is a context that ends after a generous time.
func (s *scene) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(s.t.Context(), d, fmt.Errorf("not done within %v", d))
	s.t.Cleanup(cancel)
	return ctx
}

// say delivers a message to any ingress.
func (s *scene) say(chat int64, text string) {
	s.t.Helper()
	if err := s.Say(s.within(30*time.Second), s.URLs(), chat, text); err != nil {
		s.t.Fatal(err)
	}
}

// hears waits until a chat got a text.
func (s *scene) hears(chat int64, text string, within time.Duration) {
	s.t.Helper()
	if err := s.AwaitText(s.within(within), chat, text); err != nil {
		s.t.Fatal(err)
	}
}

// verify judges the run once all is idle: every reply in order, once, repeats only
// of what was in flight at a fault and no more than were counted in doubt.
func (s *scene) verify(want map[string][]string) {
	s.t.Helper()
	s.idle(20 * time.Second)
	s.judge(s.Calls(), want)
}

// judge is verify of a run that is idle. More faults are those that nobody but the
// test knows of.
func (s *scene) judge(calls []check.Call, want map[string][]string, more ...check.Fault) {
	s.t.Helper()
	doubt, late := s.Doubt(s.t.Context())
	faults := append(s.Faults(), more...)
	repeats, err := check.Replies(check.History{Calls: calls, Faults: faults, Confirm: confirm, Late: late}, want)
	if err := errors.Join(err, doubt.Repeats(repeats)); err != nil {
		s.t.Error(err)
	}
	s.t.Logf("%d calls, %d faults, %d answers too late, %d sends in doubt, %d seen twice",
		len(calls), len(faults), late, doubt.Counted, len(repeats))
}

// jetStream is a connection of the test's own, to look at streams.
func (s *scene) jetStream() jetstream.JetStream {
	s.t.Helper()
	nc, err := nats.Connect("nats://" + s.NATS.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	return js
}

// stored counts the messages of a stream.
func (s *scene) stored(stream string) uint64 {
	s.t.Helper()
	str, err := s.jetStream().Stream(s.t.Context(), stream)
	if err != nil {
		s.t.Fatalf("stream %s: %v", stream, err)
	}
	return str.CachedInfo().State.Msgs
}

// idle waits until every record is acknowledged, which is after every reply has
// its receipt.
func (s *scene) idle(within time.Duration) {
	s.t.Helper()
	js := s.jetStream()
	s.eventually(within, "every record is acknowledged", func(ctx context.Context) error {
		pending, unacknowledged, err := fleet.Backlog(ctx, js, s.Bot)
		if err == nil && pending+unacknowledged > 0 {
			err = fmt.Errorf("%d records wait, %d are not acknowledged", pending, unacknowledged)
		}
		return err
	})
}

// eventually polls until ok gives no error.
func (s *scene) eventually(within time.Duration, what string, ok func(context.Context) error) {
	s.t.Helper()
	if err := s.polled(within, what, ok); err != nil {
		s.t.Fatal(err)
	}
}

// polled is eventually for those who go on, or are not the test's own goroutine.
func (s *scene) polled(within time.Duration, what string, ok func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("not so within %v: %s: %w", within, what, err)
		}
	}
}

// sum adds up a metric over replicas that answer.
func (s *scene) sum(replicas []*fleet.Replica, name string, labels ...string) (sum float64) {
	s.t.Helper()
	for _, r := range replicas {
		m, err := r.Metrics(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		sum += m.Sum(name, labels...)
	}
	return sum
}
