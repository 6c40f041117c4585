package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
)

// look reads all that is known of a chat. What is read changes meanwhile: the parts
// need not be of one moment.
func (rooms *Rooms) look(ctx context.Context, chat botmesh.ChatKey) (*Chat, error) {
	c := &Chat{Chat: chat.String(), Why: []string{}}
	say := func(format string, args ...any) { c.Why = append(c.Why, fmt.Sprintf(format, args...)) }
	pause, err := rooms.Pauses.Get(ctx, chat)
	if err != nil {
		return nil, err
	}
	if pause.On {
		c.Pause = &pause
		say("%s by %s %s%s", pausedWord(pause.Scope), pause.By, since(pause.Since), because(pause.Reason))
	}
	from, err := rooms.lookAtCheckpoint(ctx, chat, c, say)
	var asked bool
	if err == nil {
		asked, err = rooms.lookAtTurn(ctx, chat, c, say)
	}
	if err == nil {
		err = rooms.lookAtRecords(ctx, chat, from, asked, c, say)
	}
	if err == nil {
		err = rooms.lookAtOutbox(ctx, chat, c, say)
	}
	if err != nil {
		return nil, err
	}
	dead, err := rooms.Journal.DeadLetters(ctx, journal.Filter{Chat: chat, Limit: maxWaiting})
	if err != nil {
		return nil, err
	}
	if err := rooms.lookAtHeld(ctx, chat, c, say); err != nil {
		return nil, err
	}
	if c.Dead = len(dead); c.Dead > 0 {
		say("%d dead letters are kept: botmesh dlq ls --chat %s", c.Dead, c.Chat)
	}
	c.State = c.state(pause.On)
	c.known = pause.ID != "" || c.Checkpoint != nil || c.Turn != nil || c.Records.Waiting+c.Dead+len(c.Held) > 0 || c.Outbox.Last > 0
	switch {
	case len(c.Why) > 0:
	case c.Human:
		say("nothing waits: people have what its user writes, until /bot")
	case c.Question != nil:
		say("nothing waits but an answer of its user, at %s", c.Question)
	default:
		say("nothing waits")
	}
	return c, nil
}

// knows reports whether anything is kept of a chat.
func (rooms *Rooms) knows(ctx context.Context, chat botmesh.ChatKey) (bool, error) {
	pause, err := rooms.Pauses.Get(ctx, chat)
	if err != nil || pause.ID != "" {
		return err == nil, err
	}
	row, err := rooms.Store.Load(ctx, chat.Key())
	if err != nil || row.Revision > 0 {
		return err == nil, err
	}
	entries, err := rooms.Journal.List(ctx, journal.Filter{Chat: chat, Limit: 1})
	if err != nil || len(entries) > 0 {
		return err == nil, err
	}
	tail, err := rooms.Outbox.Last(ctx, chat)
	if err != nil || tail.Seq > 0 {
		return err == nil, err
	}
	dead, err := rooms.Journal.DeadLetters(ctx, journal.Filter{Chat: chat, Limit: 1})
	return len(dead) > 0, err
}

// unknown says that nothing is kept of a chat.
func unknown(chat botmesh.ChatKey) string {
	return fmt.Sprintf("this bot knows no chat %s: botmesh chats ls --all lists those that it knows", chat)
}

func (c *Chat) state(paused bool) State {
	switch {
	case paused:
		return StatePaused
	case c.State != "":
		return c.State
	case c.Checkpoint != nil && c.Checkpoint.Tries > 0 && c.Records.Waiting > 0:
		return StateRetrying
	case c.Turn != nil && c.Turn.Holder != "":
		return StateHeld
	case c.Records.Waiting > 0:
		return StateWaiting
	case c.Outbox.Waiting > 0:
		return StateUnsent
	}
	return StateIdle
}

type sayer func(format string, args ...any)

