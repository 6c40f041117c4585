package check

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// epoch is that of both journal and outbox in these stories.
const epoch = "e1"

// story tells a run step by step, as evidence of it would be found: each step takes
// a millisecond. It tells what it is told to, right or wrong.
type story struct {
	t     *testing.T
	now   int64
	began time.Time
	Evidence
	n     map[string]uint64 // events of each process
	ids   int
	chats map[string]*told
	fence uint64
}

// told is a chat as the story stands.
type told struct {
	key   botmesh.ChatKey
	cp    checkpoint.Checkpoint
	rev   uint64 // the last revision
	out   uint64 // the last letter
	link  uint64 // the last entry of the chain
	owner string
	fence uint64
	owed  []owed // letters without receipts
}

// owed is a letter that is to be delivered.
type owed struct {
	seq    uint64
	letter botmesh.Letter
}

func newStory(t *testing.T) *story {
	s := &story{t: t, began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), n: map[string]uint64{}, chats: map[string]*told{}}
	s.Bot, s.Lease, s.IdleWithin = "demo", 3*time.Second, 100*time.Millisecond
	s.Redis = []RedisKey{
		{Key: "botmesh:demo:{telegram.1}:turn", TTL: time.Hour, Fields: 5},
		{Key: "botmesh:demo:layout"}, // stays for good, as it should
	}
	s.Copies = Compare("BOT_demo_INBOX", map[string][]Held{"nats1": {{Seq: 1}}, "nats2": {{Seq: 1}}})
	return s
}

func (s *story) chat(n int64) *told {
	key := history.Telegram(n)
	c := s.chats[key]
	if c == nil {
		c = &told{key: botmesh.ChatKey{Provider: "telegram", Chat: strconv.FormatInt(n, 10)}}
		c.cp.Chat, c.cp.Epoch, c.cp.OutEpoch = c.key, epoch, epoch
		s.chats[key] = c
	}
	return c
}

// wall is the time of the story's clock.
func (s *story) wall() time.Time { return s.began.Add(time.Duration(s.now)) }

// note writes an event of a process, a millisecond after the last one.
func (s *story) note(process string, e history.Event) history.Event {
	s.now += int64(time.Millisecond)
	s.n[process]++
	e.T, e.Wall, e.Process, e.Start, e.N = s.now, s.wall(), process, process, s.n[process]
	s.Events = append(s.Events, e)
	return e
}

// op writes a call and its result, with what happens between them. A result without
// an outcome is not written: the process is dead by then.
func (s *story) op(process string, call, result history.Event, between func()) {
	call.Phase = history.Began
	began := s.note(process, call)
	if between != nil {
		between()
	}
	if result.Outcome == "" && result.Kind == "" {
		return
	}
	result.Kind, result.Chat, result.Phase, result.Of = call.Kind, call.Chat, history.Ended, began.N
	s.note(process, result)
}

// store adds a message to a stream and returns its place.
func (s *story) store(stream *[]jet.Stored, subject string, header nats.Header, body any) uint64 {
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			s.t.Fatal(err)
		}
	}
	s.now += int64(time.Millisecond)
	seq := uint64(len(*stream)) + 1
	*stream = append(*stream, jet.Stored{Msg: jet.Msg{Subject: subject, Header: header, Data: data}, Seq: seq, Time: s.wall()})
	return seq
}

// update is the id of a message that the bot answers with n texts.
func (s *story) update(n int) string {
	for {
		s.ids++
		if id := "u" + strconv.Itoa(s.ids); len(chain.Chain{}.Replies(id)) == n {
			return id
		}
	}
}

// post lets the platform post a message, and the ingress journal it, if it does.
func (s *story) post(c *told, id string, journaled bool) (seq uint64) {
	s.op("lab", history.Event{Kind: history.Webhook, Chat: c.key.Key(), ID: id, Target: "ingress1.1"},
		history.Event{Kind: history.Webhook, Status: 200}, func() {
			if journaled {
				seq = s.journal(c, id)
			}
		})
	return seq
}

func (s *story) journal(c *told, id string) uint64 {
	return s.store(&s.Inbox, "bot.in.demo."+c.key.Key(), nats.Header{
		nats.MsgIdHdr: {"demo:telegram:" + id}, "Bot-Type": {"message"},
	}, map[string]any{"v": 1, "message": map[string]any{"text": "hi"}})
}

// take grants a process the chat's turn.
func (s *story) take(c *told, w string) {
	s.fence += 10
	c.fence = s.fence
	s.op(w, history.Event{Kind: history.Take, Chat: c.key.Key()}, history.Event{Outcome: history.Granted, Fence: c.fence}, nil)
	s.op(w, history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: c.rev}, nil)
}

// commit applies a record: the next link of the chain, its letter, the cursor.
func (s *story) commit(c *told, w, id string, seq uint64) {
	last, _, err := chain.Read(c.cp.State)
	if err != nil {
		s.t.Fatal(err)
	}
	s.commitAs(c, w, id, seq, last.Next(id, fmt.Sprintf("n%d", s.now)))
}

