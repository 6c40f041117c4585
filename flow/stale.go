package flow

import (
	"time"

	"github.com/botmesh-go/botmesh"
)

// Stale reports whether the message, or press, was sent longer before it was first run
// than the bot or its deployment calls late: bot.Stale, bot.StaleAfter,
// BOTMESH_STALE_AFTER. It goes by the platform's time and is false without one, where
// nobody says what is late, and for what an operator puts back. Runs of one record that
// keep something agree on it.
func (t *Turn) Stale() bool { return t.doing.stale }

// SetStale decides for the turn what [Turn.Stale] reports: whether its message was sent
// longer than after ago, zero for never. It is for those who run bots. The error is that
// of what earlier runs kept, which can not be read.
func (t *Turn) SetStale(after time.Duration) error {
	if after <= 0 {
		return nil
	}
	r := t.run.Record
	switch {
	case r.Type != botmesh.TypeMessage && r.Type != botmesh.TypeCallback, r.PutBack(), r.SentAt.IsZero():
		return nil
	case t.run.Kept != nil: // goes on as what it was when it was kept
		return t.doing.read(t.run.Kept)
	}
	t.doing.stale = t.run.Now.Sub(r.SentAt) > after
	return nil
}

// OnStale decides what a message does that is [Turn.Stale] while the flow waits for an
// answer: Accept takes it for the answer, Reject asks again, Goto and End lead on. It
// goes before what the bot does with such messages; commands and buttons of earlier
// questions are the bot's. Without it they are answers like any others, unless the bot
// has a handler for them.
//
// Of flows that call each other the innermost that has one decides.
func (f *Flow[S]) OnStale(handler func(c *C[S]) Next) {
	if f.late != nil {
		f.fault("OnStale is set twice")
	}
	f.late = handler
}

// Accept takes a message for the answer to the open question. It is for [Flow.OnStale].
func (c *C[S]) Accept() Next { return Next{kind: nextAccept} }

// TakesStale reports whether the flow, or one that it called and that waits, has OnStale.
func (f *Flow[S]) TakesStale(p Position) bool { return f.late != nil || f.within(p) }

// within reports whether a flow that this one called has OnStale.
func (f *Flow[S]) within(p Position) bool {
	s := f.step(p.Step)
	if s == nil || p.In == nil {
		return false
	}
	called, ok := s.body.(caller)
	return ok && called.flow().TakesStale(*p.In)
}

// take takes the turn's record for the answer, unless OnStale has another way on.
func (m *move[S]) take() (Next, error) {
	if m.c.Stale() && m.f.late != nil && !m.f.within(m.p) {
		switch next := m.f.late(m.c); next.kind {
		case nextAccept:
		case nextReject:
			return m.again(next.hint)
		default:
			return next, nil
		}
	}
	return m.s.body.answer(m.c, &m.p, reply(m.c.run.Record))
}
