package natsstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// behindFor is how long a read that is older than what is already known is taken
// for the word of a deposed leader, and asked again.
const behindFor = time.Second

// Swap replaces old by value with one publish that expects old's sequence. It
// carries no message id: a cluster would answer an old one with success.
//
// An answer that was lost, and a conflict too, is settled by reading: this nonce
// is there → done; the row is another → conflict; it is unchanged → the identical
// write again, until ctx ends. Of several copies of a write one lands at most,
// since they expect the same sequence. So a ttl must be far longer than a message
// can be late on the wire.
//
// The Row that is returned has the writer's own time in Written, unless it was read.
func (s *Store) Swap(ctx context.Context, key string, old checkpoint.Row, value []byte, nonce string, ttl time.Duration) (checkpoint.Row, error) {
	subject, err := s.subject(key)
	if err != nil {
		return checkpoint.Row{}, err
	}
	w := &write{store: s, subject: subject, old: old, expect: old.Revision, value: value, nonce: nonce, ttl: ttl}
	row, err := backoff.RetryWithData(func() (checkpoint.Row, error) { return w.try(ctx) }, pauses(ctx))
	switch {
	case err == nil:
		return row, nil
	case errors.Is(err, botmesh.ErrConflict), errors.Is(err, botmesh.ErrRefused):
		return checkpoint.Row{}, fmt.Errorf("natsstore: swap %s: %w", key, err)
	default:
		return checkpoint.Row{}, fmt.Errorf("natsstore: swap %s: %w: %w", key, botmesh.ErrUnknown, err)
	}
}

// pauses are those between two looks at a write, until ctx ends.
func pauses(ctx context.Context) backoff.BackOff {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(2*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(500*time.Millisecond),
		backoff.WithMaxElapsedTime(0),
	)
	return backoff.WithContext(b, ctx)
}

// write is one Swap on its way.
type write struct {
	store   *Store
	subject string
	old     checkpoint.Row
	value   []byte
	nonce   string
	ttl     time.Duration

	expect uint64    // sequence that the next copy of the write expects
	open   bool      // a copy was sent whose answer was lost
	read   bool      // look before the next copy is sent
	behind time.Time // when a read was first older than old
}

// try sends one copy of the write, unless a look is due first, and settles what
// is not plainly done. Its error is permanent if it settles the write.
func (w *write) try(ctx context.Context) (checkpoint.Row, error) {
	if !w.read {
		p := publish(w.subject, w.value, w.nonce, w.ttl)
		p.Expect = &w.expect
		ack, err := w.store.stream.Publish(ctx, p)
		switch {
		case err == nil:
			return checkpoint.Row{Value: w.value, Revision: ack.Seq, Nonce: w.nonce, Written: time.Now()}, nil
		case errors.Is(err, botmesh.ErrUnknown):
			w.open = true
		case errors.Is(err, botmesh.ErrConflict):
		case !w.open:
			return checkpoint.Row{}, backoff.Permanent(err)
		}
		w.read = true
	}
	return w.look(ctx)
}

// look reads the row and says what it means for the write. An error that is not
// permanent carries its cause as text only: it says nothing of the write.
func (w *write) look(ctx context.Context) (checkpoint.Row, error) {
	row, last, err := w.store.read(ctx, w.subject)
	switch {
	case err != nil:
		return checkpoint.Row{}, fmt.Errorf("reading failed: %v", err)
	case row.Revision > 0 && row.Nonce == w.nonce:
		return row, nil
	case row.Revision == 0 && w.old.Revision == 0:
		// Nothing is there, as was expected; but there may be a marker now, or none any more.
		w.expect, w.read = last, false
		return checkpoint.Row{}, fmt.Errorf("not written yet, nothing is there")
	case last == w.expect && row.Nonce == w.old.Nonce:
		w.read = false
		return checkpoint.Row{}, fmt.Errorf("not written yet, the row is unchanged")
	case last < w.expect && w.stillBehind():
		return checkpoint.Row{}, fmt.Errorf("read revision %d, older than %d", last, w.expect)
	default:
		return checkpoint.Row{}, backoff.Permanent(fmt.Errorf("%w: revision is %d, want %d", botmesh.ErrConflict, last, w.expect))
	}
}

// stillBehind reports whether a read that is older than old is to be asked again.
// A row whose time passed, or a store that went back, looks the same.
func (w *write) stillBehind() bool {
	if w.behind.IsZero() {
		w.behind = time.Now()
	}
	return time.Since(w.behind) < behindFor
}
