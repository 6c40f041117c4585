package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// orderOf reads what a record asks for: of the bot, or to be sent as it is.
func orderOf(body []byte) (o order, told []string) {
	var b struct {
		Message botmesh.Message `json:"message"`
		Sends   []botmesh.Send  `json:"sends"`
	}
	if json.Unmarshal(body, &b) == nil {
		_ = json.Unmarshal([]byte(b.Message.Text), &o) // an event of ours and a command have no text
	}
	for _, s := range b.Sends {
		told = append(told, shown(s))
	}
	return o, told
}

// checkpointed looks at a checkpoint that landed, against the one it replaced.
func (j *judge) checkpointed(p *process, c *chat, m jet.Publish, seq uint64) {
	now := time.Now()
	if !c.ends.IsZero() && !now.Before(c.ends) {
		c.rev, c.cp = 0, checkpoint.Checkpoint{} // its time passed,
		clear(c.applied)                         // and with it the ids it remembered
	}
	is, err := checkpoint.Decode(m.Data)
	if err != nil {
		j.fail("C1", c.key, "%s wrote a checkpoint that can not be read: %v", p.name, err)
		return
	}
	was := c.cp
	j.s.note("checkpoint %d: cursor %d of %s, fence %d, effects %s, during %+v, tries %+v", seq, is.Cursor, is.Epoch, is.Fence, effects(is), is.During, is.Tries)
	switch {
	case m.Expect == nil || *m.Expect != c.rev:
		j.fail("I3", c.key, "%s replaced revision %d without naming it", p.name, c.rev)
	case is.Fence < was.Fence:
		j.fail("I6", c.key, "the fence falls from %d to %d", was.Fence, is.Fence)
	case is.Epoch == was.Epoch && is.Cursor < was.Cursor:
		j.fail("I3", c.key, "the cursor falls from %d to %d", was.Cursor, is.Cursor)
	case !j.confirmed(c) && now.Sub(was.Effects.At) < j.s.weather.retention/2 && is.OutEpoch == was.OutEpoch:
		j.fail("I10", c.key, "%s replaced effects that are not confirmed: %s", p.name, effects(was))
	case is.Out != c.last && j.s.weather.idle == 0:
		j.fail("C1", c.key, "out is %d, the chat's last letter is at %d", is.Out, c.last)
	}
	moved := is.Cursor
	if is.Epoch == was.Epoch {
		moved -= was.Cursor
	}
	if moved > 0 {
		j.applied(c, was, is)
	}
	if moved == 0 || is.During != nil {
		j.midway(c, was, is)
	}
	j.tried(c, was, is)
	c.rev, c.cp, c.ends, c.late = seq, is, time.Time{}, nil
	if is.Epoch != j.s.epochs[inbox] {
		c.late, c.posthumous = p, p.left
	}
	if k := is.Claim; k != nil && k.Alone && (p.dead || p.left) && (was.Claim == nil || *was.Claim != *k) {
		j.head(c).alone++
	}
	if m.TTL > 0 {
		c.ends = now.Add(m.TTL)
		if m.TTL < 2*j.s.weather.retention || is.State != nil || len(is.Timers) > 0 {
			j.fail("C10", c.key, "a checkpoint goes after %v, its state is %q", m.TTL, is.State)
		}
	}
}

func effects(c checkpoint.Checkpoint) string {
	switch e := c.Effects; {
	case e == nil:
		return "none"
	case e.Dead != nil:
		return fmt.Sprint("dead letter of ", e.Dead.Seq)
	case e.Letter != nil:
		return "letter " + e.Letter.ID
	default:
		return fmt.Sprint("timers ", e.Arm, e.Disarm)
	}
}

