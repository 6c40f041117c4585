package dispatcher

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/outbox"
)

var _ botmesh.Signs = (*midway)(nil)

// Typing implements [botmesh.Signs].
func (m *midway) Typing() { m.signs.want(func(s *signs) { s.typing = true }) }

// Show implements [botmesh.Signs].
func (m *midway) Show(send botmesh.Send) {
	m.signs.want(func(s *signs) {
		same := func(of botmesh.Send) bool { return of.Replaces == send.Replaces }
		if i := slices.IndexFunc(s.texts, same); i >= 0 {
			s.texts[i] = send
		} else if len(s.texts) < maxTexts {
			s.texts = append(s.texts, send)
		}
	})
}

// maxTexts bounds the messages of a run whose texts wait to be shown.
const maxTexts = 32

// nothing is how long a goroutine that gives signs waits to be woken.
const nothing = time.Hour

// signs give the signs of one run, in a goroutine that begins with the first one and is
// waited for before the run's commit: no text that was to be seen in between can come after
// the last one. Nothing is written: a crash leaves what the user saw, which the last text
// of a later run replaces.
type signs struct {
	ctx      context.Context // the run's
	turn     context.Context
	delivery *outbox.Delivery
	record   botmesh.Record

	mu     sync.Mutex
	over   bool
	typing bool
	texts  []botmesh.Send // the newest of each message, the one that waits longest first
	wake   chan struct{}
	stop   context.CancelFunc
	done   chan struct{} // nil until the goroutine begins

	// Of the goroutine: when the next call is worth making, and the messages of which
	// none ever is.
	showAt, typeAt time.Time
	never          map[int]bool
}

func (h *hold) newSigns(ctx context.Context, r botmesh.Record) *signs {
	return &signs{ctx: ctx, turn: h.ctx, delivery: h.delivery, record: r, wake: make(chan struct{}, 1), never: map[int]bool{}}
}

// want notes that a sign is wanted.
func (s *signs) want(note func(*signs)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return
	}
	note(s)
	if s.done == nil {
		var ctx context.Context
		ctx, s.stop = context.WithCancel(s.ctx)
		s.done = make(chan struct{})
		go s.give(ctx)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// shut has no further sign given.
func (s *signs) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.done != nil {
		s.stop()
	}
}

// wait waits, after shut, for a text that is being shown, which takes at most a third of a
// lease: one that is cut off could be seen after the last one. Only the end of the turn does
// that.
func (s *signs) wait() {
	if s.done != nil {
		<-s.done
	}
}

// give gives signs until ctx ends.
func (s *signs) give(ctx context.Context) {
	defer close(s.done)
	timer := time.NewTimer(nothing)
	defer timer.Stop()
	for {
		timer.Reset(min(s.show(ctx), s.work(ctx)))
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// show shows a text if one is wanted and it is time, and returns when to look again.
func (s *signs) show(ctx context.Context) time.Duration {
	send, ok := s.text()
	if !ok {
		return nothing
	}
	wait := time.Until(s.showAt)
	if wait <= 0 && ctx.Err() == nil {
		var shown bool
		l := botmesh.Letter{ID: botmesh.LetterID(s.record.Chat, s.record.Epoch, s.record.Seq)}
		wait, shown = s.delivery.Show(s.turn, l.Replaced(botmesh.Part{Send: send}), send)
		s.showAt, s.never[send.Replaces] = time.Now().Add(wait), wait == 0
		if shown || wait == 0 {
			s.showed(send)
		}
	}
	return wait
}

// text is the text that waits longest.
func (s *signs) text() (botmesh.Send, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = slices.DeleteFunc(s.texts, func(of botmesh.Send) bool { return s.never[of.Replaces] })
	if len(s.texts) == 0 {
		return botmesh.Send{}, false
	}
	return s.texts[0], true
}

// showed takes a text from the front, and puts a newer one of its message behind the others.
func (s *signs) showed(send botmesh.Send) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.texts[0]
	s.texts = s.texts[1:]
	if newest.Text != send.Text {
		s.texts = append(s.texts, newest)
	}
}

// work shows that the bot is at work if that is wanted and it is time, and returns when
// to look again.
func (s *signs) work(ctx context.Context) time.Duration {
	s.mu.Lock()
	typing := s.typing
	s.mu.Unlock()
	if !typing {
		return nothing
	}
	wait := time.Until(s.typeAt)
	if wait <= 0 && ctx.Err() == nil {
		if wait, _ = s.delivery.Typing(ctx, s.record.Message.MessageID); wait == 0 {
			wait = nothing
		}
		s.typeAt = time.Now().Add(wait)
	}
	return wait
}
