package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Posted is a letter in the stream.
type Posted struct {
	Seq    uint64
	At     time.Time // the server's
	Letter botmesh.Letter
}

// Letters returns up to limit letters of a chat at or after a sequence, in order,
// delivered or not. Errors: botmesh.ErrRefused if nobody could answer,
// [ErrNewerFormat], or the context's.
func (o *Outbox) Letters(ctx context.Context, chat botmesh.ChatKey, from uint64, limit int) ([]Posted, error) {
	ms, err := o.stream.Range(ctx, subjectOf(familyLetter, o.cfg.Bot, chat), from, limit)
	if err != nil {
		return nil, fmt.Errorf("outbox: letters of %s: %w", chat.Key(), err)
	}
	letters := make([]Posted, 0, len(ms))
	for _, m := range ms {
		l, err := decodeLetter(m)
		if err != nil {
			return letters, err
		}
		letters = append(letters, Posted{m.Seq, m.Time, l})
	}
	return letters, nil
}

// Receipts returns the receipts of a chat among up to limit entries of its chain
// at or after a sequence, in order, and the sequence to go on from, zero at the end.
// Errors are as of [Outbox.Letters].
func (o *Outbox) Receipts(ctx context.Context, chat botmesh.ChatKey, from uint64, limit int) ([]botmesh.Receipt, uint64, error) {
	ms, err := o.stream.Range(ctx, subjectOf(familyReceipt, o.cfg.Bot, chat), from, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("outbox: receipts of %s: %w", chat.Key(), err)
	}
	var receipts []botmesh.Receipt
	var next uint64
	for _, m := range ms {
		l, err := decodeEntry(m)
		if err != nil {
			return receipts, next, err
		}
		if l.Receipt != nil {
			receipts = append(receipts, *l.Receipt)
		}
		next = l.seq + 1
	}
	if len(ms) < limit {
		next = 0
	}
	return receipts, next, nil
}

// followPage is how many letters Follow reads at once.
const followPage = 64

// Follow calls each for every letter of a chat after a sequence, in order: first
// for those that are there, then for each new one as it comes, until ctx ends or
// each fails; it returns the cause or that error. A reader that was cut off goes
// on from the last sequence it saw.
//
// While the stream can not be read it waits.
func (o *Outbox) Follow(ctx context.Context, chat botmesh.ChatKey, after uint64, each func(seq uint64, l botmesh.Letter) error) error {
	poll := time.Second
	woken := make(chan struct{}, 1)
	if o.cfg.Listen != nil {
		stop, err := o.cfg.Listen(subjectOf(familyLetter, o.cfg.Bot, chat), func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return fmt.Errorf("outbox: follow %s: %w", chat.Key(), err)
		}
		defer stop()
		poll = 15 * time.Second // a wake-up may be missed
	}
	var hurry time.Duration
	for {
		letters, err := o.Letters(ctx, chat, after+1, followPage)
		for _, l := range letters {
			if err := each(l.Seq, l.Letter); err != nil {
				return err
			}
			after = l.Seq
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, botmesh.ErrRefused):
			return err
		case len(letters) > 0:
			continue
		}
		wait := poll
		if hurry > 0 { // a wake-up may come before the letter can be read
			wait = hurry
			if hurry *= 4; hurry > time.Second {
				hurry = 0
			}
		}
		select {
		case <-woken:
			hurry = 10 * time.Millisecond
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}
