package flow

import (
	"context"
	"errors"
	"sync"

	"github.com/botmesh-go/botmesh"
)

// Policy says what becomes of a message that comes while a handler runs.
type Policy int

// The policies. Under Join and Interrupt a command waits for the end of the run, and so
// does what comes behind it; but /cancel ends the run, which has no effect then.
const (
	// Queue lets it wait for the end of the run.
	Queue Policy = iota
	// Join hands it to the handler, through [Turn.Incoming].
	Join
	// Interrupt ends the handler's context with botmesh.ErrInterrupted and begins anew:
	// the handler runs again, for the same message, and finds the new one in
	// [Turn.Also]. Of the run that was interrupted nothing takes effect but what it sent
	// with SendNow, which is not sent again, and the results of [Do].
	Interrupt
)

// Meanwhile sets the policy of all handlers of the flow. A handler may change it, see
// [Turn.Meanwhile].
func Meanwhile(p Policy) Option {
	return optionFunc(func(o *options) { o.meanwhile = p })
}

// Meanwhile sets the policy from here to the end of the run. A handler that asks a model
// and then books a room lets itself be interrupted up to there:
//
//	c.Meanwhile(flow.Interrupt)
//	plan, err := model.Plan(c.Context(), c.Text(), c.Also())
//	…
//	c.Meanwhile(flow.Queue)
//
// Where nobody can tell what comes meanwhile, as in tests, all of them are Queue. So is
// Interrupt in a turn in which a live conversation runs or ran, of [NewLive], which would be
// lost.
func (t *Turn) Meanwhile(p Policy) {
	if t.live && p == Interrupt {
		p = Queue
	}
	t.listening.mu.Lock()
	defer t.listening.mu.Unlock()
	t.listening.policy = p
	source, ok := t.midway.(botmesh.Meanwhile)
	if !ok || p == Queue || t.listening.done != nil {
		return
	}
	ctx, stop := context.WithCancel(t.ctx)
	t.listening.stop, t.listening.done = stop, make(chan struct{})
	go t.listening.listen(ctx, source)
}

// listen sets the policy of the flow, if it has one.
func (m *move[S]) listen() {
	if m.f.meanwhile != Queue {
		m.c.Meanwhile(m.f.meanwhile)
	}
}

// Also are the messages that interrupted earlier runs of this record, in order.
func (t *Turn) Also() []botmesh.Message {
	var all []botmesh.Message
	for _, r := range t.run.Also {
		all = append(all, r.Message)
	}
	return all
}

// Incoming hands out the messages that come while the handler runs, under [Join]. What
// the handler has received it has dealt with; what it has not runs after it.
func (t *Turn) Incoming() <-chan botmesh.Message { return t.listening.incoming }

// Hold makes the messages of which holds is true wait under every policy, with what is
// behind them; those of which ends is true end the run. It is for those who run bots,
// and called before any handler.
func (t *Turn) Hold(holds, ends func(botmesh.Record) bool) {
	t.listening.holds, t.listening.ends = holds, ends
}

// Heard ends what [Turn.Meanwhile] began and returns the sequence of the last message
// that a handler received or [Turn.Gather] took in, zero if there is none.
func (t *Turn) Heard() uint64 {
	l := t.listening
	l.mu.Lock()
	stop, done := l.stop, l.done
	l.mu.Unlock()
	if done != nil {
		stop()
		<-done
	}
	return l.through
}

// listening takes in what comes while handlers run.
type listening struct {
	incoming    chan botmesh.Message
	holds, ends func(botmesh.Record) bool
	change      func(*botmesh.Record) error // before anything else looks at a message

	mu     sync.Mutex
	policy Policy
	stop   context.CancelFunc
	done   chan struct{} // closed when listen has ended; nil before it has begun

	first   *botmesh.Record // that Gather was given and did not take in
	through uint64          // of listen, from its begin until done
}

func newListening() *listening {
	never := func(botmesh.Record) bool { return false }
	return &listening{
		incoming: make(chan botmesh.Message), holds: never, ends: never,
		change: func(*botmesh.Record) error { return nil },
	}
}

// next is the next message.
func (l *listening) next(ctx context.Context, source botmesh.Meanwhile) (botmesh.Record, error) {
	if r := l.first; r != nil {
		l.first = nil
		return *r, nil
	}
	return source.Next(ctx)
}

// listen ends with ctx, which the run's end ends too.
func (l *listening) listen(ctx context.Context, source botmesh.Meanwhile) {
	defer close(l.done)
	for {
		r, err := l.next(ctx, source)
		if err != nil {
			return
		}
		l.mu.Lock()
		policy := l.policy
		l.mu.Unlock()
		if policy == Queue {
			return // it waits, and so does all behind it
		}
		switch err := l.change(&r); {
		case errors.Is(err, ErrDropped):
			continue
		case err != nil:
			return // it fails, or is answered, in a run of its own
		}
		switch {
		case l.ends(r), policy == Interrupt && !l.holds(r):
			_ = source.Interrupt(ctx) // if it can not be, the message waits
			return
		case l.holds(r):
			return
		}
		select {
		case l.incoming <- r.Message:
			l.through = r.Seq
		case <-ctx.Done():
			return
		}
	}
}
