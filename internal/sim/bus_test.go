package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
)

// fate is what becomes of a call.
type fate int

const (
	pass   fate = iota
	refuse      // not done, and said so
	drop        // not done, no answer
	lose        // done, no answer
	late        // no answer, done after others
	lie         // not done, answered as a conflict
	later       // a platform's: not now
	never       // a platform's: never
	gone        // its process is dead: the call does not return while the world lasts
)

func (f fate) String() string {
	return [...]string{"pass", "refuse", "drop", "lose", "late", "lie", "later", "never", "gone"}[f]
}

// class says which fates a call may have.
type class int

const (
	plain    class = iota // it passes
	reading               // a read of a stream
	writing               // a write without a condition
	swapping              // a write with one
	taking                // a call of the coordinator
	calling               // a call of the platform
)

func (c class) String() string {
	return [...]string{"plain", "read", "write", "swap", "turn", "call"}[c]
}

// call is what a process waits for.
type call struct {
	by    *process
	class class
	key   string
	ctx   context.Context
	since time.Time
	until time.Time   // comes back with nothing then, if not zero
	ready func() bool // says whether it may be let go, nil for always

	real  func() (any, error)
	value any
	err   error
	slow  bool // its answer waits once more
	told  chan fate
}

// name is the call's key without its process.
func (c *call) name() string { return strings.TrimPrefix(c.key, c.by.name+" ") }

// flight is something on its way that no process waits for.
type flight struct {
	key string
	at  time.Time // not before
	do  func()
}

// park waits for the scheduler.
func (s *sim) park(c *call) fate {
	if err := c.ctx.Err(); err != nil {
		c.err = err
		return drop
	}
	s.mu.Lock()
	if s.over || c.by.dead {
		over := s.over
		s.mu.Unlock()
		if !over {
			<-s.end
		}
		return gone
	}
	c.since, c.told = time.Now(), make(chan fate, 1)
	n := c.by.calls[c.key]
	c.by.calls[c.key]++
	c.key = c.by.name + " " + c.key + " " + strconv.Itoa(n)
	s.parked = append(s.parked, c)
	s.mu.Unlock()
	select {
	case s.woken <- struct{}{}:
	default:
	}
	f := <-c.told
	if f == gone {
		<-s.end
	}
	return f
}

// ask makes a call of a process.
func ask[T any](ctx context.Context, p *process, class class, key string, real func() (T, error)) (T, error) {
	var none T
	c := &call{by: p, class: class, key: key, ctx: ctx, real: func() (any, error) { return real() }}
	f := p.s.park(c)
	if f == pass && c.slow { // it may freeze or die between the deed and the answer
		if p.s.park(&call{by: p, key: key + " answer", ctx: context.WithoutCancel(ctx)}) == gone {
			f = gone
		}
	}
	switch {
	case f == pass && c.err != nil:
		return none, c.err
	case f == pass:
		v, _ := c.value.(T)
		return v, nil
	case f == lie:
		return none, fmt.Errorf("sim: %w", botmesh.ErrConflict)
	case f == refuse || class == reading && ctx.Err() == nil:
		return none, fmt.Errorf("sim: %w", botmesh.ErrRefused)
	case class == reading:
		return none, ctx.Err()
	}
	return none, fmt.Errorf("sim: %w", botmesh.ErrUnknown)
}

// send puts something on its way.
func (s *sim) send(p *process, key string, at time.Time, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || p.dead {
		return
	}
	s.sendLocked(p, key, at, do)
}

