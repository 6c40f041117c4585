package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// load reads the chat's checkpoint from the store.
func (l *lane) load(ctx context.Context) (chatCopy, error) {
	var row checkpoint.Row
	err := insist(ctx, func() (err error) {
		row, err = l.d.cfg.Store.Load(ctx, l.key)
		return err
	})
	if err != nil {
		return chatCopy{}, chatError("load the checkpoint of", l.chat, err)
	}
	cp, err := checkpoint.Decode(row.Value)
	switch {
	case errors.Is(err, checkpoint.ErrNewerFormat):
		return chatCopy{}, l.d.parking.newer(l.chat, row, err.Error())
	case err != nil:
		return chatCopy{}, chatError("read the checkpoint of", l.chat, err)
	case l.d.cfg.Deploy != 0 && cp.Deploy > l.d.cfg.Deploy:
		return chatCopy{}, l.d.parking.newer(l.chat, row, "the checkpoint is of a newer deploy")
	}
	epoch := l.d.cfg.Journal.Epoch()
	anew := cp.Epoch != epoch && cp.Epoch != ""
	if anew {
		// One of the two is old. If it is ours, nothing here may be taken for the chat's.
		if err := l.d.cfg.Journal.Current(ctx); err != nil {
			return chatCopy{}, chatError("compare the journals of", l.chat, err)
		}
	}
	if cp.Epoch != epoch {
		// The journal was made anew: its sequences are not those of the cursor.
		cp.Epoch, cp.Cursor, cp.CursorAt, cp.During, cp.Tries = epoch, 0, time.Time{}, nil, nil
	}
	if epoch := l.d.cfg.Outbox.Epoch(); cp.OutEpoch != epoch {
		// The outbox was made anew: it holds no letter of this chat, and what was
		// committed before counts as flushed.
		cp.OutEpoch, cp.Out, cp.Effects = epoch, 0, dropLetter(cp.Effects)
	}
	rearm(&cp, anew)
	return chatCopy{row: row, cp: cp}, nil
}

func dropLetter(e *checkpoint.Effects) *checkpoint.Effects {
	if e == nil {
		return nil
	}
	rest := *e
	rest.Letter = nil
	return &rest
}

// applied settles a nudge whose record is not to be run, and reports whether it
// did. Without asking it goes by the copy that is at hand.
//
// Below the cursor the record is applied, and what is left of it stands under a
// later nudge. At the cursor it is settled only when its effects are confirmed
// and every letter of the chat is settled. It takes no turn: confirming effects
// needs none.
func (l *lane) applied(n journal.Nudge, ask bool) (bool, error) {
	ctx, cancel := context.WithTimeout(l.d.hard, l.d.cfg.Lease)
	defer cancel()
	c, have := l.d.held.get(l.key)
	if !have || c.cp.Cursor < n.Seq {
		if !ask {
			return false, nil
		}
		var err error
		if c, err = l.load(ctx); err != nil {
			return false, err
		}
	}
	if err := l.rewound(ctx, c, n); err != nil {
		return false, err
	}
	switch {
	case n.Seq > c.cp.Cursor:
		return false, l.d.parking.stillStranded(l.chat, c, l.highest())
	case n.Seq < c.cp.Cursor:
		l.acknowledge(func(seq uint64) bool { return seq < c.cp.Cursor })
		return true, nil
	}
	switch err := l.flush(ctx, &c, nil); {
	case errors.Is(err, botmesh.ErrConflict):
		// A later owner has flushed it, so its cursor is past this record or its
		// nudge stands for what is left.
		l.d.held.drop(l.key)
		return false, &laterError{time.Now(), "the checkpoint has changed"}
	case err != nil:
		return false, err
	}
	return l.delivered(ctx, n)
}

// delivered settles the nudge at the cursor if every letter of the chat is
// settled. Both reads are made after the effects were confirmed.
func (l *lane) delivered(ctx context.Context, n journal.Nudge) (bool, error) {
	tail, err := l.d.cfg.Outbox.Last(ctx, l.chat)
	if err != nil {
		return false, chatError("read the outbox of", l.chat, err)
	}
	standing, err := l.d.cfg.Outbox.Standing(ctx, l.chat)
	switch {
	case err != nil:
		return false, chatError("read the receipts of", l.chat, err)
	case standing.Settled >= tail.Seq:
		l.acknowledge(func(seq uint64) bool { return seq <= n.Seq })
		return true, nil
	case time.Until(standing.NotBefore) > 0:
		l.giveBack(time.Until(standing.NotBefore), func(seq uint64) bool { return seq <= n.Seq })
		return true, nil
	}
	return false, nil // a turn's holder delivers
}

