package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/botmesh-go/botmesh"
)

// What [Wait] returns where there is no answer.
var (
	// ErrOver says that the conversation is over: it was cancelled, its chat went to
	// another process, a run of it did not take effect, or this process stops. Whatever
	// the function does then has no effect.
	ErrOver = errors.New("flow: the conversation is over")
	// ErrTimeUp says that the question was open for longer than [Patience]. The function
	// may say so, or ask again.
	ErrTimeUp = errors.New("flow: the question was open for too long")
	// ErrGaveUp says that there were as many answers that will not do as [Tries] allows.
	ErrGaveUp = errors.New("flow: the question had too many answers that will not do")
)

// Wait asks a question and returns its answer, in the turn of that. An answer that is not
// understood gets a hint and the question again. Of the options it takes [Hint] and [Tries].
//
// Other errors than [ErrOver], [ErrTimeUp] and [ErrGaveUp] are of a question that can not be
// asked.
func Wait[T any](c *Live, q Question[T], prompt string, opts ...StepOption) (answer T, err error) {
	if err := checkQuestion(q); err != nil {
		return answer, fmt.Errorf("flow %s: the question %q: %w", c.talk.of.name, prompt, err)
	}
	var o stepOptions
	for _, opt := range opts {
		opt.applyStep(&o)
	}
	k := c.talk
	k.asked = c.run.Record.Seq
	for tries, hint, buttons := 0, "", q.Buttons(); ; {
		m, err := k.wait(asking{prompt, fingerprint(k.of.name, q.Spec()), buttons}, hint)
		if err != nil {
			return answer, err
		}
		answer, err := q.Parse(c.unlabel(m, buttons))
		var more *More
		switch {
		case err == nil:
			return answer, nil
		case errors.As(err, &more):
			hint, buttons = "", more.Buttons
			continue
		}
		tries++
		if tries == o.tries {
			return answer, ErrGaveUp
		}
		hint = c.hint(&o, err)
	}
}

// asking is a question that is open.
type asking struct {
	prompt, wait string
	buttons      [][]botmesh.Button
}

// talk is a live conversation: a goroutine that runs only within a turn, one at a time.
type talk struct {
	of    *live
	in    *Lives // where it waits; nil if it can not
	chat  botmesh.ChatKey
	id    string
	turns uint64 // how many ended with a question
	c     *Live

	resume func() (struct{}, bool) // runs it up to its next question, false at its end
	stop   func()                  // lets the question return ErrOver
	yield  func(struct{}) bool
	over   bool

	open  asking
	asked uint64           // the record that led to the question
	reply *botmesh.Message // nil if the time is up
	idle  *time.Timer

	err     error  // that the function returned
	crashed *Crash // if it panicked
}

// Crash is what a turn panics with where a live conversation did: its stack is that of the
// goroutine which the turn ran on.
type Crash struct {
	Value any       // of the panic
	Stack string    // of the conversation
	Calls []uintptr // the same, as of runtime.Callers
}

// begin makes the conversation, which does not run yet.
func begin(of *live, t *Turn) *talk {
	k := &talk{of: of, in: t.lives, chat: t.Chat(), id: rand.Text()}
	k.c = &Live{talk: k}
	k.resume, k.stop = iter.Pull(k.run)
	return k
}

// run is the conversation's goroutine.
func (k *talk) run(yield func(struct{}) bool) {
	defer func() {
		if v := recover(); v != nil {
			calls := make([]uintptr, 64)
			k.crashed = &Crash{v, string(debug.Stack()), calls[:runtime.Callers(2, calls)]}
		}
	}()
	k.yield = yield
	k.err = k.of.converse(k.c)
}

// goOn runs the conversation in a turn, up to its next question.
func (k *talk) goOn(t *Turn, reply *botmesh.Message) (*Position, error) {
	k.c.Turn, k.reply = t, reply
	t.path = append(t.path, k.of.name)
	t.Settle(k.of.options.settle.d)
	if k.of.meanwhile != Queue {
		t.Meanwhile(k.of.meanwhile)
	}
	_, waiting := k.resume()
	switch {
	case k.crashed != nil:
		panic(k.crashed)
	case k.err != nil:
		return nil, fmt.Errorf("flow %s: %w", k.of.name, k.err)
	case !waiting:
		return nil, nil
	}
	k.turns++
	p := &Position{
		Flow: k.of.name, Asked: k.asked, Wait: k.open.wait,
		Due:  t.Now().Add(k.of.waits()).Round(0).UTC(),
		Live: &Waiting{k.id, k.turns},
	}
	k.in.park(t.ctx, k)
	return p, nil
}

// wait asks and gives the turn back until a reply is there.
func (k *talk) wait(q asking, hint string) (botmesh.Message, error) {
	if k.over {
		return botmesh.Message{}, ErrOver
	}
	k.open = q
	k.c.ask(k.c.T(q.prompt), hint, q.buttons, k.asked)
	switch {
	case !k.yield(struct{}{}):
		return botmesh.Message{}, ErrOver
	case k.reply == nil:
		return botmesh.Message{}, ErrTimeUp
	}
	return *k.reply, nil
}

// end lets the function return, in a turn without effect. It is called by whoever has taken
// the conversation out of its Lives, and returns when the function has.
func (k *talk) end() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrOver)
	k.over = true
	k.c.Turn = NewTurn(ctx, botmesh.Run{Record: botmesh.Record{Chat: k.chat}}, nowhere{})
	k.stop()
}

// nowhere is the midway of a run without effect.
type nowhere struct{}

func (nowhere) Keep(context.Context, []byte) error                       { return ErrOver }
func (nowhere) SendNow(context.Context, botmesh.Send) error              { return ErrOver }
func (nowhere) User(context.Context) (map[string]json.RawMessage, error) { return nil, ErrOver }
