package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// oddAgain is when a nudge of no chat that could not be set aside comes again.
const oddAgain = 30 * time.Second

// Nudge says that a record of a chat waits to be handled. It may come twice, late,
// and before an earlier record's.
type Nudge struct {
	Chat  botmesh.ChatKey
	Epoch string
	Seq   uint64
	// ID is the record's, empty if it can not be read.
	ID string
	// Stored is when the record was journaled, by the server's clock.
	Stored time.Time
	// Delivered counts the deliveries of this nudge, this one included.
	Delivered uint64
	// Ack settles the record, also by a nudge of an earlier delivery. Nak gives
	// the nudge back, to come again after a delay. Progress keeps it for another
	// AckWait. All are best effort: nothing may rest on one having arrived.
	Ack      func() error
	Nak      func(after time.Duration) error
	Progress func() error
}

// Pull asks for up to limit nudges and calls each for every one as it comes, until
// limit came, wait passed, or ctx ended. All processes of a bot share one durable
// consumer; it begins at the first record, and once deleted again at its last
// known floor.
//
// What stands below the bot's subjects but names no chat is set aside as a dead
// letter, and each does not see it.
//
// Errors: [ErrEpochChanged]: nothing more will come of this journal, open it anew.
// Any other: the consumer could not be reached, try again.
func (j *Journal) Pull(ctx context.Context, limit int, wait time.Duration, each func(Nudge)) error {
	c, err := j.consumer(ctx)
	if err == nil {
		err = c.Pull(ctx, limit, wait, func(d jet.Delivery) {
			r, herr := readHead(familyIn, j.bot, d.Stored)
			if r.Chat == (botmesh.ChatKey{}) {
				j.odd(ctx, d, herr)
				return
			}
			each(Nudge{Chat: r.Chat, Epoch: j.epoch, Seq: d.Seq, ID: r.ID, Stored: d.Time, Delivered: d.Delivered,
				Ack: d.Ack, Nak: d.Nak, Progress: d.Progress})
		})
	}
	if err == nil {
		return nil
	}
	// The consumer went with its stream, and is not made on another one.
	if _, changed := j.sameEpoch(ctx); errors.Is(changed, ErrEpochChanged) {
		return changed
	}
	return fmt.Errorf("journal: pull: %w", err)
}

// Pending counts the records that no process was told of yet, and those that were
// but are not settled. It is for who pulls: it makes the consumer if need be, with
// this journal's AckWait.
func (j *Journal) Pending(ctx context.Context) (waiting, unsettled uint64, err error) {
	c, err := j.consumer(ctx)
	if err == nil {
		waiting, unsettled, err = c.Pending(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("journal: pending: %w", err)
	}
	return waiting, unsettled, nil
}

// Backlog is how far the processes of a bot have come with its journal.
type Backlog struct {
	// Floor is a sequence up to which all records are settled.
	Floor uint64
	// Waiting counts the records that no process was told of yet, Unsettled those that
	// one was told of and that are not settled.
	Waiting, Unsettled uint64
	// Oldest is when the first record that is not settled was journaled, zero if all are.
	Oldest time.Time
}

// Backlog asks how far the processes of a bot have come, for who does not pull: it
// makes and changes nothing. botmesh.ErrNotFound: none ever pulled.
// botmesh.ErrRefused: nobody could answer.
func (j *Journal) Backlog(ctx context.Context) (b Backlog, err error) {
	c, err := j.inbox.Consumer(ctx, jet.ConsumerConfig{Name: j.consumerName(), Look: true})
	if err == nil {
		b.Floor, err = c.Floor(ctx)
	}
	if err == nil {
		b.Waiting, b.Unsettled, err = c.Pending(ctx)
	}
	if err == nil && b.Waiting+b.Unsettled > 0 {
		b.Oldest, err = j.oldest(ctx, b.Floor+1)
	}
	if err != nil {
		return Backlog{}, fmt.Errorf("journal: backlog: %w", err)
	}
	return b, nil
}

// oldest is when the first record at or after a sequence was journaled, zero without any.
func (j *Journal) oldest(ctx context.Context, from uint64) (time.Time, error) {
	m, err := j.inbox.Next(ctx, allOf(familyIn, j.bot), from)
	if errors.Is(err, botmesh.ErrNotFound) {
		return time.Time{}, nil // settled since it was counted, or older than the retention
	}
	return m.Time, err
}

func (j *Journal) consumerName() string { return "nudges-" + j.epoch }

// consumer returns the bot's shared consumer. Its name carries the epoch, and it is
// made on a stream of that epoch alone, so that an acknowledgement of one epoch
// never settles a record of another.
func (j *Journal) consumer(ctx context.Context) (jet.Consumer, error) {
	if c := j.nudges.Load(); c != nil {
		return *c, nil
	}
	c, err := j.inbox.Consumer(ctx, jet.ConsumerConfig{
		Name:        j.consumerName(),
		Subject:     allOf(familyIn, j.bot),
		HeadersOnly: true,
		AckWait:     j.ackWait,
		Metadata:    map[string]string{epochKey: j.epoch},
	})
	if err != nil {
		return nil, err
	}
	j.nudges.CompareAndSwap(nil, &c) // of two that were made at once one is kept; both are the same durable
	return *j.nudges.Load(), nil
}

// odd sets aside what names no chat: nobody could ever settle it.
func (j *Journal) odd(ctx context.Context, d jet.Delivery, why error) {
	err := j.SetAside(ctx, Dead{Chat: nowhere, Epoch: j.epoch, Seq: d.Seq, Error: why.Error()})
	if err != nil {
		j.log.WarnContext(ctx, "a journaled message names no chat and could not be set aside", "seq", d.Seq, "err", err)
		_ = d.Nak(oddAgain) // best effort: without it the nudge comes after AckWait
		return
	}
	j.log.WarnContext(ctx, "a journaled message names no chat and was set aside", "seq", d.Seq, "err", why)
	_ = d.Ack() // best effort: setting aside again changes nothing
}
