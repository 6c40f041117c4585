package flow

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Definition is a flow of any state type, as a bot holds it: a [Flow], or what [NewLive]
// makes. Each of the methods that take a turn says something through it
// and returns where the conversation stands then, nil if it has ended.
//
// An error fails the run; the position to keep is the one before. It is
// [ErrStranded] if this build can not go on from the position.
type Definition interface {
	// Name is unique among a bot's flows. It is stored, so it must not change
	// while a chat waits in the flow.
	Name() string
	// Triggers are the commands and words that begin the flow.
	Triggers() []string
	// Steps are the names of the flow's steps, in alphabetical order.
	Steps() []string
	// Validate returns everything that is wrong with the flow, joined.
	Validate() error
	// GoesBack reports whether the flow, or one that it calls, has [Back].
	GoesBack() bool
	// Helps reports whether a step, of the flow or of one that it calls, has [Help].
	Helps() bool

	// Start begins the flow and asks its first question.
	Start(t *Turn) (*Position, error)
	// Answer takes the turn's record as the answer to the open question. A
	// record that [Position.Stale] refuses is not one.
	Answer(t *Turn, p Position) (*Position, error)
	// AskAgain repeats the open question after a hint, which may be empty.
	AskAgain(t *Turn, p Position, hint string) (*Position, error)
	// Back asks the question before the open one. The error is [ErrFirst] if there
	// is none to go back to.
	Back(t *Turn, p Position) (*Position, error)
	// Cancel ends the flow, unless its OnCancel decides otherwise.
	Cancel(t *Turn, p Position) (*Position, error)
	// TimeUp goes on where the timer of a [Timeout] leads that fired. It reports false
	// if the timer has no effect.
	TimeUp(t *Turn, p Position) (at *Position, effect bool, err error)
	// Help is what helps with the open question, empty if nothing does.
	Help(p Position) string
	// Burst is how long the open question waits for more of an answer. It reports false
	// if nothing is said of it.
	Burst(p Position) (window time.Duration, set bool)
	// TakesStale reports whether the flow that waits at p, or one that it called, decides
	// about messages that are [Turn.Stale].
	TakesStale(p Position) bool
	// Brief is what is noted of a position at the end of a turn, nil if the flow is kept.
	Brief(p Position, now time.Time, forward bool, ttl time.Duration) *Brief
	// Fits reports whether a conversation goes on here as in the build that asked.
	Fits(p Position) bool
	// Here reports whether what waits at p, which this process has asked, goes on in it.
	Here(t *Turn, p Position) bool

	// walk visits the flow and those that it calls, each once.
	walk(seen map[Definition]bool, visit func(d Definition))
	own() []error
	lock() []string
	has() (back, help bool)
}

var _ Definition = (*Flow[struct{}])(nil)

// Step names a step of the flows whose state is S. Steps are constants:
//
//	const Size flow.Step[Order] = "size"
//
// The name is stored: a chat that waits there goes on only in a build that has the
// step, or one that [Was] it.
type Step[S any] string

// Flow is a conversation whose state is S, a struct. It is built by one
// goroutine, and then safe for concurrent use.
type Flow[S any] struct {
	options
	name   string
	steps  map[string]*step[S]
	calls  []Definition
	first  string
	cancel func(*C[S]) Next
	giveUp func(*C[S], Step[S]) Next
	late   func(*C[S]) Next
	// changed is for a step that is gone.
	changed func(*C[S], string) Next
	schema  string
	faults  []error
	shape   func() string
}

// New makes a flow without steps; [Ask], [Script] and [Call] add them, and the first
// one added is where it begins, with a zero S. What is wrong with it is told by
// Validate.
func New[S any](name string, opts ...Option) *Flow[S] {
	f := &Flow[S]{name: name, steps: map[string]*step[S]{}}
	for _, opt := range opts {
		opt.apply(&f.options)
	}
	f.shape = sync.OnceValue(f.fingerprint)
	if !botmesh.ValidName(name) {
		f.fault("the name does not match [a-z0-9-]{1,32}")
	}
	if f.back < 0 || f.back > MaxBack {
		f.fault("goes back %d questions, want 0 to %d", f.back, MaxBack)
	}
	if f.ttl < 0 {
		f.fault("is kept for %s, want a time", f.ttl)
	}
	t := reflect.TypeFor[S]()
	if t.Kind() != reflect.Struct {
		f.fault("the state is a %s, want a struct", t)
	}
	var err error
	if f.schema, err = Schema(t); err != nil {
		f.fault("the state can not be kept: %w", err)
	}
	return f
}

