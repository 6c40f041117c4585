package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/limit"
)

// midway passes what a run asks for to the lane's goroutine, which alone writes
// the chat. After seal nothing passes: a run that was left behind finds its turn lost.
type midway struct {
	requests chan request
	sealed   chan struct{}
	once     sync.Once
	signs    *signs
	*limit.Limit

	// next is for the next message, until the run has it: of its goroutine.
	next chan botmesh.Record
}

type request struct {
	kept   []byte                // to keep, if it is nothing else
	send   *botmesh.Send         // to send now
	next   chan<- botmesh.Record // for the next message
	end    bool                  // to be interrupted
	user   bool                  // to read the user
	answer chan answer
}

type answer struct {
	user checkpoint.User
	err  error
}

var _ botmesh.Settler = (*midway)(nil)

func newMidway(s *signs, l *limit.Limit) *midway {
	return &midway{requests: make(chan request), sealed: make(chan struct{}), signs: s, Limit: l, next: make(chan botmesh.Record, 1)}
}

// seal ends what the run may do.
func (m *midway) seal() {
	m.once.Do(func() { close(m.sealed) })
	m.signs.shut()
}

// end is seal, and waits for what is being shown.
func (m *midway) end() {
	m.seal()
	m.signs.wait()
}

func (m *midway) ask(ctx context.Context, q request) (checkpoint.User, error) {
	q.answer = make(chan answer, 1)
	select {
	case m.requests <- q:
	case <-m.sealed:
		return checkpoint.User{}, botmesh.ErrLeaseLost
	case <-ctx.Done():
		return checkpoint.User{}, context.Cause(ctx)
	}
	a := <-q.answer // the lane always answers what it took
	return a.user, a.err
}

// Keep implements [botmesh.Midway].
func (m *midway) Keep(ctx context.Context, kept []byte) error {
	_, err := m.ask(ctx, request{kept: kept})
	return err
}

// SendNow implements [botmesh.Midway].
func (m *midway) SendNow(ctx context.Context, s botmesh.Send) error {
	_, err := m.ask(ctx, request{send: &s})
	return err
}

// User implements [botmesh.Midway].
func (m *midway) User(ctx context.Context) (map[string]json.RawMessage, error) {
	u, err := m.ask(ctx, request{user: true})
	return u.Values(), err
}

// during returns what earlier runs of a record kept.
func (h *hold) during(r botmesh.Record) checkpoint.During {
	if d := h.cp.During; d != nil && d.Record == r.Seq && d.Epoch == r.Epoch {
		return *d
	}
	return checkpoint.During{Record: r.Seq, Epoch: r.Epoch}
}

// midway does what a run asks for.
func (h *hold) midway(ctx context.Context, r botmesh.Record, q request, eager *int) (a answer) {
	if q.user {
		a.user, a.err = h.readUser(ctx, r)
	} else {
		a.err = h.commitMidway(ctx, r, q, eager)
	}
	return a
}

// commitMidway makes a commit that keeps the cursor and names the record, so that the
// record is run again against it. eager counts the sends of this run.
func (h *hold) commitMidway(ctx context.Context, r botmesh.Record, q request, eager *int) error {
	next, during := h.cp, h.during(r)
	during.User = h.user
	if q.send == nil {
		during.Kept = q.kept
		next.During, next.Effects = &during, nil
		return h.failIfTooLarge(h.write(ctx, next, 0, maxCheckpoint))
	}
	*eager++
	if *eager <= during.Eager {
		return nil // sent by an earlier run of this record, whatever it said then
	}
	letter, err := h.letter(ctx, r, botmesh.EagerLetterID(h.chat, r.Epoch, r.Seq, during.Eager), []botmesh.Send{*q.send})
	if err != nil {
		return &failedError{err}
	}
	during.Eager++
	next.During, next.Effects = &during, letter
	// A crash after this write, before the letter is in the outbox: the record is
	// run again, and whoever holds the chat flushes this checkpoint first.
	if err := h.failIfTooLarge(h.write(ctx, next, 0, maxCheckpoint)); err != nil {
		return err
	}
	return h.confirm(trace.ContextWithSpan(h.ctx, trace.SpanFromContext(ctx)))
}

// failIfTooLarge makes a write that was refused for its size a failed try of the
// record: it would be refused for ever.
func (h *hold) failIfTooLarge(err error) error {
	if errors.Is(err, botmesh.ErrTooLarge) {
		return &failedError{err}
	}
	return err
}
