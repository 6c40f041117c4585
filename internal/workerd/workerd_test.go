package workerd_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/worker"
)

func TestMain(m *testing.M) {
	engine.LogRedis(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

const (
	token  = "12:secret"
	secret = "hook"
)

func settings(t *testing.T, env ...string) config.Config {
	t.Helper()
	l, err := config.Load(config.Input{Environ: append(env,
		"BOTMESH_TELEGRAM_TOKEN="+token, "BOTMESH_TELEGRAM_SECRET="+secret, "BOTMESH_LISTEN=127.0.0.1:0", "BOTMESH_LEASE=2s")})
	if err != nil {
		t.Fatal(err)
	}
	return l.Config
}

// fleet is one ingress and two workers, each as wired for its program, before a
// real NATS, a real Redis and a Telegram.
type fleet struct {
	telegram *telegramtest.Server
	nats     string
	redis    *redistest.Server
	ingress  *ingressd.Ingress
	workers  []*workerd.Worker
	settings config.Config
}

func startFleet(t *testing.T, env ...string) *fleet {
	t.Helper()
	return startFleetOf(t, demoBot(t), env...)
}

// startFleetOf starts a fleet whose workers run what is given.
func startFleetOf(t *testing.T, runner dispatcher.Runner, env ...string) *fleet {
	t.Helper()
	f := &fleet{telegram: telegramtest.New(token), nats: natstest.Start(t), redis: redistest.Start(t)}
	api := httptest.NewServer(f.telegram)
	t.Cleanup(api.Close)
	s := settings(t, append(env, "BOTMESH_NATS_URL="+f.nats, "BOTMESH_REDIS_URL="+f.redis.URL(), "BOTMESH_TELEGRAM_API_URL="+api.URL)...)
	f.settings = s
	var err error
	if f.ingress, err = ingressd.New(t.Context(), ingressd.Config{Settings: s}); err != nil {
		t.Fatal(err)
	}
	run(t, f.ingress.Run)
	for _, replica := range []string{"w1", "w2"} {
		s.ReplicaID = replica
		w := newWorkerOf(t, s, runner)
		f.workers = append(f.workers, w)
		run(t, w.Run)
	}
	natstest.Until(t, "all replicas are ready", func() bool {
		err := f.ingress.Ready(t.Context())
		for _, w := range f.workers {
			err = errors.Join(err, w.Ready(t.Context()))
		}
		return err == nil
	})
	return f
}

func demoBot(t *testing.T) dispatcher.Runner {
	t.Helper()
	runner, err := worker.New(worker.Config{Bot: demo.Bot()})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

func newWorker(t *testing.T, s config.Config) *workerd.Worker {
	t.Helper()
	return newWorkerOf(t, s, demoBot(t))
}

func newWorkerOf(t *testing.T, s config.Config, runner dispatcher.Runner) *workerd.Worker {
	t.Helper()
	w, err := workerd.New(t.Context(), workerd.Config{Settings: s, Runner: runner, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a replica until the test ends, and stops it in order.
func run(t *testing.T, replica func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- replica(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("after a drain: got %v, want no error", err)
		}
	})
}

// post sends an update as Telegram does: again until it is taken.
func (f *fleet) post(t *testing.T, update []byte) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	natstest.Until(t, "the webhook is taken", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.ingress.Addr()+"/webhooks/telegram", strings.NewReader(string(update)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(telegram.SecretHeader, secret)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func (f *fleet) expect(t *testing.T, chat string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := f.telegram.Wait(ctx, chat, len(want)); err != nil {
		t.Fatalf("got %q, want %q: %v", f.telegram.Texts(chat), want, err)
	}
	if got := f.telegram.Texts(chat); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A webhook becomes an answer, once, through the whole path.
//
// SPEC: J1 J2 O2 D2
func TestWebhookBecomesAnAnswer(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.post(t, telegramtest.Text(1, 7, "/count"))
	f.post(t, telegramtest.Text(1, 7, "/count")) // the platform repeats itself
	f.post(t, telegramtest.Text(2, 7, "/count"))
	f.expect(t, "7", "count: 1", "count: 2")

	for i, w := range f.workers {
		got := w.Status()
		if want := []string{"w1", "w2"}[i]; got.Replica != want || !strings.HasPrefix(got.Incarnation, want+"/") || got.Bot != "demo" || got.Version != "1.2.3" || got.Trouble != "" {
			t.Errorf("status: got %+v, want replica %s of demo, 1.2.3, without trouble", got, want)
		}
	}
}

// Somebody deletes the bot's journal, and it is made anew by whatever program
// starts next. The workers open all again and go on.
//
// HOLE H6
func TestWorkersOpenStreamsThatWereMadeAnew(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.post(t, telegramtest.Text(1, 7, "/count"))
	f.expect(t, "7", "count: 1")
	before := f.workers[0].Status().Incarnation

	s, log := settings(t, "BOTMESH_NATS_URL="+f.nats), slog.New(slog.DiscardHandler)
	conn, err := engine.Dial(t.Context(), s, "test", nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := conn.JetStream().DeleteStream(t.Context(), journal.InboxStream(s.Bot)); err != nil {
		t.Fatal(err)
	}
	if err := engine.Prepare(t.Context(), conn, s, log); err != nil {
		t.Fatal(err)
	}
	f.post(t, telegramtest.Text(2, 7, "/count"))
	f.expect(t, "7", "count: 1", "count: 2")
	natstest.Until(t, "a new incarnation", func() bool { return f.workers[0].Status().Incarnation != before })
}

// SPEC W3
func TestReadySaysWhatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorker(t, settings(t, "BOTMESH_NATS_URL=nats://127.0.0.1:1", "BOTMESH_REDIS_URL=redis://127.0.0.1:1"))
	run(t, w.Run)
	if err := w.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "not serving yet") || !strings.Contains(err.Error(), "nats") {
		t.Errorf("got %v, want that it waits for NATS", err)
	}
	if got := w.Status(); got.Trouble == "" || got.Lanes == nil || got.Draining {
		t.Errorf("got the status %+v, want trouble, no lanes and no drain", got)
	}
}

// NATS alone is enough to serve, but not to be given work.
//
// SPEC: T14 W3
func TestReadyNeedsRedis(t *testing.T) {
	t.Parallel()
	w := newWorker(t, settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_REDIS_URL=redis://127.0.0.1:1"))
	run(t, w.Run)
	natstest.Until(t, "only Redis is missing", func() bool {
		err := w.Ready(t.Context())
		return err != nil && strings.HasPrefix(err.Error(), "redis: ")
	})
}

// Redis is gone, and messages are answered. When it is back, turns are asked for again.
//
// SPEC: T14 W3
func TestWorkersThatAreToldToGoOnWithoutRedis(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_REDIS_DOWN=optimistic")
	f.post(t, telegramtest.Text(1, 7, "/count"))
	f.expect(t, "7", "count: 1")
	f.redis.Kill()
	f.post(t, telegramtest.Text(2, 7, "/count"))
	f.post(t, telegramtest.Text(3, 8, "/count"))
	f.expect(t, "7", "count: 1", "count: 2")
	f.expect(t, "8", "count: 1")
	away := func(want bool) func() bool {
		return func() bool {
			for _, w := range f.workers {
				if w.Status().AwaySince.IsZero() == want {
					return false
				}
			}
			return true
		}
	}
	natstest.Until(t, "all say that it is away", away(true))
	for _, w := range f.workers {
		if err := w.Ready(t.Context()); err != nil {
			t.Errorf("got a worker that is not ready: %v", err)
		}
	}
	if err := f.redis.Restart(); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "all say that it is back", away(false))
	f.post(t, telegramtest.Text(4, 7, "/count"))
	f.expect(t, "7", "count: 1", "count: 2", "count: 3")
	keys, err := f.redis.Client(t).Keys(t.Context(), "botmesh:demo:{telegram.7}:turn").Result()
	if err != nil || len(keys) != 1 {
		t.Errorf("got the keys %v, %v; want the turn's", keys, err)
	}
}

// A worker that goes on without Redis is not ready if Redis is there and does not let
// it in: then the settings are wrong.
//
// SPEC: T14 W3
func TestReadyNeedsARightPassword(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	w := newWorker(t, settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_REDIS_URL="+redis.URL(), "BOTMESH_REDIS_DOWN=optimistic"))
	run(t, w.Run)
	natstest.Until(t, "it is ready", func() bool { return w.Ready(t.Context()) == nil })
	look := redis.Client(t)
	for _, args := range [][]any{{"config", "set", "requirepass", "another"}, {"client", "kill", "skipme", "yes"}} {
		if err := look.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Until(t, "it says why it is not ready", func() bool {
		err := w.Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "NOAUTH")
	})
	if err := look.Do(t.Context(), "config", "set", "requirepass", "").Err(); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "it is ready again", func() bool { return w.Ready(t.Context()) == nil })
}

func TestNewMarksWrongSettings(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--requirepass", "right")
	for name, env := range map[string][]string{
		"refused password": {"BOTMESH_REDIS_URL=" + strings.Replace(redis.URL(), "redis://", "redis://:wrong@", 1)},
		"no master":        {"BOTMESH_REDIS_URL=redis+sentinel://a:1,b:2"},
		"credentials":      {"BOTMESH_NATS_CREDS=/no/such/file", "BOTMESH_REDIS_URL=redis://127.0.0.1:1"},
	} {
		_, err := workerd.New(t.Context(), workerd.Config{Settings: settings(t, env...)})
		if !config.IsWrong(err) {
			t.Errorf("%s: got %v, want it marked as wrong", name, err)
		}
	}
	bad := settings(t, "BOTMESH_REDIS_URL=redis://127.0.0.1:1")
	bad.Telegram.Token = config.NewSecret("no token at all")
	if _, err := workerd.New(t.Context(), workerd.Config{Settings: bad}); !config.IsWrong(err) || strings.Contains(err.Error(), "no token at all") {
		t.Errorf("token: got %v, want it marked as wrong, without the token", err)
	}
}
