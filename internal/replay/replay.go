// Package replay runs the records of a chat again, from the first one, into a
// scratch checkpoint: what the bot would say and remember, without sending or
// writing anything ([Dry]), or where that is not what it said ([Against]); and it writes a
// chat's lost checkpoint anew from them ([Rebuild]).
//
// It follows the rules of a worker: a repeated record has no effect, a failing
// one is tried again and at last set aside, what a run kept or sent early is
// there when it is tried again. What was said in quick succession, by the journal's times,
// is one message where the bot wants it so. It does not wait between tries, and nothing
// joins or interrupts a handler at work. What a handler does itself, outside Botmesh, it
// does again.
//
// What belongs here: the runs, and what is to be known before their result may be
// written.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/limit"
	"github.com/botmesh-go/botmesh/journal"
)

// Runner runs one record of a bot.
type Runner interface {
	Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error)
}

// Config configures a [Chat]. All but PassesOver is required.
type Config struct {
	Runner Runner
	// Tries is how often a failing record is run, Settle how long one run may take that
	// says nothing else.
	Tries  int
	Settle time.Duration
	// PassesOver reports whether an operator who resumed the chat wants what a user did
	// there, or a timer, to have no effect. Defaults to nothing of the kind.
	PassesOver func(botmesh.Record) bool

	compares bool                           // nothing is done outside Botmesh
	now      func(botmesh.Record) time.Time // of a run; defaults to when its record was stored
}

// Result says what a record came to.
type Result string

// The results of a record.
const (
	Applied   Result = "applied"   // it took effect
	Ignored   Result = "ignored"   // the bot does nothing with such a record, or is not to
	Duplicate Result = "duplicate" // it took effect before
	SetAside  Result = "set aside" // it failed too often, or can not be read
	Joined    Result = "joined"    // it is part of the message before it
)

// Step is what one record did.
type Step struct {
	Seq    uint64             `json:"seq"`
	Stored time.Time          `json:"stored"`
	Type   botmesh.RecordType `json:"type"`
	Text   string             `json:"text,omitempty"`
	Result Result             `json:"result"`
	// Tries counts the runs, Error is that of the last one that failed.
	Tries int    `json:"tries,omitempty"`
	Error string `json:"error,omitempty"`
	// Sends are what would have been sent, in order, early ones first.
	Sends []botmesh.Send `json:"sends,omitempty"`
	// Commands are what would have been asked of other chats.
	Commands []botmesh.Command `json:"commands,omitempty"`

	early int    // so many of Sends were sent before the run's end
	heeds bool   // the run would have heard of what came while it was at work
	did   string // what it wanted to do outside Botmesh and was not to
}

// Chat is a chat that is replayed. Not safe for concurrent use.
type Chat struct {
	cfg     Config
	scratch checkpoint.Checkpoint
	users   map[string]checkpoint.User // as this chat alone left them
	joined  []botmesh.Record           // of the last run, not passed yet
}

// New begins a chat with nothing remembered.
func New(cfg Config) *Chat { return &Chat{cfg: cfg, users: map[string]checkpoint.User{}} }

// Checkpoint is the chat's checkpoint after the records so far.
func (c *Chat) Checkpoint() checkpoint.Checkpoint { return c.scratch }

// Next runs the chat's next record. Of what is ahead of it those that follow in quick
// succession may join it; up to botmesh.MaxAlso are looked at. The error is ctx's.
func (c *Chat) Next(ctx context.Context, e journal.Entry, ahead ...journal.Entry) (Step, error) {
	r := e.Record
	step := Step{Seq: r.Seq, Stored: r.Stored, Type: r.Type, Text: r.Message.Text}
	if r.Message.Payload != "" {
		step.Text = r.Message.Payload
	}
	switch {
	case e.Err != nil:
		step.Result, step.Error = SetAside, e.Err.Error()
	case c.joins(r):
		step.Result = Joined
	case c.scratch.Recent.Has(r.ID):
		step.Result = Duplicate
	case c.passedOver(r), r.Type == botmesh.TypeTimer && !c.armed(r.Timer):
		step.Result = Ignored
	default:
		if err := c.run(ctx, r, ahead, &step); err != nil {
			return Step{}, err
		}
	}
	c.scratch.Epoch, c.scratch.Cursor, c.scratch.CursorAt = r.Epoch, r.Seq, r.Stored
	c.scratch.During = nil
	c.heard(r)
	if step.Result != Duplicate && !(r.Type == botmesh.TypeTimer && c.passedOver(r)) { // such a timer fires again
		c.scratch.Recent = c.scratch.Recent.With(r.ID)
	}
	return step, nil
}

