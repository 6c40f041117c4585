package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

// world is one bot's engines, in memory, and its platform. It lives in a
// synctest bubble, so that hours pass in no time.
type world struct {
	t        *testing.T
	server   *jet.Memory
	hub      *coord.MemoryHub
	platform *platform
	bot      *counter

	epoch string // of the journal
	// pausing lets replicas look at pauses.
	pausing bool
	// wrap, if set, stands between a replica's gate and a stream.
	wrap func(kind string, s jet.Stream) jet.Stream

	mu       sync.Mutex
	replicas []*replica
	ids      int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: jet.NewMemory(), hub: &coord.MemoryHub{}, platform: newPlatform(), bot: &counter{}, epoch: "e1"}
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) stream(kind string) jet.Stream {
	epoch := "e1"
	if kind == "INBOX" {
		epoch = w.epoch
	}
	cfg := jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": epoch}}
	name := "BOT_demo_" + kind
	if kind == "CP" {
		name, cfg.MaxPerSubject = "KV_"+name, 1
	}
	return w.server.Stream(name, cfg)
}

// recreate deletes the journal and makes it anew.
func (w *world) recreate(epoch string) {
	w.server.Delete(w.stream("INBOX").Name())
	w.epoch = epoch
}

// replica is one worker of the world.
type replica struct {
	w      *world
	gate   *gate
	coord  *coord.MemoryCoordinator
	d      *dispatcher.Dispatcher
	store  checkpoint.Store
	outbox *outbox.Outbox
	pauses *acts.Pauses // nil if the world is not pausing
	stop   context.CancelFunc
	done   chan struct{}
	// replaced says that another was started in its place.
	replaced bool
}