// lookAtCheckpoint returns the sequence from which records are not passed.
func (rooms *Rooms) lookAtCheckpoint(ctx context.Context, chat botmesh.ChatKey, c *Chat, say sayer) (uint64, error) {
	row, err := rooms.Store.Load(ctx, chat.Key())
	if err != nil || row.Revision == 0 {
		return 0, err
	}
	cp, err := checkpoint.Decode(row.Value)
	c.Checkpoint = &Checkpoint{Revision: row.Revision, Written: row.Written.UTC()}
	switch {
	case errors.Is(err, checkpoint.ErrNewerFormat):
		c.State = StateUnreadable
		say("only a newer build can serve it: %v", err)
		return 0, nil
	case err != nil:
		return 0, err
	}
	s := c.Checkpoint
	s.Epoch, s.Cursor, s.CursorAt, s.State, s.By, s.Deploy = cp.Epoch, cp.Cursor, cp.CursorAt, len(cp.State), cp.By, cp.Deploy
	s.Effects = cp.Effects != nil
	c.Question, c.Human = rooms.placeOf(ctx, cp)
	for _, t := range cp.Timers {
		s.Timers = append(s.Timers, Timer{t.Name, t.At.UTC()})
	}
	if d := cp.During; d != nil {
		s.During, s.Eager = d.Record, d.Eager
	}
	if t := cp.Tries; t != nil {
		s.Tried, s.Tries, s.Deaths, s.NotBefore, s.Error = t.Record, t.N, t.Deaths, t.NotBefore, t.Error
		if t.N > 0 {
			say("record %d failed %d times, the next try is %s: %s", t.Record, t.N, until(t.NotBefore), t.Error)
		}
		if !t.Stranded.IsZero() {
			c.State, s.Stranded = StateUnreadable, t.Stranded.UTC()
			say("record %d waits %s for a build that can go on from its state, which %s wrote: %s. Deploy one. Its user's /cancel leads out of a flow; chats pause and then chats resume --forget give all up that is kept of the chat",
				t.Record, since(t.Stranded), writer(cp), t.Error)
		}
		if t.Deaths > 0 {
			say("%s of record %d ended with their process", count(t.Deaths, "1 run", "%d runs"), t.Record)
		}
	}
	if cp.Claim != nil && cp.Claim.Alone {
		say("a record that may end its process runs with nothing beside it in %s", cp.Claim.Incarnation)
	}
	if cp.Epoch != rooms.Journal.Epoch() {
		return 1, nil
	}
	return cp.Cursor + 1, nil
}

// writer is who committed a chat's state.
func writer(cp checkpoint.Checkpoint) string {
	who := cmp.Or(cp.By, "an earlier build")
	if cp.Deploy > 0 {
		who += fmt.Sprintf(" (deploy %d)", cp.Deploy)
	}
	return who
}

// lookAtTurn reports whether somebody has the chat's turn, or waits for it; true too where
// that can not be told.
func (rooms *Rooms) lookAtTurn(ctx context.Context, chat botmesh.ChatKey, c *Chat, say sayer) (asked bool, err error) {
	if rooms.Turns == nil {
		say("who holds it can not be told here: %s", rooms.Coordination)
		return true, nil
	}
	view, err := rooms.Turns.Inspect(ctx, coord.KindTurn, chat.Key())
	switch {
	case errors.Is(err, botmesh.ErrNotFound):
		return false, nil
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case err != nil:
		say("who holds it is not known: %s does not answer", rooms.Coordination)
		return true, nil
	}
	c.Turn = turnOf(view)
	if view.Holder != "" {
		say("%s has its turn %s", view.Holder, since(view.Since))
		if alive, err := rooms.Turns.Alive(ctx, view.Holder); err == nil && !alive {
			say("it gives no sign of life: its lease runs out in %s, and the next one has the turn", round(view.Left))
		}
	}
	if n := len(view.Waiting); n > 0 {
		say("%s, the next one is of %s", count(n, "1 ticket is in line", "%d tickets are in line"), view.Waiting[0].Incarnation)
	}
	if view.Deaths > 0 {
		say("the leases of its last %d holders ran out", view.Deaths)
	}
	return view.Holder != "" || len(view.Waiting) > 0, nil
}

func turnOf(v coord.View) *Turn {
	t := &Turn{Holder: v.Holder, Since: v.Since.UTC(), Left: v.Left, Fence: v.Fence, Before: v.Previous.Incarnation, Deaths: v.Deaths}
	if v.Holder == "" {
		t.Since = time.Time{}
	}
	for _, w := range v.Waiting {
		t.Line = append(t.Line, w.Incarnation)
	}
	return t
}