// applied looks at a commit that moved the cursor.
func (j *judge) applied(c *chat, was, is checkpoint.Checkpoint) {
	for _, r := range c.records {
		if r.epoch != is.Epoch || r.seq >= is.Cursor || is.Epoch == was.Epoch && r.seq <= was.Cursor || r.optional || r.done {
			continue
		}
		if !c.ignores(r, was) {
			j.fail("I1", c.key, "record %s at %d is passed unrun by a cursor at %d", r.id, r.seq, is.Cursor)
		}
		r.done = true
	}
	r := j.records[place(is.Epoch, is.Cursor)]
	if r == nil || r.chat != c.key {
		j.fail("I2", c.key, "the cursor is at %d of %s, where no record of the chat is", is.Cursor, is.Epoch)
		return
	}
	r.done = true
	// A write in mid-turn may take the cursor along past records without effect.
	ran := !bytes.Equal(was.State, is.State) || is.Effects != nil && is.Effects.Letter != nil && is.During == nil
	set := is.Effects != nil && is.Effects.Dead != nil
	switch {
	case set && !failsBy(r, is.Effects.Dead.Error):
		j.fail("N5", c.key, "record %s is set aside, and nothing is wrong with it", r.id)
	case !ran && !set && !c.ignores(r, was) && !r.optional:
		j.fail("I1", c.key, "record %s has no effect", r.id)
	case (ran || set) && c.applied[r.id]:
		j.fail("I1", c.key, "record %s takes effect twice", r.id)
	case (ran || set) && r.timer != "" && !armed(was, r.timer):
		j.fail("N7", c.key, "timer %s counts and is not armed", r.timer)
	}
	if set && strings.HasPrefix(is.Effects.Dead.Error, "its process ended") {
		j.s.stats["convicted"]++
	}
	if ran || set {
		c.applied[r.id] = true
		c.history = append(c.history, r.id)
		j.s.stats["applied"]++
	}
	if ran {
		j.remembers(c, r, was, is)
	}
}

// ignores reports whether a record is to have no effect on the chat.
func (c *chat) ignores(r *record, was checkpoint.Checkpoint) bool {
	return r.event || c.applied[r.id] || r.timer != "" && !armed(was, r.timer)
}

func armed(cp checkpoint.Checkpoint, id string) bool {
	return slices.ContainsFunc(cp.Timers, func(t checkpoint.Armed) bool { return t.ID == id })
}

// remembers looks at what a run made of the state, and at what it says.
func (j *judge) remembers(c *chat, r *record, was, is checkpoint.Checkpoint) {
	run := ""
	switch {
	case r.told != nil:
		j.told(c, r, was, is)
	case is.State != nil:
		var before, after memory
		_ = json.Unmarshal(was.State, &before) // nothing at first
		if err := json.Unmarshal(is.State, &after); err != nil {
			j.fail("I1", c.key, "state: %v", err)
		}
		if after.N != before.N+1 || after.Prev != before.Run || after.ID != r.id {
			j.fail("I1", c.key, "record %s made %+v of %+v", r.id, after, before)
		}
		if d := was.During; r.order.Keep && (d == nil || d.Record != r.seq || string(d.Kept) != after.Kept) {
			j.fail("C2", c.key, "record %s goes by %q, kept is %+v", r.id, after.Kept, d)
		}
		run = after.Run
	}
	if is.Effects != nil && is.Effects.Letter != nil {
		j.committed(c, is.Effects, botmesh.LetterID(is.Chat, is.Epoch, is.Cursor), run)
	}
	if is.Effects != nil {
		j.sent(c, r, is.Effects.Commands, run)
	}
}

// told looks at what a command did: what it orders is sent, and the conversation
// stays as it was.
func (j *judge) told(c *chat, r *record, was, is checkpoint.Checkpoint) {
	var said []string
	if is.Effects != nil && is.Effects.Letter != nil {
		for _, p := range is.Effects.Letter.Parts {
			said = append(said, shown(p.Send))
		}
	}
	if !bytes.Equal(was.State, is.State) || !slices.Equal(said, r.told) {
		j.fail("C9", c.key, "command %s changed %q to %q and said %q, want %q", r.id, was.State, is.State, said, r.told)
	}
	j.s.stats["told"]++
}

