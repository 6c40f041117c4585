package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// weather is what may happen in one schedule: rates of a call's fates in
// thousandths, and of misfortunes in ten thousandths of a step.
type weather struct {
	replicas, chats, records int
	storm                    time.Duration // how long faults go on at least
	retention                time.Duration
	idle                     time.Duration // how long users say nothing, once

	refuse, drop, lose, late, lie, slow, lag int
	callLost, callLater, callNever           int
	take, release, liar                      int
	lostMark, again                          int

	kill, freeze, drain, forget, amnesia, remove int
	stall                                        int // of thousand writes without an answer, that their process freezes
	newJournal, newOutbox                        int
}

// newWeather draws the weather of a schedule. Each fault is absent in some
// schedules and frequent in others: what is always there hides what is not.
func newWeather(rng *rand.Rand) weather {
	rate := func(of ...int) int { return of[rng.IntN(len(of))] }
	w := weather{
		replicas: 2 + rng.IntN(2), chats: 2 + rng.IntN(3), records: 3 + rng.IntN(4),
		retention: 8 * 24 * time.Hour,
	}
	if rng.IntN(12) == 0 {
		return w // calm
	}
	w.refuse, w.drop, w.lose, w.late = rate(0, 10, 40), rate(0, 10, 40), rate(0, 20, 80), rate(0, 20, 60)
	w.lie, w.slow, w.lag = rate(0, 10, 40), rate(0, 100, 300), rate(0, 200, 500)
	w.callLost, w.callLater, w.callNever = rate(0, 30, 100), rate(0, 50, 150), rate(0, 20, 50)
	w.take, w.release, w.liar = rate(0, 10, 50), rate(0, 50, 200), rate(0, 100, 300)
	w.lostMark, w.again = rate(0, 50, 200), rate(0, 50, 200)
	w.kill, w.freeze, w.drain = rate(0, 20, 80), rate(0, 20, 80), rate(0, 10, 40)
	w.forget, w.amnesia, w.remove = rate(0, 30, 150), rate(0, 0, 20), rate(0, 0, 20)
	w.stall = rate(0, 100, 300)
	w.storm = time.Duration(rng.IntN(90)) * time.Second
	switch rng.IntN(10) {
	case 0, 1:
		w.newJournal = 60
	case 2:
		w.newOutbox = 30
	case 3, 4:
		w.retention = 8 * time.Minute
		w.idle = w.retention/2 + time.Duration(rng.IntN(14))*time.Minute
	}
	return w
}

// misfortune now and then strikes a replica, the coordinator or the streams.
func (s *sim) misfortune() bool {
	if s.repairing() {
		return true
	}
	if s.healed {
		return false
	}
	s.expireLeases()
	n := s.rng.IntN(10_000)
	strike := func(rate int) bool {
		n -= rate
		return n < 0 && n >= -rate
	}
	w := s.weather
	switch alive := s.running(); {
	case len(alive) == 0:
		return false
	case strike(w.kill):
		return s.befall("kill", func() { s.kill(s.oneOf(s.living())) })
	case strike(w.freeze):
		return s.befall("freeze", func() { s.freeze(s.oneOf(alive)) })
	case strike(w.drain):
		return s.befall("drain", func() { s.drain(s.oneOf(alive)) })
	case strike(w.forget):
		return s.befall("forget", s.forget)
	case strike(w.amnesia):
		return s.befall("amnesia", func() { clear(s.fences); s.hub.Forget() })
	case strike(w.remove):
		return s.befall("remove", s.remove)
	case strike(w.newJournal):
		return s.befall("new journal", s.newJournal)
	case strike(w.newOutbox):
		return s.befall("new outbox", func() { s.stopAll(s.newOutbox) })
	}
	return false
}

// befall lets a misfortune happen unless it is among those that are dropped.
func (s *sim) befall(what string, do func()) bool {
	s.faults++
	if s.only != nil && !s.only[s.faults] {
		return false
	}
	s.stats[what]++
	s.note("%s", what)
	do()
	return true
}

