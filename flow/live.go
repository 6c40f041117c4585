package flow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Bounds of how long a live conversation waits for an answer.
const (
	DefaultPatience = time.Hour
	MaxPatience     = 24 * time.Hour
)

// Live is what the function of a live conversation has in hand: the turn that it runs in
// now. Each [Wait] that returns has put it into that of the answer.
type Live struct {
	*Turn
	talk *talk
}

// NewLive makes a flow that is one function, which asks with [Wait] and goes on when the
// answer is there:
//
//	flow.NewLive("guess", func(c *flow.Live) error {
//		secret := 1 + rand.IntN(100)
//		for {
//			n, err := flow.Wait(c, ask.Int().Range(1, 100), "What is my number?")
//			switch {
//			case errors.Is(err, flow.ErrTimeUp):
//				c.Sayf("It was %d.", secret)
//				return nil
//			case err != nil:
//				return err
//			case n == secret:
//				c.Say("That is it!")
//				return nil
//			}
//			c.Say("No.")
//		}
//	}, flow.Trigger("/guess"))
//
// It runs once and may do what it likes, but it is a goroutine: while it waits it lives in
// one process, and what is kept of it is a note that it waits. Where that process dies or is
// stopped, another gets the chat all the same, or a run with its answer fails or is not
// committed, the conversation is lost. What the user is told then is for the bot to say
// (bot.Handover: drop, notify, restart, or a function). What must survive is a [Script].
//
// The function returns nil when the conversation has ended. Its error fails the run, whose
// record is tried again, without the conversation: so for [ErrTimeUp] and [ErrGaveUp], with
// which the conversation may go on or end, it returns nil in the end. After [ErrOver] it must
// return soon, with whatever error. Of opts it takes [Trigger], [Patience], [Settle], [Burst], and of [Meanwhile]
// all but Interrupt, as nothing can make it begin an answer anew.
func NewLive(name string, converse func(c *Live) error, opts ...Option) Definition {
	l := &live{name: name, converse: converse}
	for _, opt := range opts {
		opt.apply(&l.options)
	}
	return l
}

// Patience is how long each question of a live conversation stays open: then its [Wait]
// returns [ErrTimeUp]. The clock is a durable one, see [Timeout]. d is above zero and at
// most [MaxPatience], and [DefaultPatience] where nothing is said.
func Patience(d time.Duration) Option {
	return optionFunc(func(o *options) { o.patience, o.patient = d, true })
}

// live is the definition of a live conversation.
type live struct {
	options
	name     string
	converse func(c *Live) error
}

var _ Definition = (*live)(nil)

func (l *live) Name() string       { return l.name }
func (l *live) Triggers() []string { return slices.Clone(l.triggers) }
func (l *live) Steps() []string    { return nil }
func (l *live) GoesBack() bool     { return false }
func (l *live) Helps() bool        { return false }
func (l *live) Validate() error    { return errors.Join(l.own()...) }

// own is what is wrong with the conversation.
func (l *live) own() (faults []error) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf("flow %s: "+format, append([]any{l.name}, args...)...))
		}
	}
	o := l.options
	add(!botmesh.ValidName(l.name), "the name does not match [a-z0-9-]{1,32}")
	add(l.converse == nil, "has no function")
	add(o.patient && (o.patience <= 0 || o.patience > MaxPatience), "has a patience of %v, want a time above zero and at most %v", o.patience, MaxPatience)
	add(o.back != 0, "goes back, which only steps can")
	add(o.ephemeral, "is ephemeral, which a live conversation is in any case")
	add(!o.timeout.isZero(), "has a timeout, which leads to a step: use flow.Patience")
	add(o.meanwhile == Interrupt, "can not be interrupted: use flow.Join, or a script")
	add(o.burst.wrong(), "has a burst with a window of %v, want 0 to %v", o.burst.window, MaxBurst)
	add(o.settle.wrong(), "may take %v, want a time above zero and at most %v", o.settle.d, botmesh.MaxSettle)
	return faults
}

// Start runs the function up to its first question.
func (l *live) Start(t *Turn) (*Position, error) { return begin(l, t).goOn(t, nil) }

// Answer lets the function go on with a reply.
func (l *live) Answer(t *Turn, p Position) (*Position, error) {
	k, err := l.take(t, p)
	if err != nil {
		return nil, err
	}
	r := reply(t.run.Record)
	return k.goOn(t, &r)
}

// TimeUp lets the function go on without one.
func (l *live) TimeUp(t *Turn, p Position) (*Position, bool, error) {
	if _, ok := p.fired(t.Timer()); !ok {
		return nil, false, nil
	}
	k, err := l.take(t, p)
	if err != nil {
		return nil, false, err
	}
	at, err := k.goOn(t, nil)
	return at, err == nil, err
}

func (l *live) take(t *Turn, p Position) (*talk, error) {
	if k := t.lives.take(t.Chat(), p); k != nil {
		return k, nil
	}
	return nil, l.left()
}

// left is the error of a run during which the conversation was ended. The next try finds it
// lost; no other build has it.
func (l *live) left() error {
	return fmt.Errorf("flow %s: the live conversation was ended during the run", l.name)
}

// AskAgain repeats the question; the function does not notice.
func (l *live) AskAgain(t *Turn, p Position, hint string) (*Position, error) {
	q, ok := t.lives.open(t.Chat(), p)
	if !ok {
		return nil, l.left()
	}
	t.ask(t.T(q.prompt), hint, q.buttons, p.Asked)
	return &p, nil
}

// Back has nowhere to go to.
func (l *live) Back(*Turn, Position) (*Position, error) { return nil, ErrFirst }

// Cancel ends the conversation: its Wait returns ErrOver.
func (l *live) Cancel(t *Turn, p Position) (*Position, error) {
	t.lives.drop(t.Chat(), p)
	return nil, nil
}

func (l *live) Help(Position) string { return "" }

// TakesStale is false: the function asks [Turn.Stale] of each answer.
func (l *live) TakesStale(Position) bool { return false }

func (l *live) Burst(Position) (time.Duration, bool) {
	return l.options.burst.window, l.options.burst.set
}

// Brief says that a process which has not the conversation can not go on with it, and
// until when anybody would want to.
func (l *live) Brief(p Position, _ time.Time, _ bool, _ time.Duration) *Brief {
	return &Brief{Until: p.Due}
}

// Fits is false: no other process goes on with it.
func (l *live) Fits(Position) bool { return false }

// Here reports whether the conversation that waits at p is in this process.
func (l *live) Here(t *Turn, p Position) bool {
	_, ok := t.lives.open(t.Chat(), p)
	return ok
}

func (l *live) waits() time.Duration {
	if l.patient {
		return l.patience
	}
	return DefaultPatience
}

func (l *live) walk(seen map[Definition]bool, visit func(d Definition)) {
	if !seen[l] {
		seen[l] = true
		visit(l)
	}
}

// lock is nothing: no later build goes on with what waits in it.
func (l *live) lock() []string { return nil }

func (l *live) has() (back, help bool) { return false, false }
