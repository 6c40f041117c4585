package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

var (
	seeds = flag.Int("seeds", 40, "schedules to try of each kind")
	seed  = flag.Uint64("seed", 0, "the only schedule to try, with its trace")
)

// TestSimulation has several processes deliver one chat at once, with no turn to
// keep them apart: worse than any coordinator that lies. Every call of the server
// and the platform waits until a seeded scheduler lets it go, loses it, loses its
// answer, has it land late, freezes its process or kills it.
//
// SPEC O2 O4 O5 O7, DESIGN D1 D2 D3 D4 D5 I4 I7, HOLE H5
func TestSimulation(t *testing.T) {
	for _, k := range []struct {
		name string
		simKind
	}{
		{"calm", simKind{}},
		{"faults", simKind{faults: true, refusals: true}},
		{"kills", simKind{kills: true}},
		{"kills and pauses", simKind{faults: true, kills: true, pauses: true, refusals: true}},
		{"hold", simKind{faults: true, kills: true, pauses: true, refusals: true, hold: true}},
		{"one who delivers", simKind{alone: true, faults: true, kills: true, refusals: true}},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			n, from := *seeds, uint64(1)
			if *seed > 0 {
				n, from = 1, *seed
			}
			var sum simSum
			for i := range uint64(n) {
				if !t.Run("", func(t *testing.T) { // the seed is in what it says
					synctest.Test(t, func(t *testing.T) { sum.add(newSim(t, k.simKind, from+i).run()) })
				}) {
					t.Fatalf("run it alone: go test ./outbox -run 'TestSimulation/%s' -seed %d -v", strings.ReplaceAll(k.name, " ", "_"), from+i)
				}
			}
			t.Logf("%+v", sum)
		})
	}
}

// simKind is what may happen.
type simKind struct {
	faults   bool // calls and answers are lost, and come late
	kills    bool
	pauses   bool
	refusals bool // the platform says no now and then
	hold     bool // the policy
	alone    bool // one process at a time, as under a turn
}

const simLetters = 12

// sim is one schedule.
type sim struct {
	*testing.T
	simKind
	seed   uint64
	rng    *rand.Rand
	stream *jet.MemoryStream
	check  simCheck
	healed bool

	mu      sync.Mutex
	waiting []*simCall
	late    []simLate
	alive   []*simProcess
	born    int
	group   sync.WaitGroup
}

// simCall is a call that waits for the scheduler.
type simCall struct {
	of    *simProcess
	key   string // orders calls that came in the same moment
	since time.Time
	go_   chan fate
}

type simLate struct {
	at time.Time
	do func()
}

// simProcess is one incarnation.
type simProcess struct {
	*Outbox
	s      *sim
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	rng    *rand.Rand
	dead   bool
	paused time.Time // until then
	faults int       // how many befell it
}

func newSim(t *testing.T, k simKind, seed uint64) *sim {
	s := &sim{T: t, simKind: k, seed: seed, rng: rand.New(rand.NewPCG(seed, 1))}
	s.stream = jet.NewMemory().Stream(StreamName("b"), jet.MemoryConfig{Metadata: map[string]string{epochKey: "e"}})
	s.check = simCheck{s: s, receipts: map[string]botmesh.Receipt{}}
	return s
}

// run lets the processes work until time and faults are used up, heals, and looks
// at what is there.
func (s *sim) run() simSum {
	n := 3
	if s.alone {
		n = 1
	}
	for range n {
		s.spawn()
	}
	until := time.Now().Add(4 * time.Minute)
	for time.Now().Before(until) && !s.Failed() && !s.check.done() {
		s.step()
	}
	s.healed = true
	for _, p := range s.alive {
		p.paused = time.Time{}
	}
	until = time.Now().Add(3*hold + time.Minute)
	for time.Now().Before(until) && !s.Failed() && !s.check.done() {
		s.step()
	}
	s.mu.Lock()
	for _, p := range slices.Clone(s.alive) {
		s.endLocked(p)
	}
	s.mu.Unlock()
	s.group.Wait()
	return s.check.end()
}

