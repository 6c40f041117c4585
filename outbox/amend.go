package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Hurry ends the pause before a chat's next call, by an entry of an operator's. It owns
// nothing after it.
//
// Errors: botmesh.ErrConflict if somebody delivers now, so that there is nothing to
// hurry, or was first; botmesh.ErrRefused, botmesh.ErrUnknown.
func (o *Outbox) Hurry(ctx context.Context, chat botmesh.ChatKey, by string) error {
	err := o.amend(ctx, chat, by, func(p *position) bool {
		waits := !p.NotBefore.IsZero()
		p.NotBefore = time.Time{}
		return waits
	})
	if err != nil {
		return fmt.Errorf("outbox: hurry %s: %w", chat.Key(), err)
	}
	return nil
}

// Block notes that the platform takes nothing for a chat, for a reason that it told after
// it had taken a letter: as if it had refused that letter, with its Heard. It changes
// nothing for what the user did something after, or where as much is known of a later
// letter, and may be repeated.
//
// Errors are as of [Outbox.Hurry]. After one the next letter is called in vain.
func (o *Outbox) Block(ctx context.Context, chat botmesh.ChatKey, heard, why string) error {
	if heard == "" {
		return nil
	}
	err := o.amend(ctx, chat, o.cfg.Incarnation, func(p *position) bool {
		if p.Blocked != "" && (p.Heard == heard || after(p.Heard, heard)) {
			return false
		}
		p.Blocked, p.Heard = clip(errors.New(why)), heard
		return true
	})
	if err != nil {
		return fmt.Errorf("outbox: block %s: %w", chat.Key(), err)
	}
	return nil
}

// amend appends a free entry that changes the end of a chat's chain, if nobody owns that
// and change reports that there is something to change.
func (o *Outbox) amend(ctx context.Context, chat botmesh.ChatKey, by string, change func(*position) bool) error {
	subject := subjectOf(familyReceipt, o.cfg.Bot, chat)
	last, err := o.lastLink(ctx, subject)
	if err != nil || last.seq == 0 {
		return err
	}
	e := entry{V: format, ID: o.entryID(), By: by, Kind: kindFree, Free: true, position: last.position}
	switch {
	case !change(&e.position):
		return nil
	case !last.Free:
		return fmt.Errorf("%w: it is being delivered", botmesh.ErrConflict)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = o.stream.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: subject, Data: data}, Expect: &last.seq})
	return err
}

// Find returns what became of a part, and its letter. Errors are as of [Outbox.Letters],
// and botmesh.ErrNotFound if the outbox has no such part, or keeps it no more.
func (o *Outbox) Find(ctx context.Context, chat botmesh.ChatKey, part string) (Fate, botmesh.Letter, error) {
	id, _, _ := cutLast(part, ".")
	if !isEager(id) {
		id, _, _ = cutLast(id, "/")
	}
	found, err := o.History(ctx, chat, jet.Window{Limit: 1, Newest: true, Keep: func(m jet.Stored) bool { return m.Header.Get(headerID) == id }})
	if err != nil {
		return Fate{}, botmesh.Letter{}, err
	}
	for _, l := range found {
		fates, err := o.Fates(ctx, chat, l.Seq, 1)
		if err != nil {
			return Fate{}, botmesh.Letter{}, err
		}
		for _, f := range fates {
			if f.Part.ID == part {
				return f, l.Letter, nil
			}
		}
	}
	return Fate{}, botmesh.Letter{}, fmt.Errorf("outbox: part %s: %w", part, botmesh.ErrNotFound)
}
