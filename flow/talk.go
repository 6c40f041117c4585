package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
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
// One question is open at a time.
//
// Other errors than [ErrOver], [ErrTimeUp] and [ErrGaveUp] are of a question that can not be
// asked, or not now.
func Wait[T any](c *Live, q Question[T], prompt string, opts ...StepOption) (answer T, err error) {
	k := c.talk
	var o stepOptions
	for _, opt := range opts {
		opt.applyStep(&o)
	}
	if err := errors.Join(checkPrompt(prompt), checkQuestion(q), o.checkWait()); err != nil {
		return answer, fmt.Errorf("flow %s: a question of type %T: %w", k.of.name, q, err)
	}
	open := asking{prompt: prompt, wait: fingerprint(k.of.name, q.Spec()), buttons: q.Buttons()}
	for tries, hint := 0, ""; ; {
		m, err := k.wait(&open, hint)
		if err != nil {
			return answer, err
		}
		answer, err := q.Parse(c.unlabel(m, open.buttons))
		var more *More
		switch {
		case err == nil:
			return answer, nil
		case errors.As(err, &more):
			hint, open.buttons = "", more.Buttons
			continue
		}
		tries++
		if tries == o.tries {
			return answer, ErrGaveUp
		}
		hint = c.hint(&o, err)
	}
}

func checkPrompt(prompt string) error {
	if prompt == "" {
		return errors.New("has no prompt")
	}
	return nil
}

// checkWait says which options are not of a question that Wait asks.
func (o *stepOptions) checkWait() error {
	switch {
	case !o.timeout.isZero():
		return errors.New("has a timeout, which leads to a step: use flow.Patience of the conversation")
	case o.burst.set, o.settle.set:
		return errors.New("has a burst or a time to settle: they are options of flow.NewLive")
	case o.help != "", o.to != nil, o.was != nil, o.asks != nil:
		return errors.New("has an option of steps: flow.Wait takes flow.Hint and flow.Tries")
	case o.tries < 0:
		return fmt.Errorf("has %d tries, want more, or none for no bound", o.tries)
	}
	return nil
}

// errAtOnce refuses a second question. It is of a function that asks in several goroutines.
var errAtOnce = errors.New("flow: Wait is called while another question is open: a live conversation asks one at a time")

// asking is a question that is open.
type asking struct {
	prompt, wait string
	buttons      [][]botmesh.Button
	asked        uint64 // the record that led to it; zero before it is asked
}

// talk is a live conversation: a goroutine that runs only within a turn, one at a time.
type talk struct {
	of    *live
	in    *Lives // where it waits; nil if it can not
	chat  botmesh.ChatKey
	id    string
	turns uint64 // how many ended with a question
	c     *Live

	asks    chan struct{} // by the function, to the turn: a question is open
	answers chan struct{} // by the turn, to the function: it was answered, or the time is up
	over    chan struct{} // closed when no answer will come
	done    chan struct{} // closed when the function has returned

	waits atomic.Bool // a question is open
	open  asking
	reply *botmesh.Message // nil if the time is up
	idle  *time.Timer

	err     error  // that the function returned
	crashed *Crash // if it panicked
	exited  bool   // if it ended its goroutine
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
	k := &talk{
		of: of, in: t.lives, chat: t.Chat(), id: rand.Text(),
		asks: make(chan struct{}), answers: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
	}
	k.c = &Live{talk: k}
	return k
}

// run is the conversation's goroutine.
func (k *talk) run() {
	defer close(k.done)
	k.exited = true // until it returns
	defer func() {
		if v := recover(); v != nil {
			calls := make([]uintptr, 64)
			k.crashed = &Crash{v, string(debug.Stack()), calls[:runtime.Callers(2, calls)]}
		}
	}()
	k.err = k.of.converse(k.c)
	k.exited = false
}

// resume runs the function up to its next question, and reports false at its end.
func (k *talk) resume() (waiting bool) {
	if k.turns == 0 {
		go k.run()
	} else {
		select {
		case k.answers <- struct{}{}:
		case <-k.done: // it has left its question to another goroutine
		}
	}
	select {
	case <-k.asks:
		return true
	case <-k.done:
		return false
	}
}

// goOn runs the conversation in a turn, up to its next question.
func (k *talk) goOn(t *Turn, reply *botmesh.Message) (*Position, error) {
	k.c.Turn, k.reply = t, reply
	t.path = append(t.path, k.of.name)
	t.Settle(k.of.options.settle.d)
	t.live = true
	t.Meanwhile(k.of.meanwhile)
	waiting := k.resume()
	switch {
	case waiting:
	case k.crashed != nil:
		panic(k.crashed)
	case k.exited:
		runtime.Goexit() // as any handler would have
	case k.err != nil:
		return nil, fmt.Errorf("flow %s: %w", k.of.name, k.err)
	default:
		return nil, nil
	}
	k.turns++
	p := &Position{
		Flow: k.of.name, Asked: k.open.asked, Wait: k.open.wait,
		Due:  t.Now().Add(k.of.waits()).Round(0).UTC(),
		Live: &Waiting{k.id, k.turns},
	}
	k.in.park(t.ctx, k)
	return p, nil
}

// wait asks and gives the turn back until a reply is there.
func (k *talk) wait(q *asking, hint string) (none botmesh.Message, err error) {
	if !k.waits.CompareAndSwap(false, true) {
		return none, errAtOnce
	}
	defer k.waits.Store(false)
	select {
	case <-k.over:
		return none, ErrOver
	case <-k.done:
		return none, ErrOver
	default:
	}
	if q.asked == 0 {
		q.asked = k.c.run.Record.Seq
	}
	k.open = *q
	k.c.ask(k.c.T(q.prompt), hint, q.buttons, q.asked)
	select {
	case k.asks <- struct{}{}:
	case <-k.done:
		return none, ErrOver
	}
	select {
	case <-k.answers:
	case <-k.over:
		return none, ErrOver
	case <-k.done:
		return none, ErrOver
	}
	if k.reply == nil {
		return none, ErrTimeUp
	}
	return *k.reply, nil
}

// end lets the function return, in a turn without effect. It is called by whoever has taken
// the conversation out of its Lives, and returns when the function has.
func (k *talk) end() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrOver)
	k.c.Turn = NewTurn(ctx, botmesh.Run{Record: botmesh.Record{Chat: k.chat}}, nowhere{})
	close(k.over)
	<-k.done
}

// nowhere is the midway of a run without effect.
type nowhere struct{}

func (nowhere) Keep(context.Context, []byte) error                       { return ErrOver }
func (nowhere) SendNow(context.Context, botmesh.Send) error              { return ErrOver }
func (nowhere) User(context.Context) (map[string]json.RawMessage, error) { return nil, ErrOver }
