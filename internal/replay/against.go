package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

// Verdict says what came of comparing a chat.
type Verdict string

// The verdicts.
const (
	Same         Verdict = "same"           // all that could be compared is what was said then
	Differs      Verdict = "differs"        // a record has another answer now
	Incomparable Verdict = "not comparable" // no record could be compared
)

// Compared is what came of comparing what a chat was answered with what it would be now.
type Compared struct {
	Chat    string  `json:"chat"`
	Verdict Verdict `json:"verdict"`
	// Records were compared, Skipped could not be, for the reason Why, the first of it.
	Records int    `json:"records"`
	Skipped int    `json:"skipped"`
	Why     string `json:"why,omitempty"`
	// Seq is the first record whose answer differs: Then it was that, Now it would be
	// this, in the platform's parts. Error says that the record fails now.
	Seq   uint64             `json:"seq,omitempty"`
	Type  botmesh.RecordType `json:"type,omitempty"`
	Text  string             `json:"text,omitempty"`
	Then  []botmesh.Send     `json:"then,omitempty"`
	Now   []botmesh.Send     `json:"now,omitempty"`
	Error string             `json:"error,omitempty"`
}

// again is how often a chat that differs is run again, to see whether it says the same.
const again = 4

// Against runs the records of a chat that were run, and compares what the bot says now with
// what the outbox has of them, up to the first that differs. Nothing is sent or written, and
// nothing done by flow.Do: what a handler does otherwise outside Botmesh, it does again.
// The Coordinator is not needed.
//
// What can not be compared is counted and no difference: a record that was set aside, whose
// answer is older than the outbox keeps, that wants to do something, or that another may have
// joined while its handler was at work; and a difference where the bot says something else
// each time, by chance or by the clock. After such a record, and where the journal's beginning
// is gone, nobody knows what the chat remembered: records count again from the first on that
// is answered alike.
//
// Errors: [ErrNoRecords], and those of the rooms.
func Against(ctx context.Context, cfg Config, in Rooms, key botmesh.ChatKey) (Compared, error) {
	of, why, err := in.read(ctx, key)
	if err != nil {
		return Compared{}, err
	}
	if why != "" {
		any, err := in.Journal.List(ctx, journal.Filter{Chat: key, Limit: 1})
		switch {
		case err != nil:
			err = fmt.Errorf("replay: %w", err)
		case len(any) == 0:
			err = fmt.Errorf("%w %s", ErrNoRecords, key)
		}
		return Compared{Chat: key.String(), Verdict: Incomparable, Why: why}, err
	}
	cfg.compares, cfg.now = true, of.at
	passes, err := passedOver(ctx, in.Journal, key)
	if err != nil {
		return Compared{}, err
	}
	cfg.PassesOver = func(r botmesh.Record) bool { return of.aside[r.Seq] || passes(r) }
	found, err := in.compare(ctx, cfg, key, of)
	if err != nil || found.Verdict != Differs {
		return found, err
	}
	for n := range again { // another clock each time, and other dice
		cfg.now = func(r botmesh.Record) time.Time {
			return of.at(r).Add(time.Duration(n) * (25*time.Hour + 61*time.Second))
		}
		said, failed, err := in.sayAgain(ctx, cfg, key, found.Seq)
		switch {
		case err != nil:
			return found, err
		case !same(said, found.Now) || failed != (found.Error != ""):
			found.skip("#%d says something else each time, by chance or by the clock", found.Seq)
			found.Seq, found.Type, found.Text, found.Then, found.Now, found.Error = 0, "", "", nil, nil, ""
			found.Verdict = found.plain()
			return found, nil
		}
	}
	return found, nil
}