// spawn starts a process that delivers the chat again and again.
func (s *sim) spawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.born++
	p := &simProcess{s: s, name: "p" + strconv.Itoa(s.born), rng: rand.New(rand.NewPCG(s.seed, uint64(s.born+1)))}
	p.ctx, p.cancel = context.WithCancel(s.Context())
	cfg := Config{
		Stream: simLine{s.stream, p}, Bot: "b", Incarnation: p.name, Senders: []provider.Sender{p},
		Hold: hold, RetryFirst: 500 * time.Millisecond, RetryMax: 4 * time.Second, GiveUp: time.Hour,
		Dead: p.setAside, Logger: slog.New(simLog{slog.DiscardHandler, &s.check}),
	}
	if s.hold {
		cfg.InDoubt = map[string]Policy{"test": Hold}
	}
	o, err := Open(s.Context(), cfg)
	if err != nil {
		s.Fatal(err)
	}
	o.nonce, o.random = p.name, 0
	p.Outbox = o
	s.alive = append(s.alive, p)
	s.group.Go(p.work)
}

// endLocked lets nothing of a process happen any more. What it waits for is lost,
// or done without its knowing.
func (s *sim) endLocked(p *simProcess) {
	p.dead = true
	p.faults++
	p.cancel()
	s.alive = slices.DeleteFunc(s.alive, func(q *simProcess) bool { return q == p })
	s.waiting = slices.DeleteFunc(s.waiting, func(c *simCall) bool {
		if c.of == p {
			c.go_ <- []fate{drop, lose}[s.rng.IntN(2)]
		}
		return c.of == p
	})
}

// work is what the dispatcher does under a turn, whoever has it.
func (p *simProcess) work() {
	for p.ctx.Err() == nil {
		d := p.Deliver(p.ctx, chatA)
		ctx, cancel := context.WithTimeout(p.ctx, time.Duration(1+p.rng.IntN(40))*time.Second)
		for range p.rng.IntN(4) {
			p.post(ctx, d)
		}
		if tail, err := p.Last(ctx, chatA); err == nil {
			_, _ = d.Wait(ctx, tail.Seq)
		}
		cancel()
		end := time.Minute
		if p.rng.IntN(4) == 0 {
			end = time.Duration(p.rng.IntN(1000)) * time.Millisecond
		}
		ctx, cancel = context.WithTimeout(p.ctx, end)
		_, _ = d.Close(ctx)
		cancel()
		_ = sleep(p.ctx, time.Duration(p.rng.IntN(2000))*time.Millisecond)
	}
}

// post appends the chat's next letter, if there is one, behind what is there.
func (p *simProcess) post(ctx context.Context, d *Delivery) {
	tail, err := p.Last(ctx, chatA)
	if err != nil {
		return
	}
	_, last, _ := cutLast(tail.ID, ".")
	n, _ := strconv.Atoi(last)
	if n++; n > simLetters {
		return
	}
	var sends []botmesh.Send
	for i := range 1 + (int(p.s.seed)+n)%3 {
		sends = append(sends, botmesh.Send{Text: fmt.Sprintf("%d/%d", n, i)})
	}
	l, err := p.Letter(botmesh.LetterID(chatA, "j", uint64(n)), chatA, sends, time.Now(), nil)
	if err != nil {
		p.s.Error(err)
	}
	if seq, err := p.Append(ctx, l, tail.Seq); err == nil {
		d.Put(seq, l)
	}
}

