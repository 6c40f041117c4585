package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/botmesh-go/botmesh"
)

// ErrWait is what [Await] returns when it has asked its question: the script
// returns it, and runs again when the answer is there.
var ErrWait = errors.New("flow: the script waits for an answer")

// errDiverged stops a script that asks another question than the one whose answer
// is recorded.
var errDiverged = errors.New("flow: the script asks another question than it did")

// Talk is one run of a script step, of a flow whose state is S.
type Talk[S any] struct {
	*C[S]
	script *script
}

// Script adds a step that asks several questions in straight-line code:
//
//	flow.Script(f, Details, func(c *flow.Talk[Order]) (flow.Next, error) {
//		n, err := flow.Await(c, "quantity", ask.Int().Range(1, 99), "How many?")
//		if err != nil {
//			return flow.Next{}, err
//		}
//		quote, err := flow.Do(c, "quote", shop.Quote(n))
//		…
//	})
//
// A script that waits is no goroutine. For each answer it runs again from its
// start, from the state it began with; what it awaited and did before comes out of
// its record at once, and what it said before is not said again. So it must come to
// the same question each time: clocks, random numbers and I/O belong into [Do].
//
// If a later build asks another question than the one that is recorded, or ends
// before the one that is open, the step begins anew, its answers forgotten. If only
// the open question is another, the reply is tried with it. When the step ends, its
// answers are gone: what is to stay goes into the state.
func Script[S any](f *Flow[S], id Step[S], script func(c *Talk[S]) (Next, error), opts ...StepOption) {
	var asks stepOptions
	for _, opt := range opts {
		opt.applyStep(&asks)
	}
	kind := append([]string{"script"}, slices.Sorted(slices.Values(asks.asks))...)
	f.add(id, kind, opts, func(o *stepOptions) body[S] {
		return &scriptStep[S]{f: f, id: id, options: o, run: script}
	})
}

// scriptStep is the body of a step that is a script.
type scriptStep[S any] struct {
	f       *Flow[S]
	id      Step[S]
	options *stepOptions
	run     func(c *Talk[S]) (Next, error)
}

func (b *scriptStep[S]) enter(c *C[S], p *Position) (Next, error) {
	return b.play(c, p, b.script(*p))
}

func (b *scriptStep[S]) answer(c *C[S], p *Position, m botmesh.Message) (Next, error) {
	s := b.script(*p)
	s.reply = &m
	c.muted = true
	return b.play(c, p, s)
}

func (b *scriptStep[S]) again(c *C[S], p *Position, hint string) (Next, error) {
	s := b.script(*p)
	s.hint = hint
	c.muted = true
	return b.play(c, p, s)
}

func (b *scriptStep[S]) script(p Position) *script {
	return &script{id: string(b.id), options: b.options, past: p, bounded: b.f.giveUp != nil, done: map[string]json.RawMessage{}}
}

// play runs the script, and leaves in p where it waits.
func (b *scriptStep[S]) play(c *C[S], p *Position, s *script) (Next, error) {
	s.turn, c.doing.script = c.Turn, s
	next, err := b.run(&Talk[S]{C: c, script: s})
	c.doing.script = nil
	again := c.muted // it has not come to the question that was open
	c.muted = false
	switch {
	case errors.Is(s.stopped, errDiverged), again && s.stopped == nil && err == nil:
		return b.restart(c, p)
	case s.stopped != nil && (!errors.Is(err, s.stopped) || len(c.sends) > s.said):
		return Next{}, fmt.Errorf("the script went on after an error, which it must return: %w", s.stopped)
	case s.stopped == ErrWait && s.bad != nil:
		p.Done = s.done // with what a later build has added to it
		return *s.bad, nil
	case s.stopped == ErrWait:
		p.Heard, p.Done, p.Asked, p.Tries, p.Wait = s.heard, s.done, s.asked, s.tries, s.wait
		return waits, nil
	case err != nil:
		return Next{}, err
	}
	return anew(c, b.id, next), nil
}

// restart runs the script from its start, without a record of what it did.
func (b *scriptStep[S]) restart(c *C[S], p *Position) (Next, error) {
	var state S
	if err := json.Unmarshal(p.State, &state); err != nil {
		return Next{}, err
	}
	c.State = state
	*p = Position{Flow: p.Flow, Step: string(b.id), State: p.State, Asked: c.run.Record.Seq, Trail: p.Trail}
	return b.enter(c, p)
}

