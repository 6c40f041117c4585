package flowtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Bot is what is played, a *bot.Bot most of the time.
type Bot interface {
	// Turn runs one record and decides what it does.
	Turn(ctx context.Context, run botmesh.Run, midway botmesh.Midway) (botmesh.Outcome, error)
}

// chat is one conversation as its engine sees it: the state of the last commit
// and the journal's end.
type chat struct {
	bot     Bot
	lives   *flow.Lives // of the replica that has the chat
	state   []byte
	seq     uint64
	now     time.Time
	armed   []botmesh.Timer
	fired   botmesh.Timer // of the record that runs, if it is of a timer
	fence   uint64
	replica int                        // that has the chat, by number
	by      int                        // the replica that committed the state, zero without one
	locale  string                     // of the user's messages
	user    map[string]json.RawMessage // what is kept of the one user there is
	told    []botmesh.Command          // to other chats, not looked at yet
	count   int                        // of the bot's messages, which are their ids
	buttons []botmesh.Button           // of the last message that has some
	offered string                     // the id of that message
	files   map[string]string          // that the user sent, by their reference
}

func newChat(b Bot) *chat { return &chat{bot: b, lives: flow.NewLives(nil)} }

// stop ends what the replica has in memory. The error is of a live conversation whose
// function does not return.
func (c *chat) stop() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second, errStays)
	defer cancel()
	return c.lives.Close(ctx)
}

var errStays = errors.New("a live conversation does not end: its function must return when flow.Wait returns an error")

// played is the key of the chat that is played.
var played = botmesh.ChatKey{Provider: "test", Chat: "1"}

// journal makes r the chat's next record.
func (c *chat) journal(r botmesh.Record) botmesh.Record {
	c.seq++
	r.Epoch, r.Seq = "test", c.seq
	c.now = c.now.Add(time.Second)
	r.Stored = c.now
	r.ID = strconv.FormatUint(c.seq, 10)
	if r.Type != botmesh.TypeTimer && r.Failed == nil { // which nobody said
		r.User = cmp.Or(r.User, "user")
		r.Message.Locale = cmp.Or(r.Message.Locale, c.locale)
	}
	r.Chat = cmp.Or(r.Chat, played)
	return r
}

// run is a try of a record, counted from 1, on a replica that just got the chat.
// Of what it does only m remains.
func (c *chat) run(ctx context.Context, r botmesh.Record, try int, m *midway) (botmesh.Outcome, error) {
	c.fence++
	m.skip = len(m.sent)
	if m.user == nil {
		m.user = maps.Clone(c.user)
	}
	run := botmesh.Run{
		Record: r, State: slices.Clone(c.state), Kept: m.kept, Try: try, Fence: c.fence, Now: r.Stored, Timer: c.fired,
		Open: c.open,
	}
	if c.by != c.replica {
		run.From = incarnation(c.by)
	}
	var during botmesh.Midway = m
	if len(m.coming) > 0 {
		during = &overhearing{m, m.coming}
	}
	o, err := c.turn(ctx, run, during)
	if err != nil {
		return o, err
	}
	return valid(o)
}

// turn runs a record in the process that has the chat.
func (c *chat) turn(ctx context.Context, run botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	if b, ok := c.bot.(interface {
		TurnIn(context.Context, *flow.Lives, botmesh.Run, botmesh.Midway) (botmesh.Outcome, error)
	}); ok {
		return b.TurnIn(ctx, c.lives, run, m)
	}
	return c.bot.Turn(ctx, run, m)
}

// incarnation names a replica, empty for none.
func incarnation(replica int) string {
	if replica == 0 {
		return ""
	}
	return fmt.Sprintf("replica%d", replica)
}

// handedOver tells the bot of a conversation that came from another replica.
func (c *chat) handedOver(ctx context.Context, m botmesh.Handover, from int) {
	if observer, ok := c.bot.(interface {
		HandedOver(context.Context, botmesh.Handover)
	}); ok {
		m.From, m.To = incarnation(from), incarnation(c.replica)
		observer.HandedOver(ctx, m)
	}
}

