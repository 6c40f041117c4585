package workerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// blockTime bounds the wait for a delivery that is under way.
const blockTime = time.Second

// undelivered is a Runner that finds out, before the bot is told of a part that the
// platform took and could not deliver, what that was.
//
// All it does may be done again, by a run after a crash: the dead letter is one by its
// subject, the block is the same, and the bot is told by the commit of the run. The dead
// letter keeps which record told first: what another tells of the same part is no news.
type undelivered struct {
	dispatcher.Runner
	journal *journal.Journal
	outbox  *outbox.Outbox
	// hold is how long who calls a part may take until its receipt: then it is called
	// again, by another, and has an answer of its own.
	hold time.Duration
	log  *slog.Logger
}

var _ dispatcher.Within = (*undelivered)(nil)

// Unwrap implements [dispatcher.Within].
func (u *undelivered) Unwrap() dispatcher.Runner { return u.Runner }

// Run implements [dispatcher.Runner].
func (u *undelivered) Run(ctx context.Context, run botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	if run.Record.Failed == nil || run.Record.Failed.Of == "" {
		return u.Runner.Run(ctx, run, m)
	}
	told := *run.Record.Failed
	fate, letter, err := u.settled(ctx, run.Record.Chat, told.Part)
	switch {
	case errors.Is(err, botmesh.ErrNotFound): // kept no more: the platform's words are all there is
		return u.Runner.Run(ctx, run, m)
	case err != nil:
		return botmesh.Outcome{}, err
	case !concerns(fate, told):
		return botmesh.Outcome{Ignored: true}, nil
	}
	told.Send, told.Tries, told.InDoubt = fate.Part.Send, fate.Receipt.Attempts, fate.Receipt.InDoubt
	r := run.Record
	place := fmt.Sprintf("%s.%d", r.Epoch, r.Seq)
	first, err := u.journal.SetAsidePart(ctx, journal.DeadPart{
		Chat: letter.Chat, Part: told.Part, Send: told.Send, Tries: told.Tries, Error: told.Error, Trace: letter.Trace, By: place,
	})
	switch {
	case err != nil:
		return botmesh.Outcome{}, err
	case first != place && !r.PutBack():
		// The bot was told, when that record ran: a worker of an older build did not say which.
		return botmesh.Outcome{Ignored: true}, nil
	}
	if told.Blocked {
		u.block(ctx, letter, told.Error)
	}
	about, err := ofFailure(ctx, u.journal, letter.Chat, letter.ID)
	if err != nil || about {
		return botmesh.Outcome{Ignored: about}, err
	}
	run.Record.Failed = &told
	return u.Runner.Run(ctx, run, m)
}

// concerns reports whether it is the part's last word that the platform could not deliver
// that message. It is not if the part is called again, which has an answer of its own, if
// another call of it was taken, or if none was: the bot heard of that.
func concerns(f outbox.Fate, told botmesh.Failure) bool {
	if f.Receipt == nil || f.Receipt.Result == botmesh.ResultPermanent {
		return false
	}
	return f.Receipt.ProviderID == "" || f.Receipt.ProviderID == told.Of || told.Of == told.Part
}

// settled finds a part, and waits a while for its receipt: the platform may tell before
// the call was answered.
func (u *undelivered) settled(ctx context.Context, chat botmesh.ChatKey, part string) (f outbox.Fate, l botmesh.Letter, err error) {
	errWaits := errors.New("workerd: the part has no receipt")
	err = patiently(ctx, u.hold, func() error {
		if f, l, err = u.outbox.Find(ctx, chat, part); err != nil {
			return backoff.Permanent(err)
		}
		if f.Receipt == nil {
			return errWaits
		}
		return nil
	})
	if errors.Is(err, errWaits) && ctx.Err() == nil {
		err = nil // put off, or in doubt
	}
	return f, l, err
}

// block has the chat called no more until its user is back. Where it can not, the
// platform refuses the next call, and that does.
func (u *undelivered) block(ctx context.Context, l botmesh.Letter, why string) {
	err := patiently(ctx, blockTime, func() error { return u.outbox.Block(ctx, l.Chat, l.Heard, why) })
	if err != nil {
		u.log.WarnContext(ctx, "chat not marked as blocked", "chat", l.Chat, "err", err)
	}
}

// patiently repeats do for a while, until it succeeds or ctx ends.
func patiently(ctx context.Context, d time.Duration, do func() error) error {
	return backoff.Retry(do, backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(500*time.Millisecond), backoff.WithMaxElapsedTime(d),
	), ctx))
}
