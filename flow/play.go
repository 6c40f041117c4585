package flow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/botmesh-go/botmesh"
)

// Start begins the flow with a zero state and asks its first question.
func (f *Flow[S]) Start(t *Turn) (*Position, error) {
	return f.enter(&C[S]{Turn: t}, f.first)
}

// Answer takes the turn's record as the answer to the open question. An answer
// that is not understood gets a hint and the question again.
func (f *Flow[S]) Answer(t *Turn, p Position) (*Position, error) {
	s, c, err := f.resume(t, p)
	if err != nil {
		return nil, err
	}
	m := t.run.Record.Message
	if t.run.Record.Type == botmesh.TypeCallback {
		_, m.Payload, _ = unmark(m.Payload)
		m.Text = ""
	}
	next, notUnderstood := s.answer(c, m)
	if notUnderstood != nil {
		hint := notUnderstood.Error()
		if s.hint != "" {
			hint = s.hint
		}
		return f.AskAgain(t, p, hint)
	}
	return f.follow(c, p, next)
}

// AskAgain repeats the open question, in one message with a hint if there is one.
func (f *Flow[S]) AskAgain(t *Turn, p Position, hint string) (*Position, error) {
	s, c, err := f.resume(t, p)
	if err != nil {
		return nil, err
	}
	s.ask(c, p.Asked, hint)
	return &p, nil
}

// Cancel ends the flow, unless OnCancel decides otherwise.
func (f *Flow[S]) Cancel(t *Turn, p Position) (*Position, error) {
	if f.cancel == nil {
		return nil, nil
	}
	_, c, err := f.resume(t, p)
	if err != nil {
		return nil, err
	}
	return f.follow(c, p, f.cancel(c))
}

// resume finds the step of a position and decodes the state.
func (f *Flow[S]) resume(t *Turn, p Position) (*step[S], *C[S], error) {
	s := f.steps[p.Step]
	if s == nil {
		return nil, nil, fmt.Errorf("%w: flow %s has no step %q", ErrStranded, f.name, p.Step)
	}
	c := &C[S]{Turn: t}
	if err := json.Unmarshal(p.State, &c.State); err != nil {
		return nil, nil, fmt.Errorf("%w: flow %s at step %q: reading the state: %w", ErrStranded, f.name, p.Step, err)
	}
	return s, c, nil
}

// follow goes where a handler that ran at p said.
func (f *Flow[S]) follow(c *C[S], p Position, next Next) (*Position, error) {
	switch next.kind {
	case nextGoto:
		return f.enter(c, next.step)
	case nextEnd:
		return nil, nil
	case nextReject:
		return f.AskAgain(c.Turn, p, next.hint)
	case nextFail:
		if next.err == nil {
			next.err = errors.New("failed without an error")
		}
		return nil, fmt.Errorf("flow %s at step %q: %w", f.name, p.Step, next.err)
	default:
		return nil, fmt.Errorf("flow %s at step %q: the handler returned no way on", f.name, p.Step)
	}
}

// enter asks the question of a step; its buttons and position carry this record.
func (f *Flow[S]) enter(c *C[S], id string) (*Position, error) {
	s := f.steps[id]
	if s == nil {
		return nil, fmt.Errorf("flow %s: goto %q, which is not a step", f.name, id)
	}
	state, err := json.Marshal(c.State)
	if err != nil {
		return nil, fmt.Errorf("flow %s at step %q: encoding the state: %w", f.name, id, err)
	}
	p := &Position{Flow: f.name, Step: id, State: state, Asked: c.run.Record.Seq, Wait: s.wait, Shape: f.shape()}
	s.ask(c, p.Asked, "")
	return p, nil
}

func (s *step[S]) ask(c *C[S], asked uint64, hint string) {
	text := s.prompt(c.State)
	if hint != "" {
		text = hint + "\n" + text
	}
	c.Send(botmesh.Send{Text: text, Buttons: markButtons(s.buttons, asked)})
}