func (s *sim) sendLocked(p *process, key string, at time.Time, do func()) {
	if p.frozen(time.Now()) && at.Before(p.thaws) {
		at = p.thaws
	}
	n := p.calls[key]
	p.calls[key]++
	s.flying = append(s.flying, &flight{p.name + " " + key + " " + strconv.Itoa(n), at, do})
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// choice is one thing that may happen next.
type choice struct {
	key     string
	call    *call
	flight  *flight
	expired bool
	overdue bool
}

// overdue is how long a call waits at most while its process runs.
const overdue = 400 * time.Millisecond

// choices are what may happen next, in an order that is the same in every run, and
// how long it is until there are more.
func (s *sim) choices() (of []choice, next time.Duration) {
	now := time.Now()
	next = 5 * time.Second
	await := func(at time.Time) {
		if !at.IsZero() && at.After(now) {
			next = min(next, at.Sub(now))
		}
	}
	for _, c := range s.parked {
		if c.by.frozen(now) {
			await(c.by.thaws)
			continue
		}
		deadline, ok := c.ctx.Deadline()
		expired := c.ctx.Err() != nil || ok && !now.Before(deadline) || !c.until.IsZero() && !now.Before(c.until)
		if !expired && c.ready != nil && !c.ready() {
			await(deadline)
			await(c.until)
			continue
		}
		of = append(of, choice{key: c.key, call: c, expired: expired, overdue: now.Sub(c.since) > overdue && c.ready == nil})
	}
	for _, f := range s.flying {
		if now.Before(f.at) {
			await(f.at)
			continue
		}
		of = append(of, choice{key: f.key, flight: f, overdue: now.Sub(f.at) > 5*overdue})
	}
	for _, d := range s.desks {
		await(d.due(now))
	}
	await(s.nextBirth())
	slices.SortFunc(of, func(a, b choice) int { return cmp.Compare(a.key, b.key) })
	return of, next
}

// step lets one thing happen, or time pass.
func (s *sim) step() {
	synctest.Wait()
	if s.stats["armed"] > 0 {
		s.judge.fired()
	}
	s.mu.Lock()
	s.steps++
	if s.repair == nil {
		s.births()
	}
	s.judge.company(s.living())
	of, next := s.choices()
	if s.misfortune() {
		s.mu.Unlock()
		time.Sleep(time.Nanosecond) // no two in the same moment: their leases would run out in one, too
		return
	}
	pressing := slices.ContainsFunc(of, func(c choice) bool { return c.overdue || c.expired })
	if len(of) == 0 || !pressing && s.rng.IntN(8) == 0 {
		if len(of) > 0 {
			next = time.Duration(1 + s.rng.Int64N(int64(20*time.Millisecond)))
		}
		s.mu.Unlock()
		s.pass(next, len(of) == 0)
		return
	}
	c := of[s.rng.IntN(len(of))]
	if c.flight != nil {
		s.flying = slices.DeleteFunc(s.flying, func(f *flight) bool { return f == c.flight })
		s.mu.Unlock()
		s.land(c.flight)
		return
	}
	s.parked = slices.DeleteFunc(s.parked, func(p *call) bool { return p == c.call })
	f := s.fateOf(c.call, c.expired)
	s.note("%s: %v", c.key, f)
	s.stats[c.call.class.String()+" "+f.String()]++
	if p := c.call.by; c.call.class == swapping && f != pass && f != refuse && f != lie && s.chance(s.weather.stall) {
		s.befall("freeze", func() { s.freeze(p) })
	}
	s.mu.Unlock()
	s.carryOut(c.call, f)
}

// land lets what was on its way arrive, or not.
func (s *sim) land(f *flight) {
	s.note("%s arrives", f.key)
	f.do()
}

// carryOut does what the fate of a call says, and tells its process.
func (s *sim) carryOut(c *call, f fate) {
	switch {
	case c.real == nil:
	case f == pass || f == lose:
		c.value, c.err = c.real()
		c.slow = f == pass && c.class != reading && c.class != plain && s.chance(s.weather.slow)
	case f == late:
		real := c.real
		s.send(c.by, c.name(), time.Now().Add(s.upTo(20*time.Second)), func() { _, _ = real() })
	}
	c.told <- f
}

// pass lets time go by. If nothing can happen it ends when something can.
func (s *sim) pass(d time.Duration, until bool) {
	if !until {
		time.Sleep(d)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.woken:
	}
}

// chance draws whether something happens whose rate is given in thousandths.
func (s *sim) chance(rate int) bool { return !s.healed && rate > 0 && s.rng.IntN(1000) < rate }

func (s *sim) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d))) }

// fateOf draws the fate of a call.
func (s *sim) fateOf(c *call, expired bool) fate {
	f := s.draw(c, expired)
	if f == pass || c.class == plain {
		return pass
	}
	if !expired {
		s.faults++
		if s.only != nil && !s.only[s.faults] {
			return pass
		}
	}
	if f != later && f != never {
		c.by.harm(c.key)
	}
	return f
}

func (s *sim) draw(c *call, expired bool) fate {
	w := s.weather
	switch {
	case c.class == plain:
		return pass
	case expired && c.class == reading:
		return refuse
	case expired && c.class == taking:
		return drop
	case expired:
		return []fate{drop, lose, late}[s.rng.IntN(3)]
	case c.class == calling:
		switch {
		case s.chance(w.callLost):
			return []fate{drop, lose}[s.rng.IntN(2)]
		case s.chance(w.callLater):
			return later
		case s.chance(w.callNever):
			return never
		}
		return pass
	case c.class == taking:
		if s.chance(w.take) {
			return drop
		}
		return pass
	case s.chance(w.refuse):
		return refuse
	case c.class == reading:
		return pass
	case s.chance(w.lose):
		return lose
	case s.chance(w.drop):
		return drop
	case s.chance(w.late):
		return late
	case c.class == swapping && s.chance(w.lie):
		return lie
	}
	return pass
}