// step lets one thing happen.
func (s *sim) step() {
	synctest.Wait()
	s.mu.Lock()
	now := time.Now()
	for len(s.late) > 0 && !now.Before(s.late[0].at) {
		s.late[0].do()
		s.late = s.late[1:]
	}
	var ready []*simCall
	overdue := false
	for _, c := range s.waiting {
		if !now.Before(c.of.paused) {
			ready = append(ready, c)
			overdue = overdue || now.Sub(c.since) > 100*time.Millisecond
		}
	}
	slices.SortFunc(ready, func(a, b *simCall) int { return strings.Compare(a.of.name+a.key, b.of.name+b.key) })
	if s.misfortuneLocked(ready) {
		s.mu.Unlock()
		return
	}
	if len(ready) == 0 || !overdue && s.rng.IntN(4) == 0 {
		s.mu.Unlock()
		most := 20 * time.Millisecond
		if len(ready) == 0 {
			most = time.Second
		}
		time.Sleep(time.Duration(1 + s.rng.Int64N(int64(most))))
		return
	}
	c := ready[s.rng.IntN(len(ready))]
	s.waiting = slices.DeleteFunc(s.waiting, func(w *simCall) bool { return w == c })
	f := s.fateOf(c)
	s.logf("%s %s: %d", c.of.name, c.key, f)
	s.mu.Unlock()
	c.go_ <- f
}

// misfortuneLocked now and then freezes a process, or kills one and starts another.
func (s *sim) misfortuneLocked(ready []*simCall) bool {
	if s.healed || len(ready) == 0 {
		return false
	}
	p := ready[s.rng.IntN(len(ready))].of
	switch n := s.rng.IntN(400); {
	case s.pauses && n < 6:
		p.paused = time.Now().Add(time.Duration(s.rng.IntN(40)) * time.Second)
		p.faults++
		s.logf("%s paused until %v", p.name, p.paused)
		return true
	case s.kills && n < 12:
		s.logf("%s killed", p.name)
		s.endLocked(p)
		s.mu.Unlock()
		s.spawn()
		s.mu.Lock()
		return true
	}
	return false
}

// fates of a call to the platform, beside pass, drop and lose.
const (
	later fate = 100 + iota // the platform asks for another call
	never                   // the platform will never take it
	late                    // a write that lands after its caller gave up
)

func (s *sim) fateOf(c *simCall) fate {
	n := s.rng.IntN(100)
	if s.healed {
		return pass
	}
	f := pass
	switch call := strings.HasPrefix(c.key, "call"); {
	case strings.HasPrefix(c.key, "answer"):
		return pass
	case call && s.refusals && n < 4:
		return later
	case call && s.refusals && n < 7:
		return never
	case !s.faults:
	case call && n < 10:
		f = lose
	case call && n < 13:
		f = drop
	case n >= 20:
	case strings.HasPrefix(c.key, "publish"):
		f = []fate{refuse, lose, drop, lie, late}[n%5]
	case n < 5:
		f = refuse
	}
	if f != pass {
		c.of.faults++
	}
	return f
}

// wait parks a call until the scheduler lets it go.
func (p *simProcess) wait(ctx context.Context, key string) fate {
	s := p.s
	s.mu.Lock()
	if p.dead {
		s.mu.Unlock()
		return drop
	}
	c := &simCall{of: p, key: key, since: time.Now(), go_: make(chan fate, 1)}
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	select {
	case f := <-c.go_:
		return f
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w *simCall) bool { return w == c })
	select {
	case f := <-c.go_:
		return f
	default:
		p.faults++
		return drop
	}
}

func (s *sim) logf(format string, args ...any) {
	if *seed > 0 {
		s.Logf("%s "+format, append([]any{time.Now().Format("04:05.000")}, args...)...)
	}
}

// simLine is a process's way to the server.
type simLine struct {
	*jet.MemoryStream
	p *simProcess
}

func (l simLine) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	do := func() (jet.Ack, error) {
		ack, err := l.MemoryStream.Publish(context.Background(), p)
		if err == nil {
			l.p.s.check.stored(l.p, ack.Seq, p)
		}
		return ack, err
	}
	switch f := l.p.wait(ctx, "publish "+p.Subject+string(p.Data)); f {
	case refuse:
		return jet.Ack{}, botmesh.ErrRefused
	case lie:
		return jet.Ack{}, botmesh.ErrConflict
	case drop:
		return jet.Ack{}, botmesh.ErrUnknown
	case late:
		s := l.p.s
		s.mu.Lock()
		s.late = append(s.late, simLate{time.Now().Add(time.Duration(s.rng.IntN(30)) * time.Second), func() { _, _ = do() }})
		slices.SortStableFunc(s.late, func(a, b simLate) int { return a.at.Compare(b.at) })
		s.mu.Unlock()
		return jet.Ack{}, botmesh.ErrUnknown
	case lose:
		_, _ = do()
		return jet.Ack{}, botmesh.ErrUnknown
	}
	ack, err := do()
	l.p.wait(ctx, "answer "+p.Subject+string(p.Data)) // its process may be frozen when it comes
	return ack, err
}

