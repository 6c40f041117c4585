package workerd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

const (
	// waitingPage is how many records are looked at together, and waitingAtOnce how many
	// chats at once.
	waitingPage   = 500
	waitingAtOnce = 8
	// waitingTime bounds one look. What is left is looked at by the next one.
	waitingTime = 10 * time.Second
)

// errFar says that a look came to no end.
var errFar = errors.New("workerd: there is more than was looked at")

// waiting finds the oldest record that is not settled, but for chats that are paused. While
// none is, the journal knows it. Else each record that came since the first of a paused chat
// is looked at, once: a read or three of its chat.
type waiting struct {
	journal *journal.Journal
	store   checkpoint.Store
	outbox  *outbox.Outbox
	pauses  *acts.Pauses

	// from is the sequence before which all is settled but for the chats in skipped, which
	// were paused, each with its first record.
	from    uint64
	skipped map[botmesh.ChatKey]uint64
}

// oldest is when that record was journaled, zero if there is none.
func (w *waiting) oldest(ctx context.Context) (time.Time, error) {
	b, err := w.journal.Backlog(ctx)
	if err != nil || b.Oldest.IsZero() {
		return time.Time{}, err
	}
	if len(w.pauses.Paused()) == 0 {
		w.from, w.skipped = 0, nil
		return b.Oldest, nil
	}
	for chat, seq := range w.skipped {
		if !w.pauses.Known(chat).On {
			w.from = min(w.from, seq)
			delete(w.skipped, chat)
		}
	}
	w.from = max(w.from, b.Floor+1)
	ctx, cancel := context.WithTimeoutCause(ctx, waitingTime, errFar)
	defer cancel()
	for ctx.Err() == nil {
		entries, err := w.journal.List(ctx, journal.Filter{From: w.from, Limit: waitingPage})
		if err != nil {
			return time.Time{}, err
		}
		since, err := w.first(ctx, entries)
		if err != nil || !since.IsZero() || len(entries) < waitingPage {
			return since, err
		}
	}
	return time.Time{}, context.Cause(ctx)
}

// first is when the first of some records was journaled that waits, and leaves from there.
func (w *waiting) first(ctx context.Context, entries []journal.Entry) (time.Time, error) {
	through, err := w.through(ctx, entries)
	if err != nil {
		return time.Time{}, err
	}
	for _, e := range entries {
		r := e.Record
		upTo, looked := through[r.Chat]
		if _, known := w.skipped[r.Chat]; !looked && !known && r.Chat.Validate() == nil {
			if w.skipped == nil {
				w.skipped = map[botmesh.ChatKey]uint64{}
			}
			w.skipped[r.Chat] = r.Seq
		}
		if looked && r.Seq > upTo {
			return r.Stored, nil
		}
		w.from = r.Seq + 1
	}
	return time.Time{}, nil
}

// through is the sequence up to which the records of each chat are settled, but for those
// that are paused.
func (w *waiting) through(ctx context.Context, entries []journal.Entry) (map[botmesh.ChatKey]uint64, error) {
	settled := map[botmesh.ChatKey]*uint64{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(waitingAtOnce)
	for _, e := range entries {
		chat := e.Record.Chat
		if settled[chat] != nil || chat.Validate() != nil || w.pauses.Known(chat).On {
			continue
		}
		is := new(uint64)
		settled[chat] = is
		group.Go(func() (err error) {
			*is, err = w.settled(ctx, chat)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("workerd: what waits: %w", err)
	}
	through := make(map[botmesh.ChatKey]uint64, len(settled))
	for chat, is := range settled {
		through[chat] = *is
	}
	return through, nil
}

// settled is the sequence up to which a chat's records are settled: applied, and at the
// cursor said too.
func (w *waiting) settled(ctx context.Context, chat botmesh.ChatKey) (uint64, error) {
	row, err := w.store.Load(ctx, chat.Key())
	if err != nil || row.Revision == 0 {
		return 0, err
	}
	cp, err := checkpoint.Decode(row.Value)
	if err != nil || cp.Epoch != w.journal.Epoch() || cp.Cursor == 0 {
		return 0, nil // what no build here can read waits
	}
	tail, err := w.outbox.Last(ctx, chat)
	if err != nil {
		return 0, err
	}
	standing, err := w.outbox.Standing(ctx, chat)
	switch {
	case errors.Is(err, outbox.ErrNewerFormat):
		return cp.Cursor - 1, nil
	case err != nil:
		return 0, err
	case tail.Seq > standing.Settled, cp.Effects != nil && cp.Effects.Letter != nil && cp.Effects.Letter.ID != tail.ID:
		return cp.Cursor - 1, nil
	}
	return cp.Cursor, nil
}