// start starts a worker. Its calls to the engines go through its gate.
func (w *world) start(configure ...func(*dispatcher.Config)) *replica {
	w.t.Helper()
	r := &replica{w: w, gate: &gate{}, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(w.t.Context())
	r.stop = cancel
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	r.coord, err = coord.NewMemory(w.hub, coord.Config{Lease: lease})
	must(err)
	in := func(kind string) jet.Stream {
		s := w.stream(kind)
		if w.wrap != nil {
			s = w.wrap(kind, s)
		}
		return gated{s, r.gate}
	}
	j, err := journal.Open(ctx, journal.Config{Bot: "demo", Inbox: in("INBOX"), Dead: in("DEAD"), AckWait: lease})
	must(err)
	r.store = natsstore.New(in("CP"), "demo")
	r.outbox, err = outbox.Open(ctx, outbox.Config{
		Stream: in("OUTBOX"), Bot: "demo", Incarnation: r.coord.Incarnation(), Hold: lease,
		Senders: []provider.Sender{&caller{w.platform, r.gate}},
		Dead:    func(context.Context, outbox.DeadSend) error { return nil },
		Paused:  func(chat botmesh.ChatKey) bool { return r.pauses != nil && r.pauses.Known(chat).On },
	})
	must(err)
	if w.pausing {
		r.pauses, err = acts.OpenPauses(ctx, acts.PausesConfig{Config: acts.Config{Stream: in("ACTS"), Bot: "demo"}})
		must(err)
		go func() { _ = r.pauses.Run(ctx) }() // nil when ctx ends
	}
	cfg := dispatcher.Config{
		Journal: j, Coordinator: r.coord, Store: r.store, Outbox: r.outbox, Runner: w.bot, Lease: lease, Pauses: r.pauses,
	}
	for _, c := range configure {
		c(&cfg)
	}
	r.d, err = dispatcher.New(cfg)
	must(err)
	r.gate.crash = func() {
		r.coord.Crash()
		r.stop()
	}
	w.mu.Lock()
	w.replicas = append(w.replicas, r)
	w.mu.Unlock()
	go func() {
		defer close(r.done)
		if err := r.d.Run(ctx); err != nil && !errors.Is(err, journal.ErrEpochChanged) {
			w.t.Errorf("Run: %v", err)
		}
	}()
	synctest.Wait() // what it does at its start is done, so that later calls are numbered alike in every run
	return r
}

// drain stops a worker in order.
func (r *replica) drain() {
	r.stop()
	<-r.done
	if !r.gate.isDead() {
		if err := r.coord.Close(context.Background()); err != nil {
			r.w.t.Errorf("close: %v", err)
		}
	}
}

func (w *world) drainAll() {
	for _, r := range w.replicas {
		r.drain()
	}
	w.server.Close()
}

// post journals a message of a chat as the ingress does.
func (w *world) post(chat, text string) string {
	w.t.Helper()
	w.mu.Lock()
	w.ids++
	id := "m" + strconv.Itoa(w.ids)
	w.mu.Unlock()
	w.postID(chat, text, id)
	return id
}

func (w *world) postID(chat, text, id string) {
	w.t.Helper()
	p, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = p.Publish(w.t.Context(), botmesh.Record{
		Type: botmesh.TypeMessage, ID: id, Chat: key(chat), User: "user", Message: botmesh.Message{Text: text},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func key(chat string) botmesh.ChatKey { return botmesh.ChatKey{Provider: "fake", Chat: chat} }

// settled waits until the journal's consumer has nothing to hand out and nothing
// unacknowledged.
func (w *world) settled(limit time.Duration) {
	w.t.Helper()
	c, err := w.stream("INBOX").Consumer(w.t.Context(), jet.ConsumerConfig{Name: "nudges-" + w.epoch, Subject: "bot.in.demo.>", HeadersOnly: true, AckWait: lease})
	if err != nil {
		w.t.Fatal(err)
	}
	deadline := time.Now().Add(limit)
	for {
		waiting, unacked, err := c.Pending(w.t.Context())
		if err == nil && waiting+unacked == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("after %s: %d records not handed out, %d not acknowledged (%v)\n%s", limit, waiting, unacked, err, w.dump())
		}
		time.Sleep(50 * time.Millisecond) // virtual
	}
}

// dead returns what was set aside.
func (w *world) dead() []journal.DeadLetter {
	w.t.Helper()
	j, err := journal.Open(w.t.Context(), journal.Config{Bot: "demo", Inbox: w.stream("INBOX"), Dead: w.stream("DEAD")})
	if err != nil {
		w.t.Fatal(err)
	}
	dead, err := j.DeadLetters(w.t.Context(), journal.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	return dead
}

func (w *world) dump() string {
	var s string
	for i, r := range w.replicas {
		s += fmt.Sprintf("replica %d: %+v\n  %v\n", i, r.d.Status(), r.gate.log())
	}
	return s + fmt.Sprint(w.platform.log)
}

// platform is the fake behind the provider.
type platform struct {
	mu    sync.Mutex
	log   []string // every text taken, in order, over all chats
	chats map[string][]string
	rule  func(chat, text string, n int) error // n counts the calls
	calls int
	slow  time.Duration
	cut   int // the longest text that was to be cut, in bytes
}

func newPlatform() *platform { return &platform{chats: map[string][]string{}} }

func (p *platform) texts(chat string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.chats[chat]...)
}

// caller is the provider of one replica.
type caller struct {
	*platform
	g *gate
}

func (c *caller) ID() string { return "fake" }

func (c *caller) Split(s botmesh.Send) []botmesh.Send {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = max(c.cut, len(s.Text))
	return []botmesh.Send{s}
}

func (c *caller) Call(ctx context.Context, call provider.Call) (provider.Sent, error) {
	return do(ctx, c.g, "call", func() (provider.Sent, error) {
		c.mu.Lock()
		slow, rule, n := c.slow, c.rule, c.calls
		c.calls++
		c.mu.Unlock()
		if slow > 0 {
			time.Sleep(slow)
		}
		if rule != nil {
			if err := rule(call.Chat.Chat, call.Send.Text, n); err != nil {
				return provider.Sent{}, err
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, call.Chat.Chat+": "+call.Send.Text)
		c.chats[call.Chat.Chat] = append(c.chats[call.Chat.Chat], call.Send.Text)
		return provider.Sent{MessageID: strconv.Itoa(len(c.log))}, nil
	})
}

// counter is the bot of these tests: it answers each message of a chat with its
// number, which proves order, loss and repetition at once.
type counter struct {
	mu   sync.Mutex
	runs int
	// on, if set, replaces the answer to a text.
	on func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error)
}

// ran is how often a record was run.
func (c *counter) ran() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
}

func (c *counter) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	c.mu.Lock()
	c.runs++
	on := c.on
	c.mu.Unlock()
	if r.Record.Type == botmesh.TypeEvent {
		return botmesh.Outcome{Ignored: true}, nil
	}
	n := 0
	if r.State != nil {
		if err := json.Unmarshal(r.State, &n); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	n++
	state, err := json.Marshal(n)
	if err != nil {
		return botmesh.Outcome{}, err
	}
	o := botmesh.Outcome{State: state, Sends: []botmesh.Send{{Text: fmt.Sprintf("count: %d", n)}}}
	if on != nil {
		return on(ctx, r, m, o)
	}
	return o, nil
}

// list collects what several goroutines add.
type list[T any] struct {
	mu    sync.Mutex
	items []T
}

// add returns how many there are now.
func (l *list[T]) add(v T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, v)
	return len(l.items)
}

func (l *list[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]T(nil), l.items...)
}

// counts is what a chat's user sees after n messages.
func counts(n int) []string {
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("count: %d", i+1))
	}
	return want
}

// play runs a test in a bubble.
func play(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.drainAll()
		f(w)
	})
}
