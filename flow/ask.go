package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/botmesh-go/botmesh"
)

// Question is a kind of answer. Package flow/ask has the usual ones. A Question
// must not change once it is part of a flow, and is safe for concurrent use.
//
// A Question that also has a method Validate() error is asked once, when its
// step is added, what is wrong with it.
type Question[T any] interface {
	// Parse reads an answer. A pressed button is in m.Payload, as Buttons gave it,
	// and m.Text is empty. The error's text is what the user is told, in front of
	// the question, which is then asked again.
	Parse(m botmesh.Message) (T, error)
	// Spec is the kind of answer, with the values of a choice: "int",
	// "choice(l|m|s)". It tells a later build whether an answer to this question
	// still answers its own; wording and order are not in it.
	Spec() string
	// Buttons are offered below the question, in rows; nil for none. A payload has
	// at most MaxPayload bytes.
	Buttons() [][]botmesh.Button
}

// MaxPayload bounds the payload of a question's button, in bytes. Platforms take
// 64, of which the flow needs some to tell old buttons from new ones.
const MaxPayload = 48

// Prompt is the text of a question: fixed, or made from the state.
type Prompt[S any] interface {
	string | func(S) string
}

// StepOption sets something of one step.
type StepOption interface{ apply(*stepOptions) }

type stepOptions struct {
	to   []string
	hint string
}

type stepOptionFunc func(*stepOptions)

func (f stepOptionFunc) apply(o *stepOptions) { f(o) }

// To declares where the step's handler may go. That each is a step of the flow is
// checked when the bot starts, instead of when a user gets there.
func To[S any](steps ...Step[S]) StepOption {
	return stepOptionFunc(func(o *stepOptions) {
		for _, s := range steps {
			o.to = append(o.to, string(s))
		}
	})
}

// Hint replaces what the user is told after an answer that is not understood.
func Hint(text string) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.hint = text })
}

// step is one question with its types erased down to the flow's state.
type step[S any] struct {
	stepOptions
	id      string
	wait    string
	prompt  func(S) string
	buttons [][]botmesh.Button
	// answer runs the handler, or returns a hint for the user who was not understood.
	answer func(c *C[S], m botmesh.Message) (next Next, hint error)
}

// Ask adds a step: a question, and what is done with its answer. The handler gets
// the answer typed, with the state in c.State, and returns where to go on.
//
// A handler may run several times for one answer, until a run ends well. It must
// not keep c, and must return soon after c.Context() ends.
func Ask[S, T any, P Prompt[S]](f *Flow[S], id Step[S], q Question[T], prompt P, handler func(c *C[S], answer T) Next, opts ...StepOption) {
	if f.steps[string(id)] != nil {
		f.fault("step %q is added twice", id)
		return
	}
	if id == "" {
		f.fault("a step has no name")
	}
	if text, ok := any(prompt).(string); ok && text == "" {
		f.fault("step %q has no prompt", id)
	}
	if v, ok := q.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			f.fault("step %q: %w", id, err)
		}
	}
	s := &step[S]{
		id:      string(id),
		wait:    fingerprint(string(id), q.Spec()),
		prompt:  promptFunc[S](prompt),
		buttons: q.Buttons(),
		answer: func(c *C[S], m botmesh.Message) (Next, error) {
			answer, err := q.Parse(m)
			if err != nil {
				return Next{}, err
			}
			return handler(c, answer), nil
		},
	}
	for _, opt := range opts {
		opt.apply(&s.stepOptions)
	}
	for _, row := range s.buttons {
		for _, b := range row {
			if len(b.Payload) > MaxPayload {
				f.fault("step %q: button %q carries %d bytes, want at most %d", id, b.Label, len(b.Payload), MaxPayload)
			}
		}
	}
	if len(f.steps) == 0 {
		f.first = s.id
	}
	f.steps[s.id] = s
}

func promptFunc[S any](prompt any) func(S) string {
	if fn, ok := prompt.(func(S) string); ok {
		return fn
	}
	return func(S) string { return prompt.(string) }
}

// fingerprint is a short name for a list of words, which has no other of the same.
func fingerprint(words ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", words))
	return hex.EncodeToString(sum[:6])
}
