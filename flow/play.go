package flow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/botmesh-go/botmesh"
)

// maxHops bounds the steps that one turn may go through without a question.
const maxHops = 100

// Start begins the flow with a zero state and asks its first question.
func (f *Flow[S]) Start(t *Turn) (*Position, error) {
	var zero S
	p, _, err := f.start(t, zero)
	return p, err
}

// Answer takes the turn's record as the answer to the open question. An answer
// that is not understood gets a hint and the question again; if an earlier build
// asked another one, the question alone.
func (f *Flow[S]) Answer(t *Turn, p Position) (*Position, error) {
	end, _, err := f.answer(t, p)
	return end, err
}

// AskAgain repeats the open question, in one message with a hint if there is one.
func (f *Flow[S]) AskAgain(t *Turn, p Position, hint string) (*Position, error) {
	end, _, err := f.askAgain(t, p, hint)
	return end, err
}

// Cancel ends the flow, unless OnCancel decides otherwise.
func (f *Flow[S]) Cancel(t *Turn, p Position) (*Position, error) {
	if f.cancel == nil && p.In == nil {
		return nil, nil
	}
	m, err := f.resume(t, p)
	if err != nil {
		return nil, err
	}
	if called, ok := m.s.body.(caller); ok && p.In != nil {
		in, err := called.flow().Cancel(t, *p.In)
		if err != nil {
			return nil, err
		}
		if in != nil {
			m.p.In = in
			end, _, err := m.follow(waits, nil)
			return end, err
		}
	}
	if f.cancel == nil {
		return nil, nil
	}
	next := f.cancel(m.c)
	if next.kind == nextReject {
		next, err = m.again(next.hint)
	}
	end, _, err := m.follow(next, err)
	return end, err
}

// Help is what helps with the open question, empty if nothing does.
func (f *Flow[S]) Help(p Position) string {
	s := f.step(p.Step)
	if s == nil {
		return ""
	}
	if called, ok := s.body.(caller); ok && p.In != nil {
		if text := called.flow().Help(*p.In); text != "" {
			return text
		}
	}
	return s.help
}

func (f *Flow[S]) start(t *Turn, state S) (*Position, S, error) {
	m := &move[S]{f: f, c: &C[S]{Turn: t, State: state}}
	m.listen()
	return m.follow(Next{kind: nextGoto, step: f.first}, nil)
}

func (f *Flow[S]) answer(t *Turn, p Position) (*Position, S, error) {
	m, err := f.resume(t, p)
	if err != nil {
		var zero S
		return nil, zero, err
	}
	m.listen()
	next, err := m.take()
	return m.follow(next, err)
}

func (f *Flow[S]) askAgain(t *Turn, p Position, hint string) (*Position, S, error) {
	m, err := f.resume(t, p)
	if err != nil {
		var zero S
		return nil, zero, err
	}
	next, err := m.s.body.again(m.c, &m.p, hint)
	return m.follow(next, err)
}

// reply is what a record answers: of a pressed button the value alone.
func reply(r botmesh.Record) botmesh.Message {
	m := r.Message
	if r.Type == botmesh.TypeCallback {
		_, m.Payload, _ = unmark(m.Payload)
		m.Text = ""
	}
	return m
}

// step finds a step by its name, or by one that it had.
func (f *Flow[S]) step(name string) *step[S] {
	if s := f.steps[name]; s != nil {
		return s
	}
	for _, s := range f.steps {
		for _, old := range s.was {
			if old == name {
				return s
			}
		}
	}
	return nil
}

// move is a conversation on its way from one open question to the next.
type move[S any] struct {
	f     *Flow[S]
	c     *C[S]
	s     *step[S]
	p     Position
	trail []Position // of a step that is entered
}

// resume finds the step of a position and decodes the state.
func (f *Flow[S]) resume(t *Turn, p Position) (*move[S], error) {
	s := f.step(p.Step)
	if s == nil {
		s = f.goneStep(p.Step)
	}
	if s == nil {
		return nil, fmt.Errorf("%w: flow %s has no step %q", ErrStranded, f.name, p.Step)
	}
	m := &move[S]{f: f, c: &C[S]{Turn: t}, s: s, p: p, trail: p.left(f.back)}
	if err := m.restore(); err != nil {
		return nil, fmt.Errorf("%w: flow %s at step %q: reading the state: %w", ErrStranded, f.name, p.Step, Unread(err))
	}
	m.settle()
	return m, nil
}

// restore takes the state back to what it is at the position.
func (m *move[S]) restore() error {
	var state S
	if err := json.Unmarshal(m.p.State, &state); err != nil {
		return err
	}
	m.c.State = state
	return nil
}

// follow goes where a step said, and on from there, until a question is open or
// the flow has ended. The state that it returns is the one at the end.
func (m *move[S]) follow(next Next, err error) (*Position, S, error) {
	var zero S
	for range maxHops {
		switch {
		case err != nil:
		case next.kind == nextWait:
			m.p.Step, m.p.Shape, m.p.Due = m.s.id, m.f.shape(), m.due()
			return &m.p, m.c.State, nil
		case next.kind == nextEnd:
			return nil, m.c.State, nil
		case next.kind == nextGoto:
			next, err = m.enter(next.step)
			continue
		case next.kind == nextReject:
			next, err = m.reject(next)
			continue
		case next.kind == nextHuman:
			m.c.calls = true
			next = waits
			continue
		case next.kind == nextFail && next.err != nil:
			err = next.err
		case next.kind == nextFail:
			err = errors.New("failed without an error")
		case next.kind == nextAccept:
			err = errors.New("Accept is for OnStale alone")
		default:
			err = errors.New("the handler returned no way on")
		}
		return nil, zero, m.fail(err)
	}
	return nil, zero, m.fail(fmt.Errorf("%d steps without a question", maxHops))
}

func (m *move[S]) fail(err error) error {
	if m.s == nil {
		return fmt.Errorf("flow %s: %w", m.f.name, err)
	}
	return fmt.Errorf("flow %s at step %q: %w", m.f.name, m.s.id, err)
}

// enter begins a step; what it asks carries this record.
func (m *move[S]) enter(id string) (Next, error) {
	s := m.f.steps[id]
	if s == nil {
		return Next{}, fmt.Errorf("goto %q, which is not a step", id)
	}
	state, err := json.Marshal(m.c.State)
	if err != nil {
		return Next{}, fmt.Errorf("encoding the state for step %q: %w", id, err)
	}
	m.s = s
	m.p = Position{Flow: m.f.name, Step: id, State: state, Asked: m.c.run.Record.Seq, Trail: m.trail}
	m.c.path = append(m.c.path, m.f.name+"/"+id)
	m.settle()
	return s.body.enter(m.c, &m.p)
}

// again asks the open question with a hint, and drops changes of the state.
func (m *move[S]) again(hint string) (Next, error) {
	if err := m.restore(); err != nil {
		return Next{}, err
	}
	return m.s.body.again(m.c, &m.p, hint)
}

// reject counts a bad answer, and asks again as long as its question has tries.
func (m *move[S]) reject(bad Next) (Next, error) {
	m.p.Tries++
	if bound := max(m.s.tries, bad.tries); bound == 0 || m.p.Tries < bound || m.f.giveUp == nil {
		return m.again(bad.hint)
	}
	m.p.Tries = 0
	if err := m.restore(); err != nil {
		return Next{}, err
	}
	next := m.f.giveUp(m.c, Step[S](m.s.id))
	if next.kind == nextReject {
		return m.again(next.hint)
	}
	return next, nil
}