// commitAs applies a record with any chain.
func (s *story) commitAs(c *told, w, id string, seq uint64, link chain.Chain) {
	var chat flow.Chat
	if err := link.Keep(&chat); err != nil {
		s.t.Fatal(err)
	}
	next := c.cp
	var err error
	if next.State, err = chat.Encode(); err != nil {
		s.t.Fatal(err)
	}
	next.Cursor, next.Effects, next.Recent = seq, nil, next.Recent.With(id)
	if texts := link.Replies(id); len(texts) > 0 {
		l := botmesh.Letter{ID: botmesh.LetterID(c.key, epoch, seq), Chat: c.key, At: s.wall()}
		for i, text := range texts {
			l.Parts = append(l.Parts, botmesh.Part{ID: fmt.Sprintf("%s/%d.0", l.ID, i), Send: botmesh.Send{Text: text}})
		}
		next.Effects = &checkpoint.Effects{At: s.wall(), Letter: &l}
	}
	s.write(c, w, next)
}

// write replaces the checkpoint.
func (s *story) write(c *told, w string, next checkpoint.Checkpoint) {
	next.Fence, next.Out = c.fence, c.out
	value, err := next.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	expect, nonce := c.rev, fmt.Sprintf("nonce%d", s.now)
	call := history.Event{Kind: history.Commit, Chat: c.key.Key(), ID: nonce, Expect: &expect, Fence: next.Fence, Cursor: next.Cursor}
	seq := uint64(len(s.Checkpoints)) + 1
	s.op(w, call, history.Event{Outcome: history.Done, Seq: seq}, func() {
		c.rev = s.store(&s.Checkpoints, "$KV.BOT_demo_CP."+c.key.Key(), nats.Header{
			"Bot-Nonce": {nonce}, jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(expect, 10)},
		}, value)
	})
	c.cp = next
}

// flush puts the letter of the last commit into the outbox.
func (s *story) flush(c *told, w string) {
	if c.cp.Effects == nil || c.cp.Effects.Letter == nil {
		return
	}
	l := *c.cp.Effects.Letter
	s.op(w, history.Event{Kind: history.Letter, Chat: c.key.Key(), ID: l.ID}, history.Event{Outcome: history.Done}, func() {
		c.out = s.store(&s.Outbox, "bot.out.demo."+c.key.Key(), nats.Header{"Bot-Id": {l.ID}}, l)
	})
	c.owed = append(c.owed, owed{c.out, l})
}

// claim makes a process the owner of the chat's receipts.
func (s *story) claim(c *told, w string) {
	c.owner = w
	s.entry(c, w, "claim", nil)
}

func (s *story) entry(c *told, w, kind string, r *botmesh.Receipt) {
	e := map[string]any{"v": 1, "id": fmt.Sprintf("entry%d", s.now), "by": w, "kind": kind, "through": c.link, "receipt": r}
	part := ""
	if r != nil {
		part = r.Part
	}
	s.op(w, history.Event{Kind: history.Chain, Chat: c.key.Key(), Entry: kind, Part: part}, history.Event{Outcome: history.Done}, func() {
		s.store(&s.Outbox, "bot.rcpt.demo."+c.key.Key(), nil, e)
	})
}

// call calls the platform with a part, which the user sees once for each outcome.
// The call has no answer if there is none.
func (s *story) call(c *told, w string, p botmesh.Part, answer history.Outcome, seen ...history.Outcome) {
	digest := history.Digest(p.Send.Text)
	s.op(w, history.Event{Kind: history.Call, Chat: c.key.Key(), Part: p.ID, Text: digest}, history.Event{Outcome: answer}, func() {
		for _, o := range seen {
			s.note("lab", history.Event{Kind: history.Platform, Chat: c.key.Key(), By: w, Text: digest, Outcome: o})
		}
	})
}

// receipt writes the receipt of a part, the last one of its letter or not.
func (s *story) receipt(c *told, w string, o owed, i int) {
	if i == len(o.letter.Parts)-1 {
		c.link = o.seq
	}
	s.entry(c, w, "receipt", &botmesh.Receipt{Part: o.letter.Parts[i].ID, Result: botmesh.ResultDelivered})
}

// deliver delivers all that is owed.
func (s *story) deliver(c *told, w string) {
	if len(c.owed) > 0 && c.owner != w {
		s.claim(c, w)
	}
	for _, o := range c.owed {
		for i, p := range o.letter.Parts {
			s.call(c, w, p, history.Done, history.Accepted)
			s.receipt(c, w, o, i)
		}
	}
	c.owed = nil
}

func (s *story) ack(c *told, w string, seq uint64) {
	s.op(w, history.Event{Kind: history.Ack, Chat: c.key.Key(), Seq: seq}, history.Event{Outcome: history.Done}, nil)
}

// message tells all of a message, in order.
func (s *story) message(c *told, w, id string) {
	seq := s.post(c, id, true)
	s.take(c, w)
	s.commit(c, w, id, seq)
	s.flush(c, w)
	s.deliver(c, w)
	s.ack(c, w, seq)
}

// again posts a message that was taken, and lets it stand in the journal a second
// time; the cursor passes it.
func (s *story) again(c *told, w, id string) {
	seq := s.post(c, id, true)
	s.take(c, w)
	next := c.cp
	next.Cursor, next.Effects = seq, nil
	s.write(c, w, next)
	s.ack(c, w, seq)
}

// before commits a send of a run that has not ended.
func (s *story) before(c *told, w string, seq uint64) {
	next := c.cp
	l := botmesh.Letter{ID: botmesh.EagerLetterID(c.key, epoch, seq, 0), Chat: c.key, At: s.wall()}
	l.Parts = []botmesh.Part{{ID: l.ID + ".0", Send: botmesh.Send{Text: fmt.Sprintf("one moment %d", seq)}}}
	next.Effects = &checkpoint.Effects{At: s.wall(), Letter: &l}
	next.During = &checkpoint.During{Record: seq, Epoch: epoch, Eager: 1}
	s.write(c, w, next)
}
