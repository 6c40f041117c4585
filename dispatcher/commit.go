package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// maxEffects bounds the letter that a checkpoint carries, in bytes of JSON.
const maxEffects = 256 << 10

// maxCheckpoint bounds a checkpoint that a run makes, in bytes. It is as much below
// the largest message of a server, 1 MiB, as it takes to note later that a run
// failed, a replica died or a record was set aside.
const maxCheckpoint = 1<<20 - 16<<10

// maxError bounds the error text that a checkpoint carries, in bytes.
const maxError = 1 << 10

// apply commits what a run of r decided, for more records behind it too, and flushes it. A crash before the write
// leaves the record to be run again; one after it leaves effects that the next
// holder, or whoever gets the nudge, flushes.
func (h *hold) apply(ctx context.Context, r botmesh.Record, more []botmesh.Record, o botmesh.Outcome) error {
	next := h.past(r, more...)
	if next.State, next.By, next.Trace = o.State, "", nil; len(o.State) > 0 {
		next.By, next.Trace = h.d.cfg.Coordinator.Incarnation(), telemetry.Inject(ctx)
	}
	if len(o.Sends) > 0 {
		letter, err := h.letter(ctx, r, botmesh.LetterID(h.chat, r.Epoch, r.Seq), o.Sends)
		if err != nil {
			return &failedError{err}
		}
		next.Effects, h.sent = letter, true
	}
	if r.Resume != nil {
		thaw(&next, *r.Resume)
	}
	if err := setTimers(ctx, &next, r, o); err != nil {
		return &failedError{err}
	}
	if err := h.setCommands(ctx, &next, r, o.Commands); err != nil {
		return &failedError{err}
	}
	if err := h.setUser(ctx, &next, r, o.User); err != nil {
		return err
	}
	if err := h.failIfTooLarge(h.commit(ctx, next, maxCheckpoint)); err != nil {
		return err
	}
	return h.confirm(ctx)
}

// letter makes the effects that hold one letter, which r caused.
func (h *hold) letter(ctx context.Context, r botmesh.Record, id string, sends []botmesh.Send) (_ *checkpoint.Effects, err error) {
	defer func() {
		if p := recover(); p != nil { // a provider's Split must not end the process
			err = fmt.Errorf("cut the sends: %w", panicked(p))
		}
	}()
	var given int
	for _, s := range sends {
		given += size(s)
	}
	if given > maxEffects { // before it is cut, which takes as long as it is
		return nil, tooLarge(given)
	}
	now := time.Now()
	letter, err := h.d.cfg.Outbox.Letter(id, h.chat, sends, now, telemetry.Inject(ctx))
	if err != nil {
		return nil, err
	}
	letter.By, letter.Fence = h.d.cfg.Coordinator.Incarnation(), h.fence
	if !r.PutBack() {
		letter.Heard = heard(h.cp, r)
	}
	var n int
	for _, p := range letter.Parts {
		n += len(p.ID) + size(p.Send)
	}
	if n > maxEffects {
		return nil, tooLarge(n)
	}
	return &checkpoint.Effects{At: now, Letter: &letter}, nil
}

func tooLarge(n int) error {
	return fmt.Errorf("%w: the sends of one record are about %d bytes, want at most %d", botmesh.ErrTooLarge, n, maxEffects)
}

// size is about how long a send is when encoded.
func size(s botmesh.Send) int {
	n := len(s.Text) + 64
	for _, span := range s.Spans {
		n += len(span.URL) + 64
	}
	if m := s.Media; m != nil {
		n += len(m.Ref) + len(m.URL) + len(m.Name) + len(m.Type) + 64
	}
	for _, row := range s.Buttons {
		for _, b := range row {
			n += len(b.Label) + len(b.Payload) + 32
		}
	}
	return n
}

// past returns the checkpoint with its cursor after r and more records behind it, and
// nothing left of r's tries.
func (h *hold) past(r botmesh.Record, more ...botmesh.Record) checkpoint.Checkpoint {
	next := h.cp
	next.Timers = withoutTimer(next.Timers, r.Timer)
	next.During, next.Tries, next.Claim, next.Effects = nil, nil, nil, nil
	for _, r := range append([]botmesh.Record{r}, more...) {
		next.Heard = heard(next, r)
		next.Cursor, next.CursorAt = r.Seq, r.Stored
		if r.ID != "" {
			next.Recent = next.Recent.With(r.ID)
		}
	}
	return next
}

// heard is where the last record of the chat's user is, up to r. What an operator has run
// again was heard before, and who opts out or in has not written to the bot.
func heard(cp checkpoint.Checkpoint, r botmesh.Record) string {
	switch r.Type {
	case botmesh.TypeTimer, botmesh.TypeCommand, botmesh.TypeEvent, botmesh.TypeOptOut, botmesh.TypeOptIn:
		return cp.Heard
	}
	if r.PutBack() || r.User == "" {
		return cp.Heard
	}
	return fmt.Sprintf("%s.%d", r.Epoch, r.Seq)
}

// commit writes a checkpoint that moved its cursor. If it holds no conversation
// it goes when nothing can refer to it any more: its records and letters are
// gone by then, and effects of that age count as flushed.
func (h *hold) commit(ctx context.Context, next checkpoint.Checkpoint, limit int) error {
	var ttl time.Duration
	if len(next.State)+len(next.Timers) == 0 {
		ttl = 2 * h.d.cfg.Retention
	}
	return h.write(ctx, next, ttl, limit)
}

