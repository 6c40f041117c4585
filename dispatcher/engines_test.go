package dispatcher_test

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/streams"
)

// engines are a real NATS server and a real Redis, and workers on them in this
// process.
type engines struct {
	journal  *journal.Journal
	platform *platform
	took     list[time.Duration]

	mu      sync.Mutex
	answers map[string]chan struct{} // by chat, one token an answer
}

// startEngines starts n workers of a counting bot. They end with the test.
func startEngines(t testing.TB, n int) *engines {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	node, redis := natstest.Process(t), redistest.Start(t)
	e := &engines{platform: newPlatform(), answers: map[string]chan struct{}{}}
	dial := func() *jet.Conn {
		conn, err := jet.Dial(context.Background(), jet.Config{URL: node.URL})
		must(err)
		t.Cleanup(conn.Close)
		return conn
	}
	conn := dial()
	want := append(journal.Streams(journal.Sizing{Bot: "demo"}), outbox.Streams(outbox.Sizing{Bot: "demo"})...)
	must(streams.Ensure(t.Context(), conn.JetStream(), streams.Create, append(want, natsstore.Stream("demo", 1))))
	open := func(conn *jet.Conn) *journal.Journal {
		j, err := journal.Open(t.Context(), journal.Config{
			Bot: "demo", Inbox: conn.Stream(journal.InboxStream("demo")), Dead: conn.Stream(journal.DeadStream("demo")), AckWait: lease,
		})
		must(err)
		return j
	}
	e.journal = open(conn)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range n {
		conn := dial()
		client, err := rediscoord.Dial(t.Context(), redis.URL())
		must(err)
		c, err := rediscoord.New(rediscoord.Config{Client: client, Lease: lease})
		must(err)
		out, err := outbox.Open(t.Context(), outbox.Config{
			Stream: conn.Stream("BOT_demo_OUTBOX"), Bot: "demo", Incarnation: c.Incarnation(), Hold: lease,
			Senders: []provider.Sender{sender{e}},
		})
		must(err)
		d, err := dispatcher.New(dispatcher.Config{
			Journal: open(conn), Coordinator: c, Store: natsstore.New(conn.Stream("KV_BOT_demo_CP"), "demo"), Outbox: out, Runner: &counter{}, Lease: lease,
		})
		must(err)
		group.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
			if err := c.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
			_ = client.Close()
		})
	}
	t.Cleanup(func() { // while their connections are open: they drain
		stop()
		group.Wait()
	})
	return e
}

// answered has a token for each answer of a chat that nobody took yet.
func (e *engines) answered(chat string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answers[chat] == nil {
		e.answers[chat] = make(chan struct{}, 1024)
	}
	return e.answers[chat]
}

// sender notes what arrives at the platform.
type sender struct{ e *engines }

func (s sender) ID() string                          { return "fake" }
func (s sender) Split(m botmesh.Send) []botmesh.Send { return []botmesh.Send{m} }
func (s sender) Call(_ context.Context, call provider.Call) (provider.Sent, error) {
	p := s.e.platform
	p.mu.Lock()
	p.chats[call.Chat.Chat] = append(p.chats[call.Chat.Chat], call.Send.Text)
	p.mu.Unlock()
	s.e.answered(call.Chat.Chat) <- struct{}{}
	return provider.Sent{}, nil
}

// drive posts messages to each of many chats, the next one of a chat when the
// last one was answered, and returns when all were.
func (e *engines) drive(t testing.TB, chats, messages int) { e.driveFrom(t, chats, 0, messages) }

func (e *engines) driveFrom(t testing.TB, chats, from, messages int) {
	t.Helper()
	var group sync.WaitGroup
	for c := range chats {
		group.Go(func() {
			chat := fmt.Sprint("c", c)
			for i := from; i < from+messages; i++ {
				began := time.Now()
				_, err := e.journal.Publish(context.Background(), botmesh.Record{
					Type: botmesh.TypeMessage, ID: fmt.Sprint(chat, "-", i), Chat: key(chat), Message: botmesh.Message{Text: "x"},
				})
				if err != nil {
					t.Errorf("publish: %v", err)
					return
				}
				select {
				case <-e.answered(chat):
				case <-time.After(time.Minute):
					t.Errorf("chat %s got %d of %d answers", chat, len(e.platform.texts(chat)), i+1)
					return
				}
				e.took.add(time.Since(began))
			}
		})
	}
	group.Wait()
}

// SPEC: J4 T1 T2. The same on a real NATS server and a real Redis.
func TestOnRealEngines(t *testing.T) {
	t.Parallel()
	e := startEngines(t, 3)
	const chats, messages = 16, 10
	e.drive(t, chats, messages)
	for c := range chats {
		got := e.platform.texts(fmt.Sprint("c", c))
		if fmt.Sprint(got) != fmt.Sprint(counts(messages)) {
			t.Errorf("chat %d: got %v, want %v", c, got, counts(messages))
		}
	}
}

// BenchmarkTurn is one message from the journal to the platform, 64 chats at once,
// on one worker.
func BenchmarkTurn(b *testing.B) {
	e := startEngines(b, 1)
	const chats = 64
	e.drive(b, chats, 1)
	b.ResetTimer()
	began := time.Now()
	each := max(1, b.N/chats)
	e.took = list[time.Duration]{}
	e.driveFrom(b, chats, 1, each)
	b.ReportMetric(float64(chats*each)/time.Since(began).Seconds(), "msgs/s")
	all := e.took.all()
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
