package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// loadUser reads what is kept of a user of this chat's account.
func (l *lane) loadUser(ctx context.Context, user string) (checkpoint.Row, checkpoint.User, error) {
	var row checkpoint.Row
	err := insist(ctx, func() (err error) {
		row, err = l.d.cfg.Store.Load(ctx, checkpoint.UserKey(l.chat.Provider, user))
		return err
	})
	if err != nil {
		return row, checkpoint.User{}, chatError("load the user of", l.chat, err)
	}
	u, err := checkpoint.DecodeUser(row.Value)
	if errors.Is(err, checkpoint.ErrNewerFormat) {
		err = &laterError{time.Now().Add(l.d.cfg.Lease), err.Error()}
	}
	return row, u, err
}

// readUser reads the record's user for a run, once.
func (h *hold) readUser(ctx context.Context, r botmesh.Record) (checkpoint.User, error) {
	if h.user == nil {
		h.user = h.during(r).User
	}
	if h.user == nil {
		u := checkpoint.User{}
		if r.User != "" {
			var err error
			if _, u, err = h.loadUser(ctx, r.User); err != nil {
				return u, err
			}
		}
		h.user = &u
	}
	return *h.user, nil
}

// setUser makes what a run changes of its user an effect of its commit.
func (h *hold) setUser(ctx context.Context, next *checkpoint.Checkpoint, r botmesh.Record, fields map[string]json.RawMessage) error {
	if len(fields) == 0 {
		return nil
	}
	if r.User == "" {
		return &failedError{fmt.Errorf("a change of a user in a record of none, of type %s", r.Type)}
	}
	for name, value := range fields {
		if name == "" || len(name) > botmesh.MaxUserName {
			return &failedError{fmt.Errorf("a user's field has a name of %d bytes, want 1 to %d", len(name), botmesh.MaxUserName)}
		}
		if len(value) > 0 && !json.Valid(value) {
			return &failedError{fmt.Errorf("the user's field %q is no JSON", name)}
		}
	}
	u, err := h.readUser(ctx, r)
	if err != nil {
		return err
	}
	change := u.Change(r.User, botmesh.LetterID(h.chat, r.Epoch, r.Seq), time.Now(), fields)
	after, _ := u.With(change, time.Time{})
	value, err := after.Encode()
	if err != nil {
		return &failedError{err}
	}
	if len(value) > botmesh.MaxUser {
		return &failedError{fmt.Errorf("%w: what is kept of the user would be %d bytes, want at most %d", botmesh.ErrTooLarge, len(value), botmesh.MaxUser)}
	}
	effectsOf(next).User = &change
	return nil
}

// flushUser applies a change to what is kept of a user. Other chats of the user may do
// so at the same moment, and a crash lets it be done again: the row comes to the same.
func (l *lane) flushUser(ctx context.Context, change checkpoint.UserChange) error {
	keep := 2 * l.d.cfg.Retention
	for {
		row, u, err := l.loadUser(ctx, change.User)
		if err != nil {
			return err
		}
		after, changed := u.With(change, time.Now().Add(-keep))
		if !changed {
			return nil
		}
		value, err := after.Encode()
		if err != nil {
			return chatError("change the user of", l.chat, err)
		}
		ttl := time.Duration(0)
		if len(after.Values()) == 0 {
			ttl = keep
		}
		nonce := l.d.nonce.next()
		err = insist(ctx, func() error {
			_, err := l.d.cfg.Store.Swap(ctx, checkpoint.UserKey(l.chat.Provider, change.User), row, value, nonce, ttl)
			return err
		})
		if !errors.Is(err, botmesh.ErrConflict) {
			if err != nil {
				err = chatError("change the user of", l.chat, err)
			}
			return err
		}
	}
}