// skip passes a record that has no effect. The cursor moves in memory, and in
// the store with the next write.
func (h *hold) skip(r botmesh.Record, more ...botmesh.Record) error {
	next := h.past(r, more...)
	if h.cp.During != nil || h.cp.Tries != nil || h.cp.Claim != nil {
		return h.commit(h.ctx, next, math.MaxInt)
	}
	next.Effects = h.cp.Effects
	h.cp = next
	if h.lazy++; h.lazy >= lazyCursor {
		return h.writeCursor()
	}
	return nil
}

// writeCursor stores a cursor that moved in memory only.
func (h *hold) writeCursor() error {
	if h.lazy == 0 {
		return nil
	}
	next := h.cp
	next.Effects = nil
	return h.commit(h.ctx, next, math.MaxInt)
}

// setRecordAside moves the chat past a record that can not be applied. The dead
// letter is an effect of the commit, so that it is neither lost nor doubled.
func (h *hold) setRecordAside(r botmesh.Record, tries int, cause error) error {
	next := h.past(r)
	next.Effects = &checkpoint.Effects{At: time.Now(), Dead: &checkpoint.Dead{
		Seq: r.Seq, Epoch: r.Epoch, Tries: tries, Error: shorten(cause.Error()),
	}}
	if r.Resume != nil {
		thaw(&next, *r.Resume)
	}
	ctx := telemetry.Extract(h.ctx, r.Trace)
	h.d.log.ErrorContext(ctx, "record set aside", "chat", h.chat, "seq", r.Seq, "attempt", tries, "err", firstLine(cause))
	if err := h.commit(ctx, next, math.MaxInt); err != nil {
		return err
	}
	return h.confirm(ctx)
}

// setAside puts a dead letter of this chat into its stream. A repetition is done at once.
func (l *lane) setAside(ctx context.Context, dead checkpoint.Dead) error {
	return l.d.cfg.Journal.SetAside(ctx, journal.Dead{
		Chat: l.chat, Epoch: dead.Epoch, Seq: dead.Seq, Tries: dead.Tries, Error: dead.Error,
	})
}

// noteTry stores that a run failed, and when the record may be run again,
// wherever that is.
func (h *hold) noteTry(r botmesh.Record, tries checkpoint.Tries, cause error) error {
	tries.N++
	tries.Stranded = time.Time{}
	wait := h.d.cfg.Backoff << (tries.N - 1)
	tries.NotBefore, tries.Error = time.Now().Add(wait), shorten(cause.Error())
	ctx := telemetry.Extract(h.ctx, tries.Trace)
	h.d.log.WarnContext(ctx, "run failed, will be tried again", "chat", h.chat, "seq", r.Seq, "attempt", tries.N, "after", wait, "err", firstLine(cause))
	telemetry.TurnRetries.Add(ctx, 1)
	next := h.cp
	next.Tries, next.Effects = &tries, nil
	if next.Claim != nil && (next.Claim.Alone || !h.blind()) {
		next.Claim = nil // it ended, whatever becomes of this process while it waits
	}
	return h.write(ctx, next, 0, math.MaxInt)
}

// write replaces the checkpoint. It is sent only when every effect of the one it
// replaces is confirmed, and not by a replica that knows its turn is lost.
//
// botmesh.ErrConflict: another replica wrote. botmesh.ErrTooLarge: over limit, in
// bytes, or over what the store takes. botmesh.ErrUnknown: the turn ended before
// the answer; who holds the chat next finds out.
func (h *hold) write(ctx context.Context, next checkpoint.Checkpoint, ttl time.Duration, limit int) error {
	if err := h.confirm(h.ctx); err != nil {
		return err
	}
	if h.turn.Context().Err() != nil {
		return context.Cause(h.turn.Context())
	}
	next.Chat, next.Fence, next.Deploy = h.chat, h.fence, max(h.d.cfg.Deploy, h.cp.Deploy)
	next.Epoch, next.Out, next.OutEpoch = h.d.cfg.Journal.Epoch(), h.out, h.d.cfg.Outbox.Epoch()
	value, err := next.Encode()
	if err != nil {
		return &failedError{err}
	}
	if len(value) > limit {
		return fmt.Errorf("%w: the chat's state and sends are %d bytes, want at most %d", botmesh.ErrTooLarge, len(value), limit)
	}
	ctx, span := telemetry.Tracer().Start(ctx, telemetry.SpanCheckpoint)
	defer span.End()
	nonce := h.d.nonce.next()
	// A lost turn ends the wait for an answer; a run that was cut off does not: the
	// write may be there.
	swapCtx := trace.ContextWithSpan(h.ctx, span)
	err = insist(h.ctx, func() error {
		row, err := h.d.cfg.Store.Swap(swapCtx, h.key, h.row, value, nonce, ttl)
		if err == nil {
			h.row = row
		}
		return err
	})
	switch {
	case errors.Is(err, botmesh.ErrConflict):
		telemetry.Conflicts.Add(ctx, 1, reason("superseded"))
		return err
	case err != nil:
		return err
	}
	span.SetAttributes(telemetry.KeyRevision.Int64(int64(h.row.Revision)))
	h.cp, h.committed, h.lazy = next, next.Cursor, 0
	h.own, h.flushed = true, next.Effects == nil
	return nil
}

func shorten(s string) string { return s[:min(len(s), maxError)] }

// firstLine leaves a panic's stack to the dead letter.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