// OnCancel decides what a user's wish to cancel does: End ends the flow, Goto
// goes on elsewhere, Reject keeps the question open. Without it the flow ends. A
// bot says that the flow was cancelled if the handler says nothing.
//
// Of flows that call each other the innermost is asked first; when it ends, so does
// its caller, unless the OnCancel of that one decides otherwise.
func (f *Flow[S]) OnCancel(handler func(c *C[S]) Next) {
	if f.cancel != nil {
		f.fault("OnCancel is set twice")
	}
	f.cancel = handler
}

// OnGiveUp decides how to go on when a question of step at has had as many bad
// answers as its [Tries] allow. Reject asks it again.
func (f *Flow[S]) OnGiveUp(handler func(c *C[S], at Step[S]) Next) {
	if f.giveUp != nil {
		f.fault("OnGiveUp is set twice")
	}
	f.giveUp = handler
}

// Name is the flow's name.
func (f *Flow[S]) Name() string { return f.name }

// Triggers are the commands and words that begin the flow.
func (f *Flow[S]) Triggers() []string { return slices.Clone(f.triggers) }

// Steps are the names of the flow's steps, in alphabetical order.
func (f *Flow[S]) Steps() []string { return slices.Sorted(maps.Keys(f.steps)) }

// Validate returns everything that is wrong with the flow and those that it calls,
// joined.
func (f *Flow[S]) Validate() error {
	var all []error
	f.walk(map[Definition]bool{}, func(d Definition) { all = append(all, d.own()...) })
	return errors.Join(all...)
}

// GoesBack reports whether the flow, or one that it calls, has [Back].
func (f *Flow[S]) GoesBack() (any bool) {
	f.walk(map[Definition]bool{}, func(d Definition) { back, _ := d.has(); any = any || back })
	return any
}

// Helps reports whether a step, of the flow or of one that it calls, has [Help].
func (f *Flow[S]) Helps() (any bool) {
	f.walk(map[Definition]bool{}, func(d Definition) { _, help := d.has(); any = any || help })
	return any
}

func (f *Flow[S]) walk(seen map[Definition]bool, visit func(d Definition)) {
	if seen[f] {
		return
	}
	seen[f] = true
	visit(f)
	for _, sub := range f.calls {
		sub.walk(seen, visit)
	}
}

func (f *Flow[S]) has() (back, help bool) {
	for _, s := range f.steps {
		help = help || s.help != ""
	}
	return f.back > 0, help
}

// own is what is wrong with the flow itself.
func (f *Flow[S]) own() []error {
	faults := slices.Clone(f.faults)
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("flow %s: "+format, append([]any{f.name}, args...)...))
	}
	if len(f.steps) == 0 {
		add("has no steps")
	}
	checkTimeout := func(whose string, t timeout) {
		if !t.isZero() && (t.after <= 0 || f.steps[t.to] == nil) {
			add("%s goes to %q after %s, want a step and a time above zero", whose, t.to, t.after)
		}
	}
	checkTimeout("it", f.options.timeout)
	checkBurst := func(what string, b burst) {
		if b.wrong() {
			add("%s has a burst with a window of %v, want 0 to %v", what, b.window, MaxBurst)
		}
	}
	checkBurst("it", f.options.burst)
	checkSettle := func(what string, s settle) {
		if s.wrong() {
			add("%s may take %v, want a time above zero and at most %v", what, s.d, botmesh.MaxSettle)
		}
	}
	checkSettle("it", f.options.settle)
	if f.patient {
		add("has a patience, which live conversations have: use flow.Timeout")
	}
	was := map[string]bool{}
	for _, id := range f.Steps() {
		s := f.steps[id]
		checkTimeout(fmt.Sprintf("step %q", id), s.timeout)
		checkBurst(fmt.Sprintf("step %q", id), s.burst)
		checkSettle(fmt.Sprintf("step %q", id), s.settle)
		for _, to := range s.to {
			if f.steps[to] == nil {
				add("step %q goes to %q, which is not a step", id, to)
			}
		}
		for _, old := range s.was {
			if f.steps[old] != nil || was[old] {
				add("step %q was %q, which is, or was, another step", id, old)
			}
			was[old] = true
		}
		if s.tries != 0 && f.giveUp == nil || s.tries < 0 {
			add("step %q has %d tries, and OnGiveUp is set: %t", id, s.tries, f.giveUp != nil)
		}
	}
	return faults
}

func (f *Flow[S]) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Errorf("flow %s: "+format, append([]any{f.name}, args...)...))
}

// fingerprint is that of the whole flow: name, state and every step with its ways
// on. Wording, order and code are not in it.
func (f *Flow[S]) fingerprint() string {
	words := []string{f.name, f.schema}
	for _, id := range f.Steps() {
		s := f.steps[id]
		words = append(words, fingerprint(append([]string{s.wait}, slices.Sorted(slices.Values(s.to))...)...))
	}
	return fingerprint(words...)
}
