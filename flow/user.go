package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/botmesh-go/botmesh"
)

// User names a value that is kept for each user, in whichever of their chats with the
// bot's account it was left. Users are constants:
//
//	const profile flow.User[Profile] = "profile"
//
// The name is stored, so it must not change while users have values, and a bot uses it
// with one type. A chat of its own has [bot.State] and a flow its state: those cost no
// read and go with the chat's commit; a User is read when it is asked for, and written
// right after the commit.
//
// Two chats of one user may go on at the same moment. Each sees what was there when its
// turn asked first, and for each name the last commit wins.
//
// [bot.State]: https://pkg.go.dev/github.com/botmesh-go/botmesh/bot#State
type User[T any] string

// ErrNoUser says that a turn is about nobody: of a timer, or of a command.
var ErrNoUser = errors.New("flow: the record is of no user")

// Get returns the user's value, zero at first, or as the turn set it. Who runs in a
// script step reads it within [Do], as everything that may change meanwhile.
//
// On error the handler must return: the store did not answer while the turn lasted, the
// value is not of type T, or it is [ErrNoUser].
func (u User[T]) Get(c InTurn) (T, error) {
	var v T
	t := c.turn()
	if t.run.Record.User == "" {
		return v, ErrNoUser
	}
	raw, changed := t.user[string(u)]
	if !changed {
		stored, err := t.midway.User(t.ctx)
		if err != nil {
			return v, fmt.Errorf("flow: reading the user's %q: %w", u, err)
		}
		raw = stored[string(u)]
	}
	if raw == nil {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("flow: the user's %q can not be read: %w", u, err)
	}
	return v, nil
}

// Set keeps a value for the user when the run has ended well.
//
// The error says that T has parts that can not be kept (see [Schema]), or is [ErrNoUser].
func (u User[T]) Set(c InTurn, v T) error {
	if _, err := Schema(reflect.TypeFor[T]()); err != nil {
		return fmt.Errorf("flow: the user's %q can not be kept: %w", u, err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("flow: the user's %q can not be encoded: %w", u, err)
	}
	return u.change(c, raw)
}

// Remove forgets the user's value when the run has ended well. It may be [ErrNoUser].
func (u User[T]) Remove(c InTurn) error { return u.change(c, nil) }

func (u User[T]) change(c InTurn, raw json.RawMessage) error {
	t := c.turn()
	switch {
	case t.run.Record.User == "":
		return ErrNoUser
	case t.muted:
		return nil
	case t.user == nil:
		t.user = map[string]json.RawMessage{}
	}
	t.user[string(u)] = raw
	return nil
}

// UserChanges are what the run changed of its user so far, null for what is removed.
func (t *Turn) UserChanges() map[string]json.RawMessage { return maps.Clone(t.user) }

// SendTo sends a message in another chat when the run has ended well: as a record of
// that chat's journal, in order with its messages, once. The chat's open question stays
// open. Messages to one chat keep their order; see [botmesh.Command].
func (t *Turn) SendTo(chat botmesh.ChatKey, s botmesh.Send) {
	if t.muted {
		return
	}
	if n := len(t.commands); n > 0 && t.commands[n-1].Chat == chat {
		t.commands[n-1].Sends = append(t.commands[n-1].Sends, s)
		return
	}
	t.commands = append(t.commands, botmesh.Command{Chat: chat, Sends: []botmesh.Send{s}})
}

// Commands are what the run sends in other chats so far, in order.
func (t *Turn) Commands() []botmesh.Command { return t.commands }