// rewound says so if the journal went back behind the chat's cursor: a record
// not after the cursor was stored after the cursor's own. It would be taken for
// applied; only an operator can tell what it is.
//
// A server's clock may have gone back between the two. Then the cursor's record is
// still where it was, and the journal did not.
func (l *lane) rewound(ctx context.Context, c chatCopy, n journal.Nudge) error {
	if n.Seq > c.cp.Cursor || c.cp.CursorAt.IsZero() || n.Stored.IsZero() || !n.Stored.After(c.cp.CursorAt) {
		return nil
	}
	at, err := l.d.cfg.Journal.Read(ctx, l.chat, c.cp.Cursor-1, 1)
	if err != nil {
		return chatError("look for a journal that went back behind", l.chat, err)
	}
	if len(at) > 0 && at[0].Record.Seq == c.cp.Cursor && at[0].Record.Stored.Equal(c.cp.CursorAt) {
		return nil
	}
	l.d.log.ErrorContext(l.d.hard, "the journal went back behind the cursor: give it a new epoch",
		"chat", l.chat, "seq", n.Seq, "cursor", c.cp.Cursor)
	return &laterError{time.Now().Add(4 * l.d.cfg.Lease), "the journal went back"}
}

// flush confirms the effects of the checkpoint in c, which any replica may do at
// any time. put, if set, is told of a letter and its place. botmesh.ErrConflict
// says that the checkpoint has been replaced, hence its effects confirmed by another.
func (l *lane) flush(ctx context.Context, c *chatCopy, put func(uint64, botmesh.Letter)) error {
	if c.flushed {
		return nil
	}
	out, e := c.cp.Out, c.cp.Effects
	if e != nil && e.Dead != nil {
		if err := insist(ctx, func() error { return l.setAside(ctx, *e.Dead) }); err != nil {
			return chatError("set aside a record of", l.chat, err)
		}
	}
	if e != nil {
		if err := l.flushTimers(ctx, c.cp); err != nil {
			return err
		}
	}
	if e != nil && e.Letter != nil {
		seq, err := l.post(ctx, c, *e.Letter)
		if err != nil {
			return chatError("flush the effects of", l.chat, err)
		}
		out = seq
		if put != nil {
			put(seq, *e.Letter)
		}
	}
	if e != nil { // after the letter, so that its delivery has begun
		if err := l.flushCommands(ctx, c); err != nil {
			return err
		}
		if e.User != nil {
			if err := l.flushUser(ctx, *e.User); err != nil {
				return err
			}
		}
	}
	c.flushed, c.out = true, out
	return nil
}

// post puts a letter of the checkpoint in c into the outbox, once, and returns
// its place.
//
// While the checkpoint is unchanged at most one letter can follow out. So after
// any answer but yes the outbox is read first and the checkpoint after it: the
// other order lets a letter that was flushed, delivered and followed by others
// be appended again.
func (l *lane) post(ctx context.Context, c *chatCopy, letter botmesh.Letter) (uint64, error) {
	expect, out := c.cp.Out, c.cp.Out
	// A letter that another replica committed is probably there, and an old one was.
	look := !c.own || l.aged(c.cp.Effects.At)
	wait := patience()
	for {
		if !look {
			seq, err := l.d.cfg.Outbox.Append(ctx, letter, expect)
			if err == nil {
				return seq, nil
			}
			if errors.Is(err, botmesh.ErrTooLarge) || ctx.Err() != nil {
				return 0, err
			}
			if !errors.Is(err, botmesh.ErrConflict) && !pause(ctx, wait.NextBackOff()) {
				return 0, err
			}
		}
		look = false
		tail, err := l.d.cfg.Outbox.Last(ctx, l.chat)
		if err != nil {
			if !pause(ctx, wait.NextBackOff()) {
				return 0, err
			}
			look = true
			continue
		}
		if tail.ID == letter.ID {
			return tail.Seq, nil
		}
		row, err := l.d.cfg.Store.Load(ctx, l.key)
		switch {
		case err != nil:
			if !pause(ctx, wait.NextBackOff()) {
				return 0, err
			}
			look = true
			continue
		case row.Revision != c.row.Revision || row.Nonce != c.row.Nonce:
			return 0, botmesh.ErrConflict
		case l.aged(c.cp.Effects.At):
			// Older than the outbox keeps letters: it was there, and went.
			l.d.log.WarnContext(ctx, "effects are older than the outbox keeps letters, taken as flushed", "chat", l.chat, "seq", c.cp.Cursor)
			return tail.Seq, nil
		case tail.Seq != out && tail.Seq != 0:
			telemetry.OutboxSurplus.Add(ctx, 1)
			l.d.log.ErrorContext(ctx, "the outbox holds a letter that the checkpoint does not know", "chat", l.chat, "seq", tail.Seq)
		}
		expect = tail.Seq
	}
}

// aged reports whether effects are so old that the outbox may have dropped them.
func (l *lane) aged(at time.Time) bool {
	keep := l.d.cfg.Retention
	return time.Since(at) > max(keep/2, keep-24*time.Hour)
}

// insist makes a call that may be repeated again while the engine refuses to take
// it or does not answer, until ctx ends.
func insist(ctx context.Context, call func() error) error {
	wait := patience()
	for {
		err := call()
		again := errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, botmesh.ErrTooLarge) || errors.Is(err, botmesh.ErrUnknown)
		if !again {
			return err
		}
		if !pause(ctx, wait.NextBackOff()) {
			return err
		}
	}
}

// patience grows from 20 ms to 2 s and does not end.
func patience() backoff.BackOff {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithMaxElapsedTime(0))
	return b
}