// script is what one run of a script step has heard and done, of any types.
type script struct {
	id      string
	turn    *Turn
	options *stepOptions
	bounded bool     // the flow has an OnGiveUp
	past    Position // where it waited; what is recorded there comes back
	reply   *botmesh.Message
	hint    string // to ask the open question again with

	heard []Heard
	done  map[string]json.RawMessage
	calls map[string]int // of Do since the last answer, by name

	stopped error // why it must return
	said    int   // messages of the turn, when it was stopped
	bad     *Next // the rejection of the reply
	// The question that is open now.
	asked uint64
	tries int
	wait  string
}

// Await asks a question and returns its answer. Until there is one it returns
// [ErrWait], which the script must return too.
//
// The name tells the questions of the step apart; a later build knows by it, and by
// the kind of answer, what was asked. T must survive encoding; see [Schema]. Of the
// options, Hint and Tries are for one question.
func Await[S, T any](c *Talk[S], name string, q Question[T], prompt string, opts ...StepOption) (T, error) {
	var answer T
	s := c.script
	if s.stopped != nil {
		return answer, s.stopped
	}
	o := stepOptions{hint: s.options.hint, tries: s.options.tries}
	for _, opt := range opts {
		opt.applyStep(&o)
	}
	if err := s.check(name, o, keepable(reflect.TypeFor[T]()), checkQuestion(q)); err != nil {
		return answer, c.stop(fmt.Errorf("await %q: %w", name, err))
	}
	raw, err := s.recorded(name, q.Spec())
	switch {
	case err != nil, raw != nil && json.Unmarshal(raw, &answer) != nil:
		return answer, c.stop(errDiverged)
	case raw != nil:
		s.hear(name, q.Spec(), raw)
		return answer, nil
	}
	c.muted = false
	buttons := q.Buttons()
	if m := s.reply; m != nil {
		s.reply = nil
		if answer, err = q.Parse(c.unlabel(*m, buttons)); err == nil {
			if raw, err = json.Marshal(answer); err != nil {
				return answer, c.stop(fmt.Errorf("await %q: encoding the answer: %w", name, err))
			}
			s.hear(name, q.Spec(), raw)
			return answer, nil
		}
		var more *More
		switch known := s.open(name, q.Spec()); {
		case errors.As(err, &more):
			buttons = more.Buttons
		case known:
			s.bad = &Next{kind: nextReject, hint: c.hint(&o, err), tries: o.tries}
			return answer, c.stop(ErrWait)
		}
	}
	s.ask(name, q.Spec(), prompt, buttons)
	return answer, c.stop(ErrWait)
}

// check says why a question can not be asked.
func (s *script) check(name string, o stepOptions, errs ...error) error {
	if len(s.options.asks) > 0 && !slices.Contains(s.options.asks, name) {
		errs = append(errs, fmt.Errorf("the step declares only %q", s.options.asks))
	}
	if o.tries < 0 || o.tries > 0 && !s.bounded {
		errs = append(errs, fmt.Errorf("%d tries, and OnGiveUp is set: %t", o.tries, s.bounded))
	}
	return errors.Join(errs...)
}

// recorded is the answer to the next question, nil if there is none yet. The error is
// errDiverged if it was another question.
func (s *script) recorded(name, spec string) (json.RawMessage, error) {
	n := len(s.heard)
	if n >= len(s.past.Heard) {
		return nil, nil
	}
	if h := s.past.Heard[n]; h.Ask == name && h.Kind == fingerprint(spec) {
		return h.Value, nil
	}
	return nil, errDiverged
}

// hear records an answer.
func (s *script) hear(name, spec string, raw json.RawMessage) {
	s.heard = append(s.heard, Heard{name, fingerprint(spec), raw})
	s.calls = nil
}

// open reports whether the question is the one that was open when the run began.
func (s *script) open(name, spec string) bool {
	return len(s.heard) == len(s.past.Heard) && s.past.Wait == fingerprint(s.past.Step, name, spec)
}

// ask asks a question, with a hint if it was open before.
func (s *script) ask(name, spec, prompt string, buttons [][]botmesh.Button) {
	s.wait = fingerprint(s.id, name, spec)
	s.asked = s.turn.run.Record.Seq
	hint := ""
	if s.open(name, spec) {
		hint, s.asked, s.tries = s.hint, s.past.Asked, s.past.Tries
	}
	s.turn.ask(s.turn.T(prompt), hint, buttons, s.asked)
}

// doName names a call of Do within the step: by the answers before it, its name and
// how many of that name came since the last answer.
func (s *script) doName(name string) string {
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	n := s.calls[name]
	s.calls[name]++
	return fmt.Sprintf("%d.%s.%d", len(s.heard), name, n)
}

// unheard is p without the last answer of its script. What was done with that answer
// is forgotten when the script has run again without it.
func (p Position) unheard() Position {
	n := len(p.Heard) - 1
	p.Heard = p.Heard[:n:n]
	p.Wait = ""
	return p
}
