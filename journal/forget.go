package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// deadForgotten is what stands in the place of a dead letter that was forgotten.
const deadForgotten DeadKind = "forgotten"

// Forget removes a dead letter for good. A mark stays in its place for as long as dead
// letters are kept: whoever repeats a flush would set it aside once more. A crash
// before the mark is there leaves that open, so it may be repeated.
//
// Errors are as of [Journal.SetAside].
func (j *Journal) Forget(ctx context.Context, l DeadLetter) error {
	what := recordPlace(l.Entry.Record.Epoch, l.Entry.Record.Seq)
	switch l.Kind {
	case DeadSend:
		what, _ = partPlace(l.Chat, l.Part)
	case DeadHeld:
		what, _ = partPlace(l.Chat, l.Part)
		what += heldSuffix
	}
	subject, first, h := deadSubject(j.bot, l.Chat, what), uint64(0), nats.Header{}
	h.Set(headerDeadKind, string(deadForgotten))
	if l.By != "" {
		h.Set(headerDeadBy, l.By)
	}
	setChat(h, l.Chat)
	err := jet.Settle(ctx, func(ctx context.Context) error {
		if err := j.dead.Purge(ctx, subject); err != nil {
			return err
		}
		_, err := j.dead.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: subject, Header: h}, Expect: &first})
		if errors.Is(err, botmesh.ErrConflict) {
			return fmt.Errorf("%w: set aside again meanwhile", botmesh.ErrUnknown)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("journal: forget dead letter %d: %w", l.Seq, err)
	}
	return nil
}

// counted is how many dead letters of a kind a stream held when it was in a state.
type counted struct {
	mu             sync.Mutex
	last, messages uint64
	n              int
	oldest         time.Time
}

// DeadCount counts the dead letters there are, up to [MaxList], and tells when the oldest
// was set aside, the zero time if there is none. It reads them only when something
// changed. botmesh.ErrRefused if nobody could answer.
func (j *Journal) DeadCount(ctx context.Context) (n int, oldest time.Time, err error) {
	return j.count(ctx, &j.counted, "")
}

// HeldCount counts the parts that are held as DeadCount does the dead letters.
func (j *Journal) HeldCount(ctx context.Context) (n int, oldest time.Time, err error) {
	return j.count(ctx, &j.countedHeld, DeadHeld)
}

func (j *Journal) count(ctx context.Context, c *counted, kind DeadKind) (n int, oldest time.Time, err error) {
	info, err := j.dead.Info(ctx)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("journal: count dead letters: %w", err)
	}
	c.mu.Lock()
	known, n, oldest := c.last == info.LastSeq && c.messages == info.Messages, c.n, c.oldest
	c.mu.Unlock()
	if known {
		return n, oldest, nil
	}
	letters, err := j.DeadLetters(ctx, Filter{Kind: kind, Limit: MaxList})
	if err != nil {
		return 0, time.Time{}, err
	}
	if n, oldest = len(letters), (time.Time{}); n > 0 {
		oldest = letters[0].At
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.messages, c.n, c.oldest = info.LastSeq, info.Messages, n, oldest
	return n, oldest, nil
}

// SetAsideOf tells which records of a chat were set aside, by their sequence in this
// epoch: those that were forgotten since too, for as long as their marks are kept. Errors
// are as of [Journal.List].
func (j *Journal) SetAsideOf(ctx context.Context, chat botmesh.ChatKey) (map[uint64]bool, error) {
	aside := map[uint64]bool{}
	for f := (Filter{Limit: holdsPage}); ; {
		of, err := scan(ctx, j.dead, deadSubject(j.bot, chat, "*"), f, nil)
		if err != nil {
			return nil, fmt.Errorf("journal: records set aside of %s: %w", chat.Key(), err)
		}
		for _, m := range of {
			_, _, what, err := parseSubject(familyDead, j.bot, m.Subject)
			seq, ok := strings.CutPrefix(what, j.epoch+"-")
			if n, bad := strconv.ParseUint(seq, 10, 64); err == nil && ok && bad == nil {
				aside[n] = true
			}
			f.From = m.Seq + 1
		}
		if len(of) < f.Limit {
			return aside, nil
		}
	}
}
