package outbox

import (
	"context"
	"flag"
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
			if n >= 20 {
				k.wantNotVacuous(t, sum)
			}
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

// wantNotVacuous fails if what may happen did not.
func (k simKind) wantNotVacuous(t *testing.T, sum simSum) {
	for what, missing := range map[string]bool{
		"a part in doubt":  (k.faults || k.kills || k.pauses) && sum.doubts == 0,
		"a second copy":    (k.faults || k.kills || k.pauses) && !k.hold && sum.extra == 0,
		"a part held":      k.hold && sum.held == 0,
		"a part set aside": k.refusals && sum.dead == 0,
	} {
		if missing {
			t.Errorf("got no schedule with %s, want one", what)
		}
	}
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
	tell  chan fate
}

type simLate struct {
	at time.Time
	do func()
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
			c.tell <- []fate{drop, lose}[s.rng.IntN(2)]
		}
		return c.of == p
	})
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
	c.tell <- f
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

func (s *sim) logf(format string, args ...any) {
	if *seed > 0 {
		s.Logf("%s "+format, append([]any{time.Now().Format("04:05.000")}, args...)...)
	}
}
