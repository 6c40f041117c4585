package probe_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/lab/bot"
	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

var chat = botmesh.ChatKey{Provider: "fake", Chat: "7"}

// world is a bot's engines in memory, within a bubble.
type world struct {
	t        *testing.T
	server   *jet.Memory
	hub      *coord.MemoryHub
	platform platform
	policy   outbox.Policy
	dir      string
}

func (w *world) stream(kind string) jet.Stream {
	name := "BOT_demo_" + kind
	if kind == "CP" {
		name = "KV_" + name
	}
	return w.server.Stream(name, jet.MemoryConfig{
		Metadata: map[string]string{"botmesh.epoch": "e1"}, Duplicates: time.Second,
	})
}

// platform refuses the first call if it is busy.
type platform struct {
	mu    sync.Mutex
	busy  bool
	texts []string
}

func (p *platform) ID() string                          { return chat.Provider }
func (p *platform) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (p *platform) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		p.busy = false
		return provider.Sent{}, provider.Retry(errors.New("too many"), time.Second)
	}
	p.texts = append(p.texts, c.Send.Text)
	return provider.Sent{MessageID: strconv.Itoa(len(p.texts))}, nil
}

// worker is a worker behind a probe.
type worker struct {
	probe *probe.Probe
	coord *coord.MemoryCoordinator
	stop  func()
}

// start starts a worker whose probe is armed; died is called at the point.
func (w *world) start(name, crash string, died func(*worker, probe.Action)) *worker {
	w.t.Helper()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	self := &worker{}
	p := w.probe(name, probe.Worker, crash, func(a probe.Action) { died(self, a) })
	self.probe = p
	ctx, cancel := context.WithCancel(w.t.Context())
	var err error
	self.coord, err = coord.NewMemory(w.hub, coord.Config{Lease: lease})
	must(err)
	coordinator := p.Coordinator(self.coord)
	in := func(kind string) jet.Stream { return p.Stream(w.stream(kind)) }
	j, err := journal.Open(ctx, journal.Config{Bot: "demo", Inbox: in("INBOX"), Dead: in("DEAD"), AckWait: lease})
	must(err)
	out, err := outbox.Open(ctx, outbox.Config{
		Stream: in("OUTBOX"), Bot: "demo", Incarnation: coordinator.Incarnation(), Hold: lease,
		Senders: []provider.Sender{p.Sender(&w.platform)}, InDoubt: map[string]outbox.Policy{chat.Provider: w.policy},
		Dead: func(context.Context, outbox.DeadSend) error { return nil },
	})
	must(err)
	b, err := bot.New(bot.Config{})
	must(err)
	d, err := dispatcher.New(dispatcher.Config{
		Journal: j, Coordinator: coordinator, Store: natsstore.New(in("CP"), "demo"), Outbox: out, Runner: b, Lease: lease,
	})
	must(err)
	done := make(chan struct{})
	self.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
	return self
}

// probe makes a probe that writes its history into the world's folder.
func (w *world) probe(name string, program probe.Program, crash string, die func(probe.Action)) *probe.Probe {
	w.t.Helper()
	log, err := history.Open(filepath.Join(w.dir, name+history.Suffix), name)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := probe.New(probe.Config{Log: log, Program: program, Crash: crash, Die: die})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// post journals a message, through a probe of the ingress.
func (w *world) post(p *probe.Probe, id, text string) {
	w.t.Helper()
	w.journal(p, botmesh.Record{Type: botmesh.TypeMessage, ID: id, Chat: chat, Message: botmesh.Message{Text: text}})
}

// journal journals a record, through any probe.
func (w *world) journal(p *probe.Probe, r botmesh.Record) {
	w.t.Helper()
	pub, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: p.Stream(w.stream("INBOX"))})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err = pub.Publish(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// load is a message that meets a need.
func load(n probe.Need) string {
	switch n {
	case probe.Eager:
		return "/slow 0.1"
	case probe.Failure:
		return "/fail 1"
	case probe.Poison:
		return "/poison"
	case probe.Timer:
		return "/later 1h tea"
	}
	return "/echo hi"
}

// leftBehind lets a worker die during the run of a message. The end it returns is
// for the test's.
func (w *world) leftBehind(ingress *probe.Probe) (end func()) {
	died, over := make(chan struct{}), make(chan struct{})
	dead := w.start("first", "commit.before:kill", func(self *worker, _ probe.Action) {
		self.coord.Crash()
		close(died)
		<-over // a dead process makes no more calls
	})
	w.post(ingress, "m0", "/echo lost")
	<-died
	return func() {
		w.server.Close()
		close(over)
		dead.stop()
	}
}

// Every point fires where its need is met, once, and says so in the history first.
func TestEveryPointFires(t *testing.T) {
	t.Parallel()
	for _, point := range probe.Points() {
		t.Run(point.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { firing(t, dir, point) })
			events, err := history.ReadDir(dir, history.All)
			if err != nil {
				t.Fatal(err)
			}
			fired := slices.DeleteFunc(events, func(e history.Event) bool { return e.Kind != history.Point || e.Process == "first" })
			if len(fired) != 1 || fired[0].ID != point.Name || fired[0].Target != chat.Key() || fired[0].Outcome != "kill" {
				t.Errorf("got %+v in the history, want %s once, for %s", fired, point.Name, chat.Key())
			}
		})
	}
}

// firing plays a chat until an armed point has fired and the chat is at rest.
func firing(t *testing.T, dir string, point probe.CrashPoint) {
	w := &world{t: t, server: jet.NewMemory(), hub: &coord.MemoryHub{}, dir: dir}
	defer w.server.Close()
	w.platform.busy = point.Needs == probe.Refusal
	if point.Needs == probe.Hold {
		w.policy = outbox.Hold
	}
	fired := make(chan struct{}, 1)
	note := func(*worker, probe.Action) { fired <- struct{}{} }
	crash := point.Name + ":kill"
	ingress := w.probe("ingress", probe.Ingress, "", nil)
	if point.Program == probe.Ingress {
		ingress = w.probe("ingress.2", probe.Ingress, crash, func(probe.Action) { fired <- struct{}{} })
		crash = ""
	}
	if point.Needs == probe.TakeOver {
		defer w.leftBehind(ingress)()
	}
	second := w.start("worker", crash, note)
	w.post(ingress, "m1", load(point.Needs))
	switch point.Needs {
	case probe.Timer:
		w.post(ingress, "m2", "/later 1s coffee")
	case probe.Order:
		w.journal(second.probe, botmesh.Record{Type: botmesh.TypeCommand, ID: "o1", Chat: chat, Sends: []botmesh.Send{{Text: "ready"}}})
	case probe.Duplicate:
		time.Sleep(time.Minute)
		w.post(ingress, "m1", load(point.Needs))
	}
	select {
	case <-fired:
	case <-time.After(10 * time.Minute):
		t.Errorf("%s did not fire", point.Name)
	}
	time.Sleep(time.Minute) // virtual: the chat comes to rest
	second.stop()
	if err := second.coord.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
