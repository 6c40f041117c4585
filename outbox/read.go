package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
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

// History returns the letters of a chat in a window, or with a zero chat of all, in
// order, delivered or not. It is complete. Errors are as of [Outbox.Letters].
func (o *Outbox) History(ctx context.Context, chat botmesh.ChatKey, w jet.Window) ([]Posted, error) {
	subject := o.subject(familyLetter, chat)
	ms, err := jet.Scan(ctx, o.stream, subject, w)
	if err != nil {
		return nil, fmt.Errorf("outbox: letters on %s: %w", subject, err)
	}
	letters := make([]Posted, len(ms))
	for i, m := range ms {
		l, err := decodeLetter(m)
		if err != nil {
			return nil, err
		}
		letters[i] = Posted{m.Seq, m.Time, l}
	}
	return letters, nil
}

// subject is where a family has what is of a chat, or with a zero chat of all.
func (o *Outbox) subject(family string, chat botmesh.ChatKey) string {
	if chat == (botmesh.ChatKey{}) {
		return family + "." + o.cfg.Bot + ".>"
	}
	return subjectOf(family, o.cfg.Bot, chat)
}

// Link is an entry of a chat's receipt chain, for who looks at it.
type Link struct {
	Chat string // its key
	Seq  uint64
	At   time.Time // the server's
	// Kind is claim, attempt, receipt, retry, wait or free. By is the incarnation that
	// wrote the entry; Free says that it calls nothing after it.
	Kind string
	By   string
	Free bool
	// Settled is the outbox sequence up to which every letter of the chat is settled,
	// and Parts counts the settled parts of the letter after it.
	Settled uint64
	Parts   int
	// Tries counts the calls of the next part that came to nothing, NotBefore is when
	// the next may be made, and Doubt how many parts may have reached the platform
	// without a receipt.
	Tries     int
	NotBefore time.Time
	Doubt     int
	// Receipt is what a receipt says, nil of any other kind.
	Receipt *botmesh.Receipt
}

// Chain returns the entries of a chat's receipt chain in a window, or with a zero chat
// those of all chains, in order. It is complete. Errors are as of [Outbox.Letters].
func (o *Outbox) Chain(ctx context.Context, chat botmesh.ChatKey, w jet.Window) ([]Link, error) {
	subject := o.subject(familyReceipt, chat)
	ms, err := jet.Scan(ctx, o.stream, subject, w)
	if err != nil {
		return nil, fmt.Errorf("outbox: chains on %s: %w", subject, err)
	}
	links := make([]Link, len(ms))
	for i, m := range ms {
		l, err := decodeEntry(m)
		if err != nil {
			return nil, err
		}
		links[i] = o.shown(l, m)
	}
	return links, nil
}

// End returns the last entry of a chat's chain, from the stream's leader, the zero
// Link if there is none. Errors are as of [Outbox.Letters].
func (o *Outbox) End(ctx context.Context, chat botmesh.ChatKey) (Link, error) {
	subject := subjectOf(familyReceipt, o.cfg.Bot, chat)
	m, err := o.stream.Last(ctx, subject)
	switch {
	case errors.Is(err, botmesh.ErrNotFound):
		return Link{}, nil
	case err != nil:
		return Link{}, fmt.Errorf("outbox: read the chain %s: %w", subject, err)
	}
	l, err := decodeEntry(m)
	return o.shown(l, m), err
}

func (o *Outbox) shown(l link, m jet.Stored) Link {
	return Link{
		Chat: strings.TrimPrefix(m.Subject, familyReceipt+"."+o.cfg.Bot+"."), Seq: l.seq, At: m.Time, Kind: string(l.Kind), By: l.By, Free: l.Free, Settled: l.Through, Parts: l.Parts,
		Tries: l.Tries, NotBefore: l.NotBefore, Doubt: l.Doubt, Receipt: l.Receipt,
	}
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
