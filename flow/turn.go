package flow

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Turn is one run of one record, as handlers see it: what came in, and what is
// said back. It is for the goroutine of its handler alone, until that returns.
//
// The same record may be run several times. What a run says takes effect only
// when the run has ended well, all at once, except [Turn.SendNow].
type Turn struct {
	ctx       context.Context
	run       botmesh.Run
	midway    botmesh.Midway
	sends     []botmesh.Send
	arm       []botmesh.Timer
	disarm    []string
	user      map[string]json.RawMessage // what changes of it
	commands  []botmesh.Command
	doing     doing
	lives     *Lives // where live conversations wait; nil for nowhere
	live      bool   // one runs in it, or did
	depth     int    // of flows that call each other
	path      []string
	listening *listening
	eager     int  // calls of SendNow that were committed, now or by an earlier run
	muted     bool // a script runs again: what it says was said when it ran first

	words    func(text string) string // what is said for a text of the code; nil for the text itself
	timedOut bool                     // a question was open for too long, and its flow went on
	calls    bool                     // a flow wants a person
}

// NewTurn makes the turn of a run. It is for those who run bots; handlers are
// given theirs.
func NewTurn(ctx context.Context, run botmesh.Run, midway botmesh.Midway) *Turn {
	return &Turn{ctx: ctx, run: run, midway: midway, listening: newListening()}
}

// Context ends when the run must stop: the chat went to another replica, the run
// took too long, or the process drains. Its cause says which.
func (t *Turn) Context() context.Context { return t.ctx }

// Record is the event that this turn is about.
func (t *Turn) Record() botmesh.Record { return t.run.Record }

// Chat names the conversation.
func (t *Turn) Chat() botmesh.ChatKey { return t.run.Record.Chat }

// Text is what the user wrote or, of a pressed button, its payload.
func (t *Turn) Text() string {
	if t.run.Record.Type == botmesh.TypeCallback {
		return t.run.Record.Message.Payload
	}
	return t.run.Record.Message.Text
}

// Now is the time of this run. Who decides by time uses it and not the clock, so
// that a replay decides the same.
func (t *Turn) Now() time.Time { return t.run.Now }

// Try is 1 in a record's first run, and one more after each run that failed.
func (t *Turn) Try() int { return t.run.Try }

// Fence grows each time the chat changes hands. An outside resource that keeps
// the highest it saw can refuse a replica that was overtaken.
func (t *Turn) Fence() uint64 { return t.run.Fence }

// Say sends a text, as it is, when the run has ended well.
func (t *Turn) Say(text string) { t.Send(botmesh.Send{Text: text}) }

// Sayf is Say with the verbs of package fmt, in the language of the chat; strings in a list
// are joined by commas. See [Turn.T].
func (t *Turn) Sayf(format string, args ...any) { t.Say(t.T(format, args...)) }

// Send sends a message when the run has ended well. Messages keep their order.
func (t *Turn) Send(s botmesh.Send) {
	if !t.muted {
		t.sends = append(t.sends, s)
	}
}

// Edit changes an earlier message of the bot in this chat into m when the run has ended well.
// message is the platform's id of it, as a record has it: c.Record().Message.Of of a pressed
// button or a reaction, ReplyTo of an answer; with an empty one m is a message of its own. Where the platform can not edit, or not that message
// any more, or m has a file, m is a message of its own.
func (t *Turn) Edit(message string, m botmesh.Send) {
	m.Edits = message
	t.Send(m)
}

// SendNow sends a message at once ("one moment…"), before what was said with
// Send. A repeated run skips as many SendNow calls as an earlier one committed,
// whatever their text.
//
// On error the handler must return: the chat may belong to another replica.
func (t *Turn) SendNow(s botmesh.Send) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if t.muted {
		return nil
	}
	if t.doing.early {
		return errTooEarly
	}
	if err := t.midway.SendNow(t.ctx, s); err != nil {
		return err
	}
	t.eager++
	return nil
}

// Open begins to read a file that a message of this chat refers to: this one, or an
// earlier one that the flow has kept. It reads no more than the worker's bound, 20 MiB
// unless set otherwise, for at most a minute and never beyond the end of the run. Whoever
// opens it closes it.
//
// The error is [botmesh.ErrFileTooLarge], [botmesh.ErrFileGone] or
// [botmesh.ErrFileUnsupported] for what another try does not mend, and is to be answered.
// Any other is returned by the handler, and the run is tried again. What was made of a file
// is kept with [Do], or else a repeated run reads it again.
func (t *Turn) Open(m botmesh.Media) (*botmesh.File, error) {
	if t.run.Open == nil {
		return nil, botmesh.ErrFileUnsupported
	}
	return t.run.Open(t.ctx, t.Chat(), m)
}

// Typing shows the user that the bot is at work until the run ends, where the platform can
// show that; see docs/providers.md. It does not wait, and nothing depends on it.
func (t *Turn) Typing() {
	if signs, ok := t.midway.(botmesh.Signs); ok {
		signs.Typing()
	}
}

// Path are the steps that the turn has entered so far, in order, each with its flow:
// "order/item".
func (t *Turn) Path() []string { return slices.Clone(t.path) }

func (t *Turn) turn() *Turn { return t }

// Sends are the messages said so far, in order, without those of SendNow.
func (t *Turn) Sends() []botmesh.Send { return slices.DeleteFunc(slices.Clone(t.sends), unset) }
