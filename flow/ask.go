package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

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
	// the question, which is then asked again; a [More] is no error of the user's.
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

// More is what Parse returns for a part of an answer, such as the first of several
// choices: the question is asked again with these buttons, whose payloads carry
// what is known so far. It costs no try.
type More struct{ Buttons [][]botmesh.Button }

func (*More) Error() string { return "the answer goes on" }

// Prompt is the text of a question: fixed, made from the state, or from the whole turn,
// with [Turn.T] where there are languages.
type Prompt[S any] interface {
	string | func(S) string | func(*C[S]) string
}

// body is what a step does. Where the conversation goes on is what its methods
// return; if that is to wait, they have asked a question, and p is where it stands.
type body[S any] interface {
	// enter begins the step at p, which has nothing of it but the state.
	enter(c *C[S], p *Position) (Next, error)
	// answer takes a reply to the question that is open at p.
	answer(c *C[S], p *Position, m botmesh.Message) (Next, error)
	// again asks the question that is open at p once more, with a hint.
	again(c *C[S], p *Position, hint string) (Next, error)
}

// step is a step with its types erased down to the flow's state.
type step[S any] struct {
	stepOptions
	id   string
	kind string // what it waits for
	wait string // the fingerprint of name and kind
	body body[S]
}

// add makes a step part of the flow.
func (f *Flow[S]) add(id Step[S], kind []string, opts []StepOption, body func(*stepOptions) body[S]) {
	if f.steps[string(id)] != nil {
		f.fault("step %q is added twice", id)
		return
	}
	if id == "" {
		f.fault("a step has no name")
	}
	s := &step[S]{id: string(id), kind: strings.Join(kind, " "), wait: fingerprint(append([]string{string(id)}, kind...)...)}
	for _, opt := range opts {
		opt.applyStep(&s.stepOptions)
	}
	s.body = body(&s.stepOptions)
	if len(f.steps) == 0 {
		f.first = s.id
	}
	f.steps[s.id] = s
}

// Ask adds a step: a question, and what is done with its answer. The handler gets
// the answer typed, with the state in c.State, and returns where to go on.
//
// A handler may run several times for one answer, until a run ends well. It must
// not keep c, and must return soon after c.Context() ends.
func Ask[S, T any, P Prompt[S]](f *Flow[S], id Step[S], q Question[T], prompt P, handler func(c *C[S], answer T) Next, opts ...StepOption) {
	if text, ok := any(prompt).(string); ok && text == "" {
		f.fault("step %q has no prompt", id)
	}
	if err := checkQuestion(q); err != nil {
		f.fault("step %q: %w", id, err)
	}
	buttons := q.Buttons()
	f.add(id, []string{q.Spec()}, opts, func(o *stepOptions) body[S] {
		return &question[S]{
			id:      string(id),
			spec:    q.Spec(),
			options: o,
			prompt:  promptFunc[S](prompt),
			buttons: buttons,
			hear: func(c *C[S], m botmesh.Message) (Next, error) {
				answer, err := q.Parse(c.unlabel(m, buttons))
				if err != nil {
					return Next{}, err
				}
				return handler(c, answer), nil
			},
		}
	})
}

// checkQuestion says what is wrong with a question.
func checkQuestion[T any](q Question[T]) error {
	var errs []error
	if v, ok := q.(interface{ Validate() error }); ok {
		errs = append(errs, v.Validate())
	}
	for _, row := range q.Buttons() {
		for _, b := range row {
			if len(b.Payload) > MaxPayload {
				errs = append(errs, fmt.Errorf("button %q carries %d bytes, want at most %d", b.Label, len(b.Payload), MaxPayload))
			}
		}
	}
	return errors.Join(errs...)
}

// question is the body of a step that asks one.
type question[S any] struct {
	id, spec string
	options  *stepOptions
	prompt   func(*C[S]) string
	buttons  [][]botmesh.Button
	// hear runs the handler, or returns a hint for the user who was not understood.
	hear func(c *C[S], m botmesh.Message) (next Next, hint error)
}

func (q *question[S]) enter(c *C[S], p *Position) (Next, error) { return q.again(c, p, "") }

func (q *question[S]) answer(c *C[S], p *Position, m botmesh.Message) (Next, error) {
	asked := p.Wait == fingerprint(p.Step, q.spec)
	next, notUnderstood := q.hear(c, m)
	var more *More
	switch {
	case notUnderstood == nil:
		return next, nil
	case errors.As(notUnderstood, &more):
		return q.ask(c, p, "", more.Buttons)
	case !asked: // by an earlier build: the user has not seen this question yet
		p.Asked = c.run.Record.Seq
		return q.again(c, p, "")
	}
	return c.Reject(c.hint(q.options, notUnderstood)), nil
}

func (q *question[S]) again(c *C[S], p *Position, hint string) (Next, error) {
	return q.ask(c, p, hint, q.buttons)
}

func (q *question[S]) ask(c *C[S], p *Position, hint string, buttons [][]botmesh.Button) (Next, error) {
	p.Wait = fingerprint(q.id, q.spec)
	c.ask(q.prompt(c), hint, buttons, p.Asked)
	return waits, nil
}

// ask sends a question, in one message with a hint if there is one.
func (t *Turn) ask(text, hint string, buttons [][]botmesh.Button, asked uint64) {
	if hint != "" {
		text = hint + "\n" + text
	}
	t.Send(botmesh.Send{Text: text, Buttons: markButtons(t.label(buttons), asked)})
}

func promptFunc[S any](prompt any) func(*C[S]) string {
	switch p := prompt.(type) {
	case func(*C[S]) string:
		return p
	case func(S) string:
		return func(c *C[S]) string { return p(c.State) }
	}
	return func(c *C[S]) string { return c.T(prompt.(string)) }
}

// fingerprint is a short name for a list of words, which has no other of the same.
func fingerprint(words ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", words))
	return hex.EncodeToString(sum[:6])
}