func (rooms *Rooms) lookAtRecords(ctx context.Context, chat botmesh.ChatKey, from uint64, asked bool, c *Chat, say sayer) error {
	entries, err := rooms.Journal.List(ctx, journal.Filter{Chat: chat, From: from, Limit: maxWaiting})
	if err != nil || len(entries) == 0 {
		return err
	}
	first := entries[0].Record
	c.Records = Records{Waiting: len(entries), More: len(entries) == maxWaiting, First: first.Seq, Oldest: first.Stored.UTC()}
	say("%s, the first is %d, a %s, %s", count(len(entries), "1 record waits", "%d records wait"), first.Seq, first.Type, since(first.Stored))
	if !asked && c.State != StateUnreadable && (c.Pause == nil || !c.Pause.StopsTurns()) {
		say("nobody asked for its turn: is a worker there, and does it reach NATS and Redis?")
	}
	return nil
}

func (rooms *Rooms) lookAtOutbox(ctx context.Context, chat botmesh.ChatKey, c *Chat, say sayer) error {
	tail, err := rooms.Outbox.Last(ctx, chat)
	if err != nil || tail.Seq == 0 {
		return err
	}
	end, err := rooms.Outbox.End(ctx, chat)
	if err != nil {
		return err
	}
	c.Outbox = Outbox{Last: tail.Seq, Settled: end.Settled}
	if err := rooms.lookForLoss(ctx, chat, c, say); err != nil {
		return err
	}
	if end.Settled >= tail.Seq {
		return nil
	}
	letters, err := rooms.Outbox.Letters(ctx, chat, end.Settled+1, maxWaiting)
	if err != nil || len(letters) == 0 {
		return err
	}
	o := &c.Outbox
	o.Waiting, o.Oldest = len(letters), letters[0].At.UTC()
	o.Tries, o.NotBefore, o.Doubt = end.Tries, end.NotBefore, end.Doubt
	say("%s, the first %s", count(o.Waiting, "1 letter is not delivered", "%d letters are not delivered"), since(o.Oldest))
	if time.Now().Before(o.NotBefore) {
		say("its next part is put off %s, after %d calls in vain", until(o.NotBefore), o.Tries)
	}
	if !end.Free && end.Seq > 0 {
		o.Owner = end.By
		say("%s delivers them, or did when it last wrote, %s", end.By, since(end.At))
	}
	if o.Doubt > 0 {
		say("%s", count(o.Doubt, "1 part may have reached the platform without a receipt", "%d parts may have reached the platform without a receipt"))
	}
	return nil
}

// lookForLoss tells of a chat that was answered and has no checkpoint. It looks again: the
// chat's first answer may have come since.
func (rooms *Rooms) lookForLoss(ctx context.Context, chat botmesh.ChatKey, c *Chat, say sayer) error {
	if c.Checkpoint != nil {
		return nil
	}
	row, err := rooms.Store.Load(ctx, chat.Key())
	if err == nil && row.Revision == 0 {
		say("its checkpoint is lost, though it was answered: its next message would run all that the journal keeps. botmesh chats pause %s at once, then rebuild it with the program of your bot", c.Chat)
	}
	return err
}

func (rooms *Rooms) lookAtHeld(ctx context.Context, chat botmesh.ChatKey, c *Chat, say sayer) error {
	letters, err := rooms.held(ctx, chat)
	for _, l := range letters {
		c.Held = append(c.Held, heldOf(l))
	}
	if len(letters) > 0 {
		say("%s as they may have reached the platform, the first %s: ask the user, then botmesh outbox release or drop %s --part=%s",
			count(len(letters), "1 part is held", "%d parts are held"), since(letters[0].At), c.Chat, letters[0].Part)
	}
	return err
}

// count says how many there are, in the words for one of them or for several.
func count(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(several, n)
}

// since and until say a time as people do, beside when it is.
func since(t time.Time) string {
	return fmt.Sprintf("since %s (%s)", t.UTC().Format(time.RFC3339), round(time.Since(t)))
}

func until(t time.Time) string {
	if left := time.Until(t); left > 0 {
		return fmt.Sprintf("at %s (in %s)", t.UTC().Format(time.RFC3339), round(left))
	}
	return "due"
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
