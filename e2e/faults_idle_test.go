package e2e

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// half of the chats are more than a worker keeps in memory, which is 10 000.
const half = 11_000

// parked is the most that a worker may need for those it keeps, in the middle of a
// flow each.
const parked = 50 << 20

// patient is a lease that hardly any load makes run out.
const patient = 6 * time.Second

// Every conversation that was ever opened stayed in memory. Here a worker, within
// the test's process so that its heap can be weighed, asks each of many chats a
// question, on real servers: more than it keeps. What it then needs, and what Redis
// holds, does not depend on how many there were, no chat has a goroutine, and each goes
// on at its question.
//
// FAULT: 29 https://github.com/OpenHands/software-agent-sdk/issues/3141
// SPEC: T15 H3 DESIGN I8
func TestIdleChatsCostNothing(t *testing.T) { // alone: it weighs the heap
	w := idleWorld(t)
	const quiz, first, second = "/quiz", "What is 2 + 2?", "What is the capital of France?"
	w.say(1, 200, quiz, first) // whatever is made once
	before, goroutines := weigh(), runtime.NumGoroutine()
	w.say(201, half, quiz, first)
	full := weigh()
	w.say(half+1, 2*half, quiz, first)
	over := weigh()
	t.Logf("heap %d KiB, %d KiB after %d chats, %d KiB after as many again", before>>10, full>>10, half, over>>10)
	if full-before > parked {
		t.Errorf("got %d MiB for 10 000 chats that wait in a flow, want at most %d", (full-before)>>20, parked>>20)
	}
	if cost := full - before; over-full > cost/4 {
		t.Errorf("got %d KiB more for as many chats again, want next to nothing: the first ones cost %d KiB", (over-full)>>10, cost>>10)
	}
	w.until(time.Minute, "the goroutines of idle chats to end", func() bool { return runtime.NumGoroutine() <= goroutines+16 })
	if lanes := w.worker.Status().Lanes; len(lanes) > 0 {
		t.Errorf("got %d lanes, want none", len(lanes))
	}
	w.until(time.Minute, "Redis to forget idle chats", func() bool {
		keys, err := w.redis.DBSize(t.Context()).Result()
		return err == nil && keys <= half/100 // of a turn that ran out on a slow machine it knows for a day
	})
	if got := w.consumers(); got != 1 {
		t.Errorf("got %d consumers, want the one that all share", got)
	}
	w.say(1, 100, "4", second)
}

// idle is a worker in this process, its servers and a platform that only counts.
type idle struct {
	t       *testing.T
	worker  *workerd.Worker
	redis   *redis.Client
	conn    *jet.Conn
	journal *journal.Publisher
	taken   atomic.Int64
	wrong   atomic.Int64 // replies that were not the expected one
	want    atomic.Value // string
}

func idleWorld(t *testing.T) *idle {
	w := &idle{t: t}
	r := redistest.Start(t)
	w.redis = r.Client(t)
	url := natstest.Process(t).URL
	l, err := config.Load(config.Input{Environ: []string{
		"BOTMESH_TELEGRAM_TOKEN=" + token, "BOTMESH_NATS_URL=" + url,
		"BOTMESH_REDIS_URL=" + r.URL(), "BOTMESH_LEASE=" + patient.String(), "BOTMESH_REPLICA_ID=w1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := worker.New(worker.Config{Bot: demo.Bot()})
	if err != nil {
		t.Fatal(err)
	}
	w.worker, err = workerd.New(t.Context(), workerd.Config{
		Settings: l.Config, Runner: runner, Coordination: forgetful{w.redis},
		Seams: workerd.Seams{Sender: func(s provider.Sender) provider.Sender { return taker{s, w} }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w.until(time.Minute, "the worker to be ready", func() bool { return w.worker.Ready(t.Context()) == nil })
	if w.conn, err = jet.Dial(t.Context(), jet.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.conn.Close)
	w.journal, err = journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.conn.Stream(inbox)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// forgetful has Redis forget idle chats after seconds, not hours.
type forgetful struct{ client *redis.Client }

func (f forgetful) New() (coord.Coordinator, error) {
	return rediscoord.New(rediscoord.Config{Client: f.client, Lease: patient, Idle: 2 * patient})
}
func (f forgetful) Ping(ctx context.Context) error { return f.client.Ping(ctx).Err() }
func (f forgetful) Close() error                   { return nil }

// taker is a platform that takes all and keeps nothing.
type taker struct {
	provider.Sender
	w *idle
}

func (t taker) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	if c.Send.Text != t.w.want.Load() {
		t.w.wrong.Add(1)
	}
	return provider.Sent{MessageID: strconv.FormatInt(t.w.taken.Add(1), 10)}, nil
}

// say has each of the chats say something, and waits until all got that answer and are
// at rest.
func (w *idle) say(first, last int, text, answer string) {
	w.t.Helper()
	w.want.Store(answer)
	before := w.taken.Load()
	group, ctx := errgroup.WithContext(w.t.Context())
	group.SetLimit(64)
	for chat := first; chat <= last; chat++ {
		id := strconv.Itoa(chat)
		group.Go(func() error {
			_, err := w.journal.Publish(ctx, botmesh.Record{
				Type: botmesh.TypeMessage, ID: id + "-" + text, Chat: botmesh.ChatKey{Provider: "telegram", Chat: id},
				Message: botmesh.Message{Text: text},
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.t.Fatal(err)
	}
	want := before + int64(last-first+1)
	w.until(2*time.Minute, "all chats to be answered and at rest", func() bool {
		return w.taken.Load() >= want && len(w.worker.Status().Lanes) == 0
	})
	if got := w.taken.Load(); got != want || w.wrong.Load() > 0 {
		w.t.Errorf("got %d replies, %d of them wrong, want %d right ones", got-before, w.wrong.Load(), want-before)
	}
}

func (w *idle) consumers() int {
	s, err := w.conn.JetStream().Stream(w.t.Context(), inbox)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.CachedInfo().State.Consumers
}

// weigh is what the heap holds once all garbage is gone.
func weigh() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// until polls until ok.
func (w *idle) until(within time.Duration, what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(within); !ok(); <-tick.C {
		if time.Now().After(late) {
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}