func (l simLine) Last(ctx context.Context, subject string) (jet.Stored, error) {
	if l.p.wait(ctx, "last "+subject) != pass {
		return jet.Stored{}, botmesh.ErrRefused
	}
	return l.MemoryStream.Last(context.Background(), subject)
}

func (l simLine) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	if l.p.wait(ctx, "next "+subject) != pass {
		return jet.Stored{}, botmesh.ErrRefused
	}
	return l.MemoryStream.Next(context.Background(), subject, from)
}

func (p *simProcess) ID() string                               { return "test" }
func (p *simProcess) Split(s botmesh.Send) []botmesh.Send      { return []botmesh.Send{s} }
func (p *simProcess) setAside(context.Context, DeadSend) error { return nil }

// Call is the platform.
func (p *simProcess) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	id := p.s.check.begin(p, c.Part)
	switch f := p.wait(ctx, "call "+c.Part); f {
	case drop:
		return provider.Sent{}, errors.New("timeout")
	case later:
		return provider.Sent{}, provider.Retry(errors.New("busy"), 0)
	case never:
		return provider.Sent{}, provider.Permanent(errors.New("no"))
	case lose:
		p.s.check.took(id)
		return provider.Sent{}, errors.New("timeout")
	}
	p.s.check.took(id)
	return provider.Sent{MessageID: "m"}, nil
}

// simLog counts the doubts that are reported.
type simLog struct {
	slog.Handler
	check *simCheck
}

func (l simLog) Enabled(context.Context, slog.Level) bool { return true }

func (l simLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == "parts in doubt" && a.Key == "parts" {
			l.check.doubted(int(a.Value.Int64()))
		}
		return true
	})
	return nil
}

// simCheck is what must be true of the calls and the chain.
type simCheck struct {
	s        *sim
	mu       sync.Mutex
	calls    []*simMade
	taken    []*simMade
	tail     uint64 // the last letter of all, once it is there
	last     link
	at       time.Time
	receipts map[string]botmesh.Receipt
	doubts   int
	entries  int
}

// simMade is a call of a part.
type simMade struct {
	by      *simProcess
	part    string
	faults  int // that had befallen its process when it began
	pauses  time.Time
	written bool // what came of it is in the chain
}

func (c *simCheck) fail(format string, args ...any) {
	c.s.Errorf("seed %d: "+format, append([]any{c.s.seed}, args...)...)
}

func (c *simCheck) doubted(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubts += n
}

func (c *simCheck) begin(p *simProcess, part string) *simMade {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.By == p.name && time.Now().Before(c.last.NotBefore) {
		c.fail("%s calls %s before %v", p.name, part, c.last.NotBefore)
	}
	m := &simMade{by: p, part: part, faults: p.faults}
	c.calls = append(c.calls, m)
	return m
}

func (c *simCheck) took(m *simMade) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = append(c.taken, m)
}

// done reports whether the last letter is there and settled.
func (c *simCheck) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail > 0 && c.last.Through == c.tail
}