// joins reports whether a record joined the run before it.
func (c *Chat) joins(r botmesh.Record) bool {
	return slices.ContainsFunc(c.joined, func(j botmesh.Record) bool { return j.Seq == r.Seq })
}

// run tries a record until it ends.
func (c *Chat) run(ctx context.Context, r botmesh.Record, ahead []journal.Entry, step *Step) error {
	c.scratch.During, c.joined = &checkpoint.During{Record: r.Seq, Epoch: r.Epoch}, nil
	for step.Tries < c.cfg.Tries {
		step.Tries++
		out, more, err := c.try(ctx, r, ahead, step)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			step.Error = err.Error()
			continue
		case out.Ignored:
			step.Result = Ignored
		default:
			step.Result = Applied
			step.Sends = append(step.Sends, out.Sends...)
			c.scratch.State = out.State
			c.setTimers(r, out)
			step.Commands = out.Commands
			u := c.users[r.User]
			c.users[r.User], _ = u.With(u.Change(r.User, r.ID, r.Stored, out.User), time.Time{})
		}
		c.joined = more
		return nil
	}
	step.Result = SetAside
	return nil
}

// try runs a record once, and returns what it came to and which records joined it.
func (c *Chat) try(ctx context.Context, r botmesh.Record, ahead []journal.Entry, step *Step) (botmesh.Outcome, []botmesh.Record, error) {
	ctx, settle, cancel := limit.Within(ctx, c.cfg.Settle, context.DeadlineExceeded)
	defer cancel()
	m := &midway{compares: c.cfg.compares, during: c.scratch.During, step: step, user: c.users[r.User], Limit: settle, quick: quick{
		ahead: ahead[:min(len(ahead), botmesh.MaxAlso)], passed: r.Stored, shut: c.passedOver,
		skip: func(next botmesh.Record) bool { return next.ID == r.ID || c.scratch.Recent.Has(next.ID) },
	}}
	out, err := c.cfg.Runner.Run(ctx, botmesh.Run{
		Record: r, State: c.scratch.State, Kept: c.scratch.During.Kept, Timer: c.timer(r.Timer), Try: step.Tries, Now: c.now(r),
	}, m)
	step.early, step.heeds = c.scratch.During.Eager, step.heeds || m.heeds.Load()
	if err != nil {
		return out, nil, err
	}
	more, err := m.quick.through(out.Through)
	return out, more, err
}

func (c *Chat) now(r botmesh.Record) time.Time {
	if c.cfg.now != nil {
		return c.cfg.now(r)
	}
	return r.Stored
}

// midway keeps what a run commits before it ends.
type midway struct {
	during *checkpoint.During
	step   *Step
	sent   int // by this try
	user   checkpoint.User
	quick  quick
	heeds  atomic.Bool // it listens while it is at work
	*limit.Limit

	compares bool
}

var errOutside = errors.New("replay: nothing is done outside Botmesh while answers are compared")

// MayDo implements [botmesh.Outside].
func (m *midway) MayDo(name string) error {
	if !m.compares {
		return nil
	}
	m.step.did = name
	return errOutside
}

func (m *midway) Keep(_ context.Context, kept []byte) error {
	m.during.Kept = kept
	return nil
}

func (m *midway) User(context.Context) (map[string]json.RawMessage, error) {
	return m.user.Values(), nil
}

func (m *midway) SendNow(_ context.Context, s botmesh.Send) error {
	if m.sent++; m.sent > m.during.Eager {
		m.during.Eager = m.sent
		m.step.Sends = append(m.step.Sends, s)
	}
	return nil
}