// kill ends a process at whatever it does. What it has sent lands, or does not.
func (s *sim) kill(p *process) {
	if p.dead {
		return
	}
	s.note("kill %s", p.name)
	p.dead = true
	p.harm("")
	s.judge.died(p)
	p.inner.Crash()
	var of []*call
	s.parked = slices.DeleteFunc(s.parked, func(c *call) bool {
		if c.by == p {
			of = append(of, c)
		}
		return c.by == p
	})
	slices.SortFunc(of, func(a, b *call) int { return cmp.Compare(a.key, b.key) })
	for _, c := range of {
		if n := s.rng.IntN(3); c.real != nil && c.class != reading && n > 0 {
			s.note("%s lands", c.key)
			real := c.real
			at := time.Now()
			if n == 2 {
				at = at.Add(s.upTo(20 * time.Second))
			}
			s.sendLocked(p, c.name(), at, func() { _, _ = real() })
		}
		c.told <- gone
	}
	if !p.leaving {
		s.replaced()
	}
}

// freeze stops a process, mostly for longer than its lease.
func (s *sim) freeze(p *process) {
	p.harm("")
	p.silent, p.froze, p.thaws = false, time.Now(), time.Now().Add(s.upTo(3*lease))
	p.thawed = p.thaws
	s.note("freeze %s until %v", p.name, p.thaws.Sub(s.began))
}

// drain stops a process in order, to be replaced.
func (s *sim) drain(p *process) {
	s.note("drain %s", p.name)
	p.leaving = true
	p.harm("")
	p.cancel()
	s.replaced()
}

// expireLeases lets what a frozen process holds go to another.
func (s *sim) expireLeases() {
	now := time.Now()
	for _, p := range s.running() {
		if !p.frozen(now) || now.Sub(p.froze) < lease {
			continue
		}
		for _, key := range p.holds() {
			s.note("the lease of %s on %s runs out", p.name, key)
			p.turns[key].expire()
		}
		if !p.silent {
			p.silent = true
			s.judge.died(p)
		}
	}
}

// forget makes the coordinator forget a chat, held or not, or all.
func (s *sim) forget() {
	if s.rng.IntN(3) == 0 {
		s.hub.Forget()
		return
	}
	chat := s.judge.keys[s.rng.IntN(len(s.judge.keys))]
	s.note("forget %s", chat)
	s.hub.Forget(chat)
}

// remove deletes a record that nobody has applied yet, as an operator may.
func (s *sim) remove() {
	if r := s.judge.unapplied(s.rng); r != nil {
		s.note("remove %d of %s", r.seq, r.chat)
		r.optional = true
		s.stream(inbox).Remove(r.seq)
	}
}

// newJournal deletes the journal and makes it anew, beside replicas that have it open.
func (s *sim) newJournal() {
	s.weather.newJournal = 0
	s.judge.journalGone()
	s.server.Delete(streamName(inbox))
	s.renew(inbox, "j")
}

// newOutbox deletes the outbox and makes it anew.
func (s *sim) newOutbox() {
	s.flying = nil // all are dead
	s.judge.outboxGone()
	s.server.Delete(streamName(out))
	s.renew(out, "o")
}

func (s *sim) renew(kind, letter string) {
	s.made++
	s.epochs[kind] = fmt.Sprint(letter, s.made)
	s.note("%s is made anew: %s", kind, s.epochs[kind])
}

// stopAll kills all replicas, one after the other, before do.
func (s *sim) stopAll(do func()) {
	s.weather.newOutbox = 0
	s.repair = do
}

// repairing goes on with what all replicas are stopped for, and reports whether it did.
func (s *sim) repairing() bool {
	if s.repair == nil {
		return false
	}
	if of := s.living(); len(of) > 0 {
		s.kill(of[0])
		return true
	}
	s.repair()
	s.repair = nil
	return true
}