// stored looks at an entry against the one before it.
func (c *simCheck) stored(p *simProcess, seq uint64, m jet.Publish) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.HasPrefix(m.Subject, familyReceipt) {
		if strings.HasSuffix(m.Header.Get(headerID), "."+strconv.Itoa(simLetters)) {
			c.tail = seq
		}
		return
	}
	e := link{seq: seq}
	if err := json.Unmarshal(m.Data, &e.entry); err != nil {
		c.fail("entry %d: %v", seq, err)
	}
	prev, now := c.last, time.Now()
	c.s.logf("chain %d %s %s free=%v %+v", seq, e.By, e.Kind, e.Free, e.position)
	owns := prev.By == e.By && !prev.Free
	switch {
	case e.Through < prev.Through || e.Through == prev.Through && e.Parts < prev.Parts:
		c.fail("entry %d goes back from %+v to %+v", seq, prev.position, e.position)
	case e.Kind != kindClaim && !owns:
		c.fail("entry %d, %s by %s, follows one by %s", seq, e.Kind, e.By, prev.By)
	case e.Kind == kindClaim && prev.seq > 0 && !prev.Free && prev.By != e.By && now.Sub(c.at) < hold:
		c.fail("%s claims from %s after %v", e.By, prev.By, now.Sub(c.at))
	case e.Kind == kindClaim && now.Before(prev.NotBefore):
		c.fail("%s claims before %v", e.By, prev.NotBefore)
	}
	if r := e.Receipt; r != nil {
		if _, twice := c.receipts[r.Part]; twice {
			c.fail("part %s has two receipts", r.Part)
		}
		c.receipts[r.Part] = *r
	}
	if e.Receipt != nil || e.Kind == kindRetry {
		for _, m := range slices.Backward(c.calls) {
			if m.by == p && !m.written && (e.Receipt == nil || m.part == e.Receipt.Part) {
				m.written = true
				break
			}
		}
	}
	c.last, c.at = e, now
	c.entries++
}

// comparePlaces orders ids of parts.
func comparePlaces(a, b string) int {
	place := func(part string) (letter, send int) {
		_, err := fmt.Sscanf(part, "test.a/j.%d/%d.0", &letter, &send)
		if err != nil {
			panic(err)
		}
		return letter, send
	}
	la, sa := place(a)
	lb, sb := place(b)
	return cmp.Or(cmp.Compare(la, lb), cmp.Compare(sa, sb))
}

// simSum is how much happened.
type simSum struct{ letters, parts, entries, calls, doubts, extra, held, dead int }

func (s *simSum) add(o simSum) {
	s.letters += o.letters
	s.parts += o.parts
	s.entries += o.entries
	s.calls += o.calls
	s.doubts += o.doubts
	s.extra += o.extra
	s.held += o.held
	s.dead += o.dead
}

// end looks at the whole.
func (c *simCheck) end() (sum simSum) {
	s := c.s
	if s.Failed() {
		return sum
	}
	if c.tail == 0 || c.last.Through != c.tail {
		c.fail("all is settled up to %d, want %d", c.last.Through, c.tail)
	}
	copies, first := map[string]int{}, []string(nil)
	for _, m := range c.taken {
		if copies[m.part]++; copies[m.part] == 1 {
			first = append(first, m.part)
		}
		if !m.written && m.by.faults == m.faults {
			c.fail("%s called %s, no fault befell it, and no receipt says so", m.by.name, m.part)
		}
	}
	if !slices.IsSortedFunc(first, comparePlaces) && !s.pauses {
		c.fail("order: got %v", first)
	}
	extra := 0
	for part, r := range c.receipts {
		n := copies[part]
		switch r.Result {
		case botmesh.ResultHeld:
			sum.held++
		case botmesh.ResultPermanent:
			sum.dead++
		}
		switch {
		case r.Result == botmesh.ResultDelivered && n == 0:
			c.fail("part %s is delivered, and the platform has it not", part)
		case n > 1 && s.hold:
			c.fail("part %s was held and taken %d times", part, n)
		case n > 1 && !r.InDoubt:
			c.fail("part %s was taken %d times, and its receipt is in no doubt", part, n)
		}
		extra += max(n-1, 0)
	}
	if extra > c.doubts {
		c.fail("%d copies too many, %d parts counted in doubt", extra, c.doubts)
	}
	if !s.faults && !s.kills && !s.pauses && (c.doubts > 0 || extra > 0) {
		c.fail("%d parts in doubt without a fault", c.doubts)
	}
	letters, _ := s.stream.Range(context.Background(), subjectOf(familyLetter, "b", chatA), 0, 100)
	sum.letters, sum.parts, sum.entries, sum.calls = len(letters), len(c.receipts), c.entries, len(c.calls)
	sum.doubts, sum.extra = c.doubts, extra
	return sum
}