// midway looks at a commit that left the cursor where it was.
func (j *judge) midway(c *chat, was, is checkpoint.Checkpoint) {
	if !bytes.Equal(was.State, is.State) {
		j.fail("C2", c.key, "the state changed and the cursor did not")
	}
	if d := was.During; d != nil && is.Cursor == was.Cursor && is.Epoch == was.Epoch && (is.During == nil || is.During.Record != d.Record || is.During.Eager < d.Eager) {
		if r := j.records[place(d.Epoch, d.Record)]; r == nil || !r.optional {
			j.fail("C2", c.key, "what was kept of %d is lost", d.Record)
		}
	}
	e := is.Effects
	switch {
	case e == nil || e.Letter == nil && e.Dead == nil: // timers that are armed again
	case e.Letter == nil || is.During == nil:
		j.fail("C2", c.key, "effects of no record: %s", effects(is))
	default:
		n := is.During.Eager - 1
		j.committed(c, e, botmesh.EagerLetterID(is.Chat, is.During.Epoch, is.During.Record, n), "")
		if text := e.Letter.Parts[0].Send.Text; !strings.HasSuffix(text, fmt.Sprint(" e", n)) {
			j.fail("C7", c.key, "the %d-th eager letter of %d says %q", n, is.During.Record, text)
		}
	}
}

// committed takes a letter down.
func (j *judge) committed(c *chat, e *checkpoint.Effects, id, run string) {
	l := &letter{Letter: *e.Letter}
	if l.ID != id {
		j.fail("O1", c.key, "a letter is called %s, want %s", l.ID, id)
	}
	index := 0
	for _, o := range c.letters {
		if o.ID == l.ID {
			j.fail("O2", c.key, "letter %s is committed twice", l.ID)
		}
		index += len(o.parts)
	}
	for i, p := range e.Letter.Parts {
		if p.Send.Media != nil {
			j.s.stats["file"]++
		}
		if run != "" && !strings.Contains(p.Send.Text, run+" ") {
			j.fail("I5", c.key, "a letter of run %s says %q", run, p.Send.Text)
		}
		l.parts = append(l.parts, &part{id: p.ID, text: shown(p.Send), index: index + i})
	}
	c.letters = append(c.letters, l)
}

// tried looks at what a checkpoint says of failed tries.
func (j *judge) tried(c *chat, was, is checkpoint.Checkpoint) {
	old := was.Tries
	if old == nil {
		old = &checkpoint.Tries{}
	}
	same := is.Tries != nil && is.Tries.Record == old.Record && is.Tries.Epoch == old.Epoch
	ended := is.Epoch == old.Epoch && is.Cursor == old.Record && is.Epoch == was.Epoch
	if (same && is.Tries.N > old.N || ended) && time.Now().Before(old.NotBefore) {
		j.fail("N5", c.key, "record %d was run before %v", old.Record, old.NotBefore)
	}
	switch {
	case is.Tries == nil || is.Tries.N == 0:
	case same && (is.Tries.N < old.N || is.Tries.N > old.N+1) || !same && is.Tries.N > 1:
		j.fail("N5", c.key, "tries go from %+v to %+v", old, is.Tries)
	case is.Tries.N >= tries:
		j.fail("N5", c.key, "%d tries", is.Tries.N)
	case is.Tries.NotBefore.IsZero():
		j.fail("N5", c.key, "after %d tries it is run again at once", is.Tries.N)
	default:
		if r := j.records[place(is.Tries.Epoch, is.Tries.Record)]; r != nil && !failsBy(r, is.Tries.Error) {
			j.fail("N5", c.key, "record %s has spent %d tries on %q", r.id, is.Tries.N, is.Tries.Error)
		}
	}
}

// failsBy reports whether an error is of the record's own: the bot's, or that it
// took too long, or that processes died while it ran alone in them.
func failsBy(r *record, err string) bool {
	if strings.HasPrefix(err, "its process ended") {
		return r.order.Kill || r.alone >= 2
	}
	return r.order.Fail > 0 && strings.Contains(err, errFails.Error()) || strings.HasSuffix(err, string(botmesh.LossSettled))
}