// commit takes an outcome and returns all that the record said, eager sends first, each as
// it is in the end.
func (c *chat) commit(o botmesh.Outcome, m *midway) []botmesh.Send {
	said := slices.Clone(m.sent)
	if !o.Ignored {
		from := c.by
		if c.by = 0; len(o.State) > 0 {
			c.by = c.replica
		}
		c.state = o.State
		for _, s := range o.Sends {
			if s.Replaces > 0 && s.Replaces <= len(m.sent) && s.Media == nil {
				said[s.Replaces-1] = s // an edit of that message
			} else {
				said = append(said, s)
			}
		}
		if o.Handover != nil {
			c.handedOver(context.Background(), *o.Handover, from)
		}
		for _, name := range o.Disarm {
			c.disarm(name)
		}
		for _, t := range o.Arm {
			c.disarm(t.Name)
			c.armed = append(c.armed, t)
		}
		c.told = append(c.told, o.Commands...)
		if c.user == nil {
			c.user = map[string]json.RawMessage{}
		}
		maps.Copy(c.user, o.User)
		maps.DeleteFunc(c.user, func(_ string, value json.RawMessage) bool { return value == nil })
	}
	for _, s := range said {
		id := s.Edits
		if id == "" || s.Media != nil {
			c.count++
			id = strconv.Itoa(c.count)
		}
		if len(s.Buttons) > 0 || id == c.offered {
			c.buttons, c.offered = slices.Concat(s.Buttons...), id
		}
	}
	return said
}

// advance lets time pass, and hands each timer that becomes due to run, as a record. It
// ends early, and reports false, if run does.
func (c *chat) advance(d time.Duration, run func(r botmesh.Record) bool) bool {
	until := c.now.Add(d)
	for {
		timer, ok := c.due(until)
		if !ok {
			break
		}
		if timer.At.After(c.now) {
			c.now = timer.At
		}
		c.fired = timer
		ok = run(c.journal(botmesh.Record{Type: botmesh.TypeTimer, Timer: timer.Name}))
		if c.fired = (botmesh.Timer{}); !ok {
			return false
		}
	}
	if c.now.Before(until) {
		c.now = until
	}
	return true
}

func (c *chat) disarm(name string) {
	c.armed = slices.DeleteFunc(c.armed, func(t botmesh.Timer) bool { return t.Name == name })
}

// due takes out the timer that is due first, if one is by a time.
func (c *chat) due(by time.Time) (botmesh.Timer, bool) {
	first := slices.MinFunc(append(slices.Clone(c.armed), botmesh.Timer{At: by.Add(1)}), func(a, b botmesh.Timer) int { return a.At.Compare(b.At) })
	if first.At.After(by) {
		return botmesh.Timer{}, false
	}
	c.disarm(first.Name)
	return first, true
}

// message is what a user writes.
func message(text string) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: text}}
}

// tap is a press of a button of the last message that had some.
func (c *chat) tap(label string) (botmesh.Record, error) {
	var labels []string
	for _, b := range c.buttons {
		if b.Label == label {
			return c.pressed(b), nil
		}
		labels = append(labels, b.Label)
	}
	return botmesh.Record{}, fmt.Errorf("tap: got buttons %q, want %q among them", labels, label)
}

// pressed is a press of one of the buttons.
func (c *chat) pressed(b botmesh.Button) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: b.Payload, Of: c.offered}}
}

// midway is what runs of one record do before they end.
type midway struct {
	kept []byte
	sent []botmesh.Send
	user map[string]json.RawMessage // as the first run found it
	skip int                        // calls of SendNow that only repeat those of an earlier run

	coming []botmesh.Record // right after the record
}

// overhearing is a midway that tells what is there already of what comes next.
type overhearing struct {
	*midway
	left []botmesh.Record
}

var errQuiet = errors.New("flowtest: nothing comes")

func (m *overhearing) Next(context.Context) (botmesh.Record, error) {
	if len(m.left) == 0 {
		return botmesh.Record{}, errQuiet
	}
	r := m.left[0]
	m.left = m.left[1:]
	return r, nil
}

// Interrupt is refused: what would interrupt comes later.
func (m *overhearing) Interrupt(context.Context) error { return errQuiet }

func (m *midway) SendNow(ctx context.Context, s botmesh.Send) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.skip > 0 {
		m.skip--
		return nil
	}
	if err := s.Validate(); err != nil {
		return err
	}
	m.sent = append(m.sent, s)
	return nil
}

func (m *midway) User(context.Context) (map[string]json.RawMessage, error) {
	return maps.Clone(m.user), nil
}

func (m *midway) Keep(_ context.Context, kept []byte) error {
	m.kept = slices.Clone(kept)
	return nil
}
