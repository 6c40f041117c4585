package flow

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// MaxBurst bounds the window of [Burst]. It is a part of the run, which must end in time.
const MaxBurst = 10 * time.Second

// BurstOption is what [Burst] returns: an option of a step, or of a whole flow.
type BurstOption interface {
	Option
	StepOption
}

// Burst makes one answer of what a user writes in quick succession: of a message and
// those that follow it, each within window of the one before. Their texts become lines of
// one, their files one list. Without it, or with a window of zero, each is an answer of
// its own, to the next question. As an option of [New] it is for every step that has none
// of its own; those of flows that it calls have theirs.
//
// The answer is handled when nothing came for the window, or something came that is no
// message: a command, a pressed button. At most [botmesh.MaxAlso] messages are taken
// in, and window is at most [MaxBurst]; under [Interrupt] those that interrupted a run are,
// too. A run that is tried again, as after one that was cut off while the user wrote and
// wrote, waits for nothing more. Nothing of it is in memory only: what was not handled is
// in the journal, and after a crash is taken in again.
func Burst(window time.Duration) BurstOption { return burst{window: window, set: true} }

// burst is how long a question waits for more of an answer. The zero burst says nothing.
type burst struct {
	window time.Duration
	set    bool
}

func (b burst) apply(o *options)         { o.burst = b }
func (b burst) applyStep(o *stepOptions) { o.burst = b }

func (b burst) wrong() bool { return b.window < 0 || b.window > MaxBurst }

// Burst is how long the open question waits for more of an answer. It reports false if
// neither the flow nor the step says so.
func (f *Flow[S]) Burst(p Position) (time.Duration, bool) {
	s := f.step(p.Step)
	if s == nil {
		return 0, false
	}
	if called, ok := s.body.(caller); ok && p.In != nil {
		if window, set := called.flow().Burst(*p.In); set {
			return window, true
		}
	}
	if s.burst.set {
		return s.burst.window, true
	}
	return f.options.burst.window, f.options.burst.set
}

// looks is how often the journal is looked at within the window of a burst: a message
// that came to another worker is noticed so.
const looks = 4

// Gather takes the messages that come after the turn's own and that joins is true of into
// it, until nothing came for window or something came that does not join. What the
// function of [Turn.Before] drops is dropped. It is for those who run bots, and called
// before any handler. Where nobody can tell what comes meanwhile it does nothing.
//
// The error is the cause of the context's end.
func (t *Turn) Gather(window time.Duration, joins func(botmesh.Record) bool) error {
	var also []botmesh.Record
	for _, r := range t.run.Also { // what interrupted an earlier run
		if joins(r) {
			join(&t.run.Record.Message, r.Message)
		} else {
			also = append(also, r)
		}
	}
	t.run.Also = also
	source, ok := t.midway.(botmesh.Meanwhile)
	if !ok {
		return nil
	}
	patience, wait := looks, window/looks
	if t.run.Try > 1 { // as when it was cut off while it waited: it takes in what is there
		patience, wait = 1, min(wait, time.Second)
	}
	for quiet := 0; quiet < patience; {
		r, err := nextWithin(t.ctx, source, wait)
		switch {
		case t.ctx.Err() != nil:
			return context.Cause(t.ctx)
		case errors.Is(err, context.DeadlineExceeded):
			quiet++
			continue
		case err != nil:
			return nil // nobody can tell
		}
		heard := r
		err = t.listening.change(&heard)
		switch {
		case errors.Is(err, ErrDropped):
			continue
		case err != nil || !joins(heard):
			t.listening.first = &r
			return nil
		}
		join(&t.run.Record.Message, heard.Message)
		t.listening.through, quiet = r.Seq, 0
	}
	return nil
}

// nextWithin is the next message, if it comes in time.
func nextWithin(ctx context.Context, source botmesh.Meanwhile, wait time.Duration) (botmesh.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return source.Next(ctx)
}

// join adds to m what the user said right after it.
func join(m *botmesh.Message, more botmesh.Message) {
	if more.Text != "" {
		m.Text = strings.TrimPrefix(m.Text+"\n"+more.Text, "\n")
	}
	m.Media = append(m.Media[:len(m.Media):len(m.Media)], more.Media...)
	if m.Location == nil {
		m.Location = more.Location
	}
	if m.Contact == nil {
		m.Contact = more.Contact
	}
	m.Unsupported = m.Unsupported || more.Unsupported
}
