package outbox

import (
	"cmp"
	"context"
	"encoding/json"
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

// line is a process's way to the stream. rule, if set, decides what becomes of
// each call; it may block first.
type line struct {
	jet.Stream
	dead *atomic.Bool

	mu   sync.Mutex
	rule func(op) fate
	then func(op) // is called when a write was done, before the answer
	ops  []op
}

// op is a call of the stream.
type op struct {
	name    string // publish, last, next, range, info
	subject string
	expect  uint64
	data    string
	entry   entry // of a publish to a chain
}

func (o op) writes(k kind) bool { return o.name == "publish" && o.entry.Kind == k }

// fate is what becomes of a call.
type fate int

const (
	pass   fate = iota // it is done
	refuse             // it is not done, and the answer says so
	lose               // it is done, and the answer is lost
	drop               // it is lost
	lie                // it is not done, and the answer is a conflict
	die                // it is done, and the process is no more
)

func (l *line) setRule(rule func(op) fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rule = rule
}

func (l *line) fate(o op) fate {
	l.mu.Lock()
	l.ops = append(l.ops, o)
	rule := l.rule
	l.mu.Unlock()
	f := pass
	if rule != nil {
		f = rule(o)
	}
	if l.dead.Load() {
		return drop
	}
	return f
}

// when makes a rule: calls that are like that have that fate.
func when(like func(op) bool, f fate) func(op) fate {
	return func(o op) fate {
		if like(o) {
			return f
		}
		return pass
	}
}

// entries matches the writes of entries of a kind.
func entries(k kind) func(op) bool { return func(o op) bool { return o.writes(k) } }

func (l *line) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	o := op{name: "publish", subject: p.Subject, data: string(p.Data)}
	if p.Expect != nil {
		o.expect = *p.Expect
	}
	if strings.HasPrefix(p.Subject, familyReceipt) {
		_ = json.Unmarshal(p.Data, &o.entry)
	}
	switch l.fate(o) {
	case refuse:
		return jet.Ack{}, botmesh.ErrRefused
	case drop:
		return jet.Ack{}, botmesh.ErrUnknown
	case lie:
		return jet.Ack{}, botmesh.ErrConflict
	case die:
		l.dead.Store(true)
		_, _ = l.Stream.Publish(context.WithoutCancel(ctx), p)
		return jet.Ack{}, botmesh.ErrUnknown
	case lose:
		_, err := l.Stream.Publish(context.WithoutCancel(ctx), p)
		return jet.Ack{}, cmp.Or(err, botmesh.ErrUnknown)
	}
	ack, err := l.Stream.Publish(ctx, p)
	if l.then != nil {
		l.then(o)
	}
	return ack, err
}

func read[T any](l *line, name, subject string, do func() (T, error)) (T, error) {
	if f := l.fate(op{name: name, subject: subject}); f != pass {
		var zero T
		return zero, botmesh.ErrRefused
	}
	return do()
}

func (l *line) Last(ctx context.Context, subject string) (jet.Stored, error) {
	return read(l, "last", subject, func() (jet.Stored, error) { return l.Stream.Last(ctx, subject) })
}

func (l *line) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	return read(l, "next", subject, func() (jet.Stored, error) { return l.Stream.Next(ctx, subject, from) })
}

func (l *line) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	return read(l, "range", subject, func() ([]jet.Stored, error) { return l.Stream.Range(ctx, subject, from, limit) })
}

func (l *line) Info(ctx context.Context) (jet.Info, error) {
	return read(l, "info", "", func() (jet.Info, error) { return l.Stream.Info(ctx) })
}
