package flow

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/botmesh-go/botmesh"
)

// Definition is a flow of any state type, as a bot holds it. Only [Flow]
// implements it. Each of the methods that take a turn says something through it
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
	// Validate returns everything that is wrong with the flow, joined.
	Validate() error

	// Start begins the flow and asks its first question.
	Start(t *Turn) (*Position, error)
	// Answer takes the turn's record as the answer to the open question. A
	// record that [Position.Stale] refuses is not one.
	Answer(t *Turn, p Position) (*Position, error)
	// AskAgain repeats the open question after a hint, which may be empty.
	AskAgain(t *Turn, p Position, hint string) (*Position, error)
	// Cancel ends the flow, unless its OnCancel decides otherwise.
	Cancel(t *Turn, p Position) (*Position, error)

	sealed()
}

var _ Definition = (*Flow[struct{}])(nil)

// Step names a step of the flows whose state is S. Steps are constants:
//
//	const Size flow.Step[Order] = "size"
//
// The name is stored, so it must not change while a chat waits at the step.
type Step[S any] string

// Flow is a conversation whose state is S, a struct. It is built by one
// goroutine, and then safe for concurrent use.
type Flow[S any] struct {
	name     string
	triggers []string
	steps    map[string]*step[S]
	first    string
	cancel   func(*C[S]) Next
	schema   string
	faults   []error
	shape    func() string
}

// Option sets something of a whole flow.
type Option interface{ apply(*options) }

type options struct{ triggers []string }

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// Trigger begins the flow when a user writes one of words. A command ("/order")
// begins it anew even while it waits; another word, in whatever case, only in a
// chat where no flow waits.
func Trigger(words ...string) Option {
	return optionFunc(func(o *options) { o.triggers = append(o.triggers, words...) })
}

// New makes a flow without steps; [Ask] adds them, and the first one added is
// where it begins, with a zero S. What is wrong with it is told by Validate.
func New[S any](name string, opts ...Option) *Flow[S] {
	var o options
	for _, opt := range opts {
		opt.apply(&o)
	}
	f := &Flow[S]{name: name, triggers: o.triggers, steps: map[string]*step[S]{}}
	f.shape = sync.OnceValue(f.fingerprint)
	if !botmesh.ValidName(name) {
		f.fault("the name does not match [a-z0-9-]{1,32}")
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
func (f *Flow[S]) OnCancel(handler func(c *C[S]) Next) {
	if f.cancel != nil {
		f.fault("OnCancel is set twice")
	}
	f.cancel = handler
}

// Name is the flow's name.
func (f *Flow[S]) Name() string { return f.name }

// Triggers are the commands and words that begin the flow.
func (f *Flow[S]) Triggers() []string { return slices.Clone(f.triggers) }

// Validate returns everything that is wrong with the flow, joined.
func (f *Flow[S]) Validate() error {
	faults := slices.Clone(f.faults)
	if len(f.steps) == 0 {
		faults = append(faults, fmt.Errorf("flow %s: has no steps", f.name))
	}
	for _, id := range slices.Sorted(maps.Keys(f.steps)) {
		for _, to := range f.steps[id].to {
			if f.steps[to] == nil {
				faults = append(faults, fmt.Errorf("flow %s: step %q goes to %q, which is not a step", f.name, id, to))
			}
		}
	}
	return errors.Join(faults...)
}

func (f *Flow[S]) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Errorf("flow %s: "+format, append([]any{f.name}, args...)...))
}

func (*Flow[S]) sealed() {}

// fingerprint is that of the whole flow: name, state and every step with its ways
// on. Wording, order and code are not in it.
func (f *Flow[S]) fingerprint() string {
	words := []string{f.name, f.schema}
	for _, id := range slices.Sorted(maps.Keys(f.steps)) {
		s := f.steps[id]
		words = append(words, fingerprint(append([]string{s.wait}, slices.Sorted(slices.Values(s.to))...)...))
	}
	return fingerprint(words...)
}
