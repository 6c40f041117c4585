package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f in a bubble of its own time, beside other tests.
func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(newWorld(t)) })
}

const hold = 15 * time.Second

var chatA = botmesh.ChatKey{Provider: "test", Chat: "a"}

// world is a server, a platform, and the processes that use them.
type world struct {
	*testing.T
	stream *jet.MemoryStream
	out    uint64 // the chat's last letter
	number int

	mu    sync.Mutex
	calls []made
	taken []string
}

// made is a call that reached the platform's side of the wire.
type made struct {
	part string
	by   string
	at   time.Time
}

func newWorld(t *testing.T) *world {
	return &world{T: t, stream: jet.NewMemory().Stream(StreamName("b"), jet.MemoryConfig{Metadata: map[string]string{epochKey: "e1"}})}
}

// process is one replica: its outbox, its line to the server and its sender.
type process struct {
	*Outbox
	line *line
	w    *world
	name string
	dead atomic.Bool
	// answer decides what the platform says to a call of this process, nil for
	// taking everything. An error of errTook is a call that was taken and whose
	// answer was lost.
	answer     func(ctx context.Context, part string) error
	idempotent bool
}

var errTook = errors.New("the answer was lost")

func (w *world) process(name string, change ...func(*Config)) *process {
	w.Helper()
	p := &process{w: w, name: name}
	p.line = &line{Stream: w.stream, dead: &p.dead}
	cfg := Config{Stream: p.line, Bot: "b", Incarnation: name, Senders: []provider.Sender{p}, Hold: hold}
	for _, f := range change {
		f(&cfg)
	}
	o, err := Open(w.Context(), cfg)
	if err != nil {
		w.Fatal(err)
	}
	o.random = 0
	p.Outbox = o
	return p
}

func holding(c *Config) { c.InDoubt = map[string]Policy{"test": Hold} }

func (p *process) ID() string            { return "test" }
func (p *process) IdempotentCalls() bool { return p.idempotent }

// Split cuts a text at its commas.
func (p *process) Split(s botmesh.Send) []botmesh.Send {
	var parts []botmesh.Send
	for text := range strings.SplitSeq(s.Text, ",") {
		parts = append(parts, botmesh.Send{Text: text})
	}
	return parts
}

// Call notes the call under the part's text.
func (p *process) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	if p.dead.Load() {
		return provider.Sent{}, errors.New("dead")
	}
	part := c.Send.Text
	p.w.mu.Lock()
	p.w.calls = append(p.w.calls, made{part, p.name, time.Now()})
	p.w.mu.Unlock()
	var err error
	if p.answer != nil {
		err = p.answer(ctx, part)
	}
	if p.dead.Load() {
		return provider.Sent{}, errors.New("dead")
	}
	if err == nil || errors.Is(err, errTook) {
		p.w.mu.Lock()
		p.w.taken = append(p.w.taken, part)
		p.w.mu.Unlock()
	}
	return provider.Sent{MessageID: "m-" + part}, err
}

// append appends the chat's next letter of one send.
func (p *process) append(text string) (uint64, botmesh.Letter) {
	p.w.Helper()
	p.w.number++
	l, err := p.Letter(botmesh.LetterID(chatA, "j1", uint64(p.w.number)), chatA, []botmesh.Send{{Text: text}}, time.Now(), nil)
	if err != nil {
		p.w.Fatal(err)
	}
	seq, err := p.Append(p.w.Context(), l, p.w.out)
	if err != nil {
		p.w.Fatal(err)
	}
	p.w.out = seq
	return seq, l
}

// deliver has the chat's letters delivered as a turn does it, and closes.
func (p *process) deliver(upTo uint64) Standing {
	p.w.Helper()
	d := p.Deliver(p.w.Context(), chatA)
	p.wait(d, upTo)
	return p.end(d)
}

func (p *process) wait(d *Delivery, upTo uint64) Standing {
	p.w.Helper()
	s, err := d.Wait(p.w.Context(), upTo)
	if err != nil {
		p.w.Errorf("%s waits for %d: got error %v, want none", p.name, upTo, err)
	}
	return s
}

func (p *process) end(d *Delivery) Standing {
	p.w.Helper()
	s, err := d.Close(p.w.Context())
	if err != nil {
		p.w.Errorf("%s closes: got error %v, want none", p.name, err)
	}
	return s
}

// background begins to deliver and returns when that has come to rest.
func (p *process) background(upTo uint64) (end func()) {
	d := p.Deliver(p.w.Context(), chatA)
	ctx, cancel := context.WithCancel(p.w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = d.Wait(ctx, upTo)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-done
		if p.dead.Load() {
			_, _ = d.Close(ctx)
		} else {
			p.end(d)
		}
	}
}

func (p *process) setRule(rule func(op) fate) { p.line.setRule(rule) }

// ops is what p asked of the stream so far.
func (p *process) ops() []op {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	return p.line.ops[:len(p.line.ops):len(p.line.ops)]
}

// kill ends a process: nothing of it reaches anybody any more.
func (p *process) kill() { p.dead.Store(true) }

// called is what was called by whom, in order.
func (w *world) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s []string
	for _, c := range w.calls {
		s = append(s, c.by+":"+c.part)
	}
	return s
}

func (w *world) lastCall() made {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 {
		w.Fatal("got no call, want one")
	}
	return w.calls[len(w.calls)-1]
}

// chain is the chat's receipt chain as it stands.
func (w *world) chain() []link {
	w.Helper()
	ms, err := w.stream.Range(w.Context(), subjectOf(familyReceipt, "b", chatA), 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	var links []link
	for _, m := range ms {
		l, err := decodeEntry(m)
		if err != nil {
			w.Fatal(err)
		}
		links = append(links, l)
	}
	return links
}

func (w *world) lastEntry() link {
	w.Helper()
	links := w.chain()
	if len(links) == 0 {
		w.Fatal("got an empty chain, want an entry")
	}
	return links[len(links)-1]
}

// kinds writes the chain as "A:claim A:receipt!", with ! for free.
func (w *world) kinds() string {
	w.Helper()
	var s []string
	for _, l := range w.chain() {
		k := l.By + ":" + string(l.Kind)
		if l.Free {
			k += "!"
		}
		s = append(s, k)
	}
	return strings.Join(s, " ")
}

// receipts is the chain's receipts as "part:result", with ? for in doubt.
func (w *world) receipts() string {
	w.Helper()
	var s []string
	for _, l := range w.chain() {
		if r := l.Receipt; r != nil {
			_, n, _ := cutLast(r.Part, "/j1.")
			s = append(s, fmt.Sprintf("%s:%s%s", n, r.Result, map[bool]string{true: "?"}[r.InDoubt]))
		}
	}
	return strings.Join(s, " ")
}

func want[T any](w *world, what string, got, want T) {
	w.Helper()
	if g, x := fmt.Sprint(got), fmt.Sprint(want); g != x {
		w.Errorf("%s: got %s, want %s", what, g, x)
	}
}
