package flow

import (
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// TimeoutKind is the kind of the timers that are armed for [Timeout]. A bot hands
// those that fire to [Definition.TimeUp].
const TimeoutKind = "flow"

// TimeoutOption is what [Timeout] returns: an option of a step, or of a whole flow.
type TimeoutOption interface {
	Option
	StepOption
}

// Timeout goes on at another step when a question has been open for a while, counted
// from when it was asked last. The clock is durable: it is armed with the question,
// taken back with the answer, and fires on whichever replica is alive then, up to a
// second late, in order with the chat's messages.
//
//	flow.Ask(f, Size, ask.Choice("S", "L"), "Which size?", gotSize, flow.Timeout(10*time.Minute, Nudge))
//
// As an option of a step it is for each question that the step asks, also those of a
// flow that it calls. As an option of [New] it is for every step but the one it leads to,
// unless that has one of its own. The state is what it was when the step began.
//
// A later build may change it: a clock that runs keeps its time, and where it leads is
// what the build says that is there when it fires.
func Timeout[S any](after time.Duration, to Step[S]) TimeoutOption {
	return timeout{after: after, to: string(to)}
}

// timeout is where to go on when a question was open for long. The zero timeout is none.
type timeout struct {
	after time.Duration
	to    string
}

func (t timeout) apply(o *options)         { o.timeout = t }
func (t timeout) applyStep(o *stepOptions) { o.timeout = t }

func (t timeout) isZero() bool { return t == timeout{} }

// timeoutOf is the one that holds while a question of step s is open.
func (f *Flow[S]) timeoutOf(s *step[S]) timeout {
	if s.timeout.isZero() && s.id != f.options.timeout.to {
		return f.options.timeout
	}
	return s.timeout
}

// due is when the question that is asked now has been open for too long, zero if it
// never has.
func (m *move[S]) due() time.Time {
	t := m.f.timeoutOf(m.s)
	if t.isZero() {
		return time.Time{}
	}
	return m.c.Now().Add(t.after).Round(0).UTC()
}

// TimeUp goes on where the timer of a timeout leads that fired: t is its turn. It
// reports false if that has no effect: it is not the one that is armed, or this build
// has no timeout there.
func (f *Flow[S]) TimeUp(t *Turn, p Position) (*Position, bool, error) {
	level, ok := p.fired(t.Timer())
	if !ok {
		return nil, false, nil
	}
	end, _, err := f.timeUp(t, p, level)
	return end, err == nil && t.timedOut, err
}

func (f *Flow[S]) timeUp(t *Turn, p Position, level int) (*Position, S, error) {
	var zero S
	m, err := f.resume(t, p)
	if err != nil {
		return nil, zero, err
	}
	if level > 0 {
		called, ok := m.s.body.(timed[S])
		if !ok {
			return nil, zero, nil
		}
		return m.follow(called.timeUp(m.c, &m.p, level-1))
	}
	out := f.timeoutOf(m.s)
	if out.isZero() {
		return nil, zero, nil
	}
	t.timedOut = true
	return m.follow(Next{kind: nextGoto, step: out.to}, nil)
}

// timed is the body of a step in which another flow can wait for too long.
type timed[S any] interface {
	timeUp(c *C[S], p *Position, level int) (Next, error)
}

func (b *call[S, R]) timeUp(c *C[S], p *Position, level int) (Next, error) {
	if !b.called(p) {
		return waits, nil
	}
	in, result, err := b.sub.timeUp(c.Turn, *p.In, level)
	if err == nil && !c.timedOut {
		return waits, nil
	}
	return b.went(c, p, in, result, err)
}

// fired is how deep in p the flow stands whose timeout a timer is for, and false if the
// timer is not the one that is armed there.
func (p *Position) fired(timer botmesh.Timer) (level int, ok bool) {
	kind, number, _ := strings.Cut(timer.Name, "/")
	level, err := strconv.Atoi(number)
	if kind != TimeoutKind || err != nil || level < 0 {
		return 0, false
	}
	for range level {
		if p = p.In; p == nil {
			return 0, false
		}
	}
	return level, p.Due.Equal(timer.At)
}

// Watch arms the timers of what is open at the end of a turn, at, and takes back those
// of what was open before. Either is nil if no flow waits then.
func (t *Turn) Watch(before, at *Position) {
	for level := 0; before != nil || at != nil; level++ {
		var was, is time.Time
		if before != nil {
			was, before = before.Due, before.In
		}
		if at != nil {
			is, at = at.Due, at.In
		}
		name := TimeoutKind + "/" + strconv.Itoa(level)
		switch {
		case is.Equal(was):
		case is.IsZero():
			t.Disarm(name)
		default:
			t.Arm(botmesh.Timer{Name: name, At: is})
		}
	}
}