// compare runs a chat up to the first record that differs.
func (in Rooms) compare(ctx context.Context, cfg Config, key botmesh.ChatKey, of answers) (Compared, error) {
	found, chat := Compared{Chat: key.String()}, New(cfg)
	known, heeds, some := of.whole, false, false // whether it is known what the chat remembers, and the run before listened
	if !known {
		found.Why = "the journal's beginning is gone"
	}
	err := Each(ctx, in.Journal, key, func(e journal.Entry, ahead ...journal.Entry) error {
		r := e.Record
		some = true
		if r.Seq > of.upTo {
			return errEnough
		}
		step, err := chat.Next(ctx, e, ahead...)
		if err != nil {
			return err
		}
		then := of.then(r.Seq)
		now, err := in.now(key, step)
		listened := heeds || step.heeds
		heeds = step.heeds
		switch {
		case errors.Is(e.Err, journal.ErrNewer):
			found.skip("#%d is of a newer build", r.Seq)
			known = false
		case of.aside[r.Seq] || e.Err != nil:
			found.skip("#%d was set aside", r.Seq)
		case step.did != "":
			found.skip("#%d wants to do %q, of which no result is kept", r.Seq, step.did)
			known = false
		case err != nil:
			found.skip("#%d: %v", r.Seq, err)
		case len(then) == 0 && r.Stored.Before(of.since):
			found.skip("the answer of #%d is older than the outbox keeps", r.Seq)
		case step.Result == Joined && len(then) == 0, same(then, now) && step.Result != SetAside:
			found.Records++
			known = known || len(then) > 0
		case listened:
			found.skip("#%d may have joined or interrupted another, or another it", r.Seq)
			known = false
		case !known:
			found.skip("it is not known what the chat remembered at #%d", r.Seq)
		default:
			found.Verdict, found.Seq, found.Type, found.Text, found.Then, found.Now = Differs, r.Seq, r.Type, step.Text, then, now
			if step.Result == SetAside {
				found.Error, _, _ = strings.Cut(step.Error, "\n")
			}
			return errEnough
		}
		return nil
	})
	switch {
	case err != nil:
		return found, err
	case !some:
		return found, fmt.Errorf("%w %s", ErrNoRecords, key)
	case found.Verdict == "":
		found.Verdict = found.plain()
	}
	return found, nil
}

// plain is the verdict of a chat without a difference.
func (c Compared) plain() Verdict {
	if c.Records == 0 && c.Skipped > 0 {
		return Incomparable
	}
	return Same
}

// skip counts a record that can not be compared.
func (c *Compared) skip(why string, args ...any) {
	if c.Skipped++; c.Why == "" {
		c.Why = fmt.Sprintf(why, args...)
	}
}

// sayAgain runs a chat up to a record, and returns what is said to that.
func (in Rooms) sayAgain(ctx context.Context, cfg Config, key botmesh.ChatKey, seq uint64) (said []botmesh.Send, failed bool, err error) {
	chat := New(cfg)
	err = Each(ctx, in.Journal, key, func(e journal.Entry, ahead ...journal.Entry) error {
		step, err := chat.Next(ctx, e, ahead...)
		if err != nil || e.Record.Seq < seq {
			return err
		}
		failed = step.Result == SetAside
		if said, err = in.now(key, step); err != nil {
			return err
		}
		return errEnough
	})
	return said, failed, err
}

// Lately finds the chats that wrote last, so many at most, the last one first.
func Lately(ctx context.Context, j *journal.Journal, limit int) ([]botmesh.ChatKey, error) {
	var chats []botmesh.ChatKey
	seen := map[botmesh.ChatKey]bool{}
	for f := (journal.Filter{Newest: true, Limit: page}); ; {
		entries, err := j.List(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		for i := len(entries) - 1; i >= 0; i-- {
			chat := entries[i].Record.Chat
			if seen[chat] || chat.Validate() != nil {
				continue
			}
			if seen[chat], chats = true, append(chats, chat); len(chats) == limit {
				return chats, nil
			}
		}
		if len(entries) < f.Limit || entries[0].Record.Seq == 1 {
			return chats, nil
		}
		f.To = entries[0].Record.Seq - 1
	}
}
