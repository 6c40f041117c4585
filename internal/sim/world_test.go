package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

const (
	bot      = "sim"
	lease    = 15 * time.Second
	settle   = 25 * time.Second
	tries    = 3
	retry    = time.Second      // after the first failed try
	window   = 20 * time.Second // in which the journal itself knows a repeated id
	maxSteps = 60_000

	inbox = "INBOX"
	dead  = "DEAD"
	out   = "OUTBOX"
	cp    = "CP"
)

// sim is one schedule: the world and who decides what happens in it.
type sim struct {
	t       *testing.T
	seed    uint64
	verbose bool
	rng     *rand.Rand
	weather weather
	only    map[int]bool // the faults, by number, that happen; nil for all
	faults  int
	steps   int
	stats   map[string]int
	healed  bool
	rested  time.Duration // after the last fault

	server *jet.Memory
	epochs map[string]string // of the streams that have one
	made   int               // epochs
	hub    *coord.MemoryHub
	fences map[string]uint64
	evicts map[string]string // by key the incarnation whose lease ran out
	judge  *judge

	mu      sync.Mutex
	parked  []*call
	flying  []*flight
	all     []*process // replicas, dead ones too
	ingress *process
	born    int
	cradle  []time.Time // when a replica is to be started
	desks   map[string]*desk
	woken   chan struct{}
	over    bool
	end     chan struct{}
	repair  func() // what all replicas are being stopped for

	digest hash.Hash64
	trace  []string
	began  time.Time
}

func newSim(t *testing.T, seed uint64, only map[int]bool, verbose bool) *sim {
	s := &sim{
		t: t, seed: seed, only: only, verbose: verbose, rng: rand.New(rand.NewPCG(seed, 1)),
		stats: map[string]int{}, server: jet.NewMemory(), hub: &coord.MemoryHub{},
		epochs: map[string]string{inbox: "j0", out: "o0"}, fences: map[string]uint64{}, evicts: map[string]string{},
		desks: map[string]*desk{}, woken: make(chan struct{}, 1), end: make(chan struct{}),
		digest: fnv.New64a(), began: time.Now(),
	}
	s.weather = newWeather(s.rng)
	s.judge = newJudge(s)
	s.ingress = s.newProcess("in")
	return s
}

// note writes a line of the trace.
func (s *sim) note(format string, args ...any) {
	line := time.Since(s.began).String() + " " + fmt.Sprintf(format, args...)
	_, _ = s.digest.Write([]byte(line))
	s.trace = append(s.trace, line)
	if s.verbose {
		fmt.Println(line)
	}
}

// streamName is the name of a stream on the server.
func streamName(kind string) string {
	switch kind {
	case inbox:
		return journal.InboxStream(bot)
	case dead:
		return journal.DeadStream(bot)
	case out:
		return outbox.StreamName(bot)
	}
	return "KV_" + natsstore.Bucket(bot)
}

// stream is the stream of a kind as it is now.
func (s *sim) stream(kind string) *jet.MemoryStream {
	c := jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": s.epochs[kind]}}
	switch kind {
	case inbox:
		c.Duplicates, c.MaxAge = window, s.weather.retention
	case out:
		c.MaxAge = s.weather.retention + s.weather.retention/10
	case cp:
		c.MaxPerSubject = 1
	}
	return s.server.Stream(streamName(kind), c)
}

// run lets everything happen until the chats have said all, heals the world, and
// looks at what is there.
func (s *sim) run() {
	for range s.weather.replicas {
		s.cradle = append(s.cradle, time.Now())
	}
	s.post()
	for !s.judge.failed() && s.steps < maxSteps && !s.said() {
		s.step()
	}
	s.heal()
	healed, within := time.Now(), rest+s.judge.work()
	for !s.judge.failed() && s.steps < maxSteps && !s.idle() && time.Since(healed) < 2*within {
		s.step()
	}
	switch after := time.Since(healed); {
	case s.judge.failed():
	case !s.idle():
		s.judge.fail("I7", "", "not idle %v after the last fault:\n%s", after, s.unrest())
	case after > within:
		s.judge.fail("I7", "", "idle only %v after the last fault, want %v", after, within)
	default:
		s.rested = after
	}
	s.judge.end()
	s.close()
}

// said reports whether the users have said all and the storm is over.
func (s *sim) said() bool {
	synctest.Wait()
	return s.ingress.ended() && time.Since(s.began) > s.weather.storm
}

// heal ends all faults.
func (s *sim) heal() {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("healed")
	s.healed = true
	alive := 0
	for _, p := range s.all {
		if p.frozen(time.Now()) {
			p.thawed = time.Now()
		}
		p.thaws = time.Time{}
		if !p.dead && !p.leaving {
			alive++
		}
	}
	if alive+len(s.cradle) == 0 {
		s.cradle = append(s.cradle, time.Now())
	}
}

// idle reports whether nothing is left to do.
func (s *sim) idle() bool {
	synctest.Wait()
	s.mu.Lock()
	d := s.desks["nudges-"+s.epochs[inbox]]
	busy := !s.ingress.ended() || d == nil || len(d.fresh)+len(d.pending) > 0
	s.mu.Unlock()
	return !busy && s.unrest() == ""
}

// unrest says what is left to do.
func (s *sim) unrest() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	if d := s.desks["nudges-"+s.epochs[inbox]]; d == nil {
		left = append(left, "no consumer")
	} else if n := len(d.fresh) + len(d.pending); n > 0 {
		left = append(left, fmt.Sprintf("%d records not acknowledged: %v, new %v", n, d.sorted(), d.fresh))
	}
	for _, p := range s.all {
		if d := p.served; d != nil && !p.dead && len(d.Status().Lanes) > 0 {
			left = append(left, fmt.Sprintf("lanes of %s: %+v", p.name, d.Status().Lanes))
		}
	}
	return strings.Join(append(left, s.judge.unsettled()...), "\n")
}

// close ends all processes and waits for them.
func (s *sim) close() {
	synctest.Wait()
	s.mu.Lock()
	s.over = true
	parked := s.parked
	s.parked, s.flying = nil, nil
	s.mu.Unlock()
	close(s.end)
	s.ingress.cancel()
	for _, p := range s.all {
		p.cancel()
	}
	for _, c := range parked {
		c.told <- gone
	}
	for _, p := range append(s.all, s.ingress) {
		<-p.done
	}
	s.server.Close()
}

// births starts the replicas whose time has come.
func (s *sim) births() {
	slices.SortFunc(s.cradle, time.Time.Compare)
	for len(s.cradle) > 0 && !time.Now().Before(s.cradle[0]) {
		s.cradle = s.cradle[1:]
		s.spawn()
	}
}

func (s *sim) nextBirth() time.Time {
	if len(s.cradle) == 0 {
		return time.Time{}
	}
	return s.cradle[0]
}

// replaced starts another replica in place of one that ended, soon.
func (s *sim) replaced() {
	s.cradle = append(s.cradle, time.Now().Add(s.upTo(8*time.Second)))
}

// living are the replicas that have not ended.
func (s *sim) living() (of []*process) {
	for _, p := range s.all {
		if !p.dead && !p.ended() {
			of = append(of, p)
		}
	}
	return of
}

// running are the replicas that are to go on.
func (s *sim) running() []*process {
	return slices.DeleteFunc(s.living(), func(p *process) bool { return p.leaving })
}

func (s *sim) oneOf(of []*process) *process { return of[s.rng.IntN(len(of))] }
