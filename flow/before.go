package flow

import (
	"context"
	"errors"
	"reflect"

	"github.com/botmesh-go/botmesh"
)

// errTooEarly refuses to send in the name of a message that may yet be dropped.
var errTooEarly = errors.New("flow: nothing can be sent before the message is looked at")

// ErrDropped is what the function of [Turn.Before] returns for a message that is to have no
// effect and no answer.
var ErrDropped = errors.New("flow: the message is dropped")

// Before lets change look at the user's message, and change it, before anything else
// does. What it makes of it is kept, so that a later run of the record finds that and
// change is not called again, unless nothing was changed and nothing kept. Within change
// [Do] works and SendNow does not. It is for those who run bots.
//
// It sees the messages of [Turn.Also] and [Turn.Incoming] too, each in a turn of its own,
// of which nothing is kept: in every run, and those of Incoming beside the handler. One
// that it drops does not interrupt and is not handed out; one for which it has another
// error runs after this.
func (t *Turn) Before(change func(t *Turn, m *botmesh.Message) error) error {
	if err := t.doing.read(t.run.Kept); err != nil {
		return err
	}
	t.listening.change = func(r *botmesh.Record) error { return change(t.aside(*r), &r.Message) }
	if err := t.hear(change); err != nil {
		return err
	}
	var also []botmesh.Record
	for _, r := range t.run.Also {
		switch err := t.listening.change(&r); {
		case err == nil:
			also = append(also, r)
		case !errors.Is(err, ErrDropped):
			return err
		}
	}
	t.run.Also = also
	return nil
}

// hear lets change look at the message of the turn.
func (t *Turn) hear(change func(t *Turn, m *botmesh.Message) error) error {
	if m := t.doing.heard; m != nil {
		t.run.Record.Message = *m
		return nil
	}
	m := t.run.Record.Message
	t.doing.early = true
	err := change(t, &m)
	t.doing.early = false
	if err != nil {
		return err
	}
	changed := !reflect.DeepEqual(m, t.run.Record.Message)
	t.run.Record.Message, t.doing.heard = m, &m
	if !changed {
		return nil
	}
	// A replica that dies from here on leaves the next one what was heard.
	return t.keepDoing()
}

// aside is a turn to look at another message of the chat in.
func (t *Turn) aside(r botmesh.Record) *Turn {
	run := botmesh.Run{Record: r, Try: t.run.Try, Fence: t.run.Fence, Now: t.run.Now}
	other := NewTurn(t.ctx, run, forgetful{t.midway})
	other.doing.early = true
	return other
}

// forgetful keeps nothing.
type forgetful struct{ botmesh.Midway }

func (forgetful) Keep(context.Context, []byte) error { return nil }
