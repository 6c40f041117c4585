package flow

import (
	"errors"

	"github.com/botmesh-go/botmesh"
)

// errTooEarly refuses to send in the name of a message that may yet be dropped.
var errTooEarly = errors.New("flow: nothing can be sent before the message is looked at")

// Before lets change look at the user's message, and change it, before anything else
// does. What it made of it is kept with the first result that the run keeps, so that a
// later run of the record finds both and change is not called again. Within change
// [Do] works and SendNow does not. It is for those who run bots.
func (t *Turn) Before(change func(m *botmesh.Message) error) error {
	if err := t.doing.read(t.run.Kept); err != nil {
		return err
	}
	if m := t.doing.heard; m != nil {
		t.run.Record.Message = *m
		return nil
	}
	m := t.run.Record.Message
	t.doing.early = true
	err := change(&m)
	t.doing.early = false
	if err != nil {
		return err
	}
	t.run.Record.Message, t.doing.heard = m, &m
	return nil
}
