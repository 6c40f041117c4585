package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
)

// brokenStory is a run with one promise broken, and how the judge tells of it.
type brokenStory struct {
	id, says string
	tell     func(s *story, c *told)
}

// Each of these is a good run with one promise broken in the middle of it.
var broken = map[string]brokenStory{
	"an update that was taken is not in the journal": {"I1", "was answered 200 by ingress1.1 at", func(s *story, c *told) {
		s.post(c, s.update(1), false)
	}},
	"the cursor passes a record": {"I1", "its cursor passed it at revision", func(s *story, c *told) {
		s.post(c, s.update(1), true)
		s.message(c, "w1.1", s.update(1))
	}},
	"a record has no effect": {"I1", "no letter, no dead letter, no change of state", func(s *story, c *told) {
		s.again(c, "w1.1", s.update(1))
	}},
	"a record is in the journal that nobody posted": {"I1", "nobody posted it", func(s *story, c *told) {
		id := s.update(1)
		seq := s.journal(c, id)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		s.flush(c, "w1.1")
		s.deliver(c, "w1.1")
	}},
	"an id takes effect twice": {"I1", "though its id did as record", func(s *story, c *told) {
		id := s.update(1)
		s.message(c, "w1.1", id)
		s.message(c, "w1.1", id)
	}},
	"a record takes effect twice": {"I1", "while its cursor stays at", func(s *story, c *told) {
		id := s.update(0)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		s.commit(c, "w1.1", id, seq)
	}},
	"two records are swapped": {"I2", "does not follow from revision", func(s *story, c *told) {
		first, second := s.update(0), s.update(0)
		one, two := s.post(c, first, true), s.post(c, second, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", second, one)
		s.commit(c, "w1.1", first, two)
	}},
	"a run begins from an old state": {"I2", "does not follow from revision", func(s *story, c *told) {
		old, _, _ := chain.Read(c.cp.State)
		s.message(c, "w1.1", s.update(0))
		id := s.update(0)
		seq := s.post(c, id, true)
		s.take(c, "w2.1")
		s.commitAs(c, "w2.1", id, seq, old.Next(id, "n"))
	}},
	"an answer is not that of its record": {"I2", "says what does not follow from its state", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		last, _, _ := chain.Read(c.cp.State)
		s.commitAs(c, "w1.1", id, seq, last.Next(id, "n"))
		s.edit(s.Checkpoints, `:n:0"`, `:m:0"`)
		c.cp.Effects.Letter.Parts[0].Send.Text = strings.Replace(c.cp.Effects.Letter.Parts[0].Send.Text, ":n:0", ":m:0", 1)
		s.flush(c, "w1.1")
		s.deliver(c, "w1.1")
	}},
	"two replicas win one revision": {"I3", "two writes replaced revision", func(s *story, c *told) {
		s.wins(c, "w2.1", c.rev+1)
	}},
	"a write that was done is not there": {"I3", "which it is not", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(0))
		s.rename(c, "gone")
	}},
	"a write replaces another revision than it meant": {"I3", "was to replace revision", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(0))
		h := s.Checkpoints[len(s.Checkpoints)-1].Header
		h.Set("Nats-Expected-Last-Subject-Sequence", "1")
	}},
	"a write is stored twice": {"I3", "and again at", func(s *story, c *told) {
		m := s.Checkpoints[len(s.Checkpoints)-1]
		s.store(&s.Checkpoints, m.Subject, m.Header, m.Data)
	}},
	"the cursor falls": {"I3", "the cursor falls from", func(s *story, c *told) {
		next := c.cp
		next.Cursor, next.Effects = next.Cursor-1, nil
		s.write(c, "w1.1", next)
	}},
	"a write comes before its call": {"I3", "no order of its writes explains", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(0))
		s.message(c, "w1.1", s.update(0))
		s.swapCommits(c)
	}},
	"a read is late": {"I3", "no order of its writes and reads explains", func(s *story, c *told) {
		old := c.rev
		s.message(c, "w1.1", s.update(0))
		s.op("w2.1", history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: old}, nil)
	}},
	"a letter is not flushed": {"I4", "is not in OUTBOX", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
	}},
	"a letter is flushed twice": {"I4", "and again at", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		s.flush(c, "w1.1")
		c.owed = nil
	}},
	"a part never comes": {"I4", "the platform never took it", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		s.Events = slices.DeleteFunc(s.Events, func(e history.Event) bool {
			return e.Kind == history.Platform && e.N == s.n["lab"]
		})
	}},
	"a part is not called": {"I4", "never came to the platform and has no receipt", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		s.flush(c, "w1.1")
	}},
	"a part comes twice without doubt": {"I4", "without doubt", func(s *story, c *told) {
		s.doubled(c, func() {})
	}},
	"a part comes twice since redis was emptied": {"I4", "without doubt", func(s *story, c *told) {
		s.doubled(c, func() { s.fault("flush", "redis", func() {}) })
	}},
	"a part comes twice since another died": {"I4", "without doubt", func(s *story, c *told) {
		s.doubled(c, func() { s.note("lab", history.Event{Kind: history.Exited, Target: "w3.1"}) })
	}},
	"a part comes twice since another claimed at once": {"I4", "without doubt", func(s *story, c *told) {
		s.doubled(c, func() { s.receipting(c, "w1.1", history.Conflict) })
	}},
	"a part comes twice since another's receipt was lost": {"I4", "without doubt", func(s *story, c *told) {
		s.doubled(c, func() { s.receipting(c, "w3.1", history.Unknown) })
	}},
	"a part comes twice, though its receipt is there": {"I4", "though its receipt", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		p := c.cp.Effects.Letter.Parts[0]
		s.note("lab", history.Event{Kind: history.Exited, Target: "w1.1"})
		s.call(c, "w2.1", p, history.Done, history.Accepted)
	}},
	"a part has two receipts": {"I4", "has a receipt at", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		s.entry(c, "w1.1", "receipt", &botmesh.Receipt{Part: c.cp.Effects.Letter.Parts[0].ID, Result: botmesh.ResultDelivered})
	}},
	"two parts are swapped": {"I4", "after the later", func(s *story, c *told) {
		o := s.owing(c, 2)
		for i := range o.letter.Parts {
			s.call(c, "w1.1", o.letter.Parts[1-i], history.Done, history.Accepted)
			s.receipt(c, "w1.1", o, i)
		}
	}},
	"a repetition goes too far back": {"I4", "can be in doubt", func(s *story, c *told) {
		o := s.owing(c, 3)
		s.fault("freeze", "w1", func() {
			for _, p := range o.letter.Parts {
				s.call(c, "w1.1", p, history.Done, history.Accepted)
			}
			s.call(c, "w2.1", o.letter.Parts[0], history.Done, history.Accepted)
		})
		for i := range o.letter.Parts {
			s.receipt(c, "w2.1", o, i)
		}
	}},
	"a text of a superseded run is seen": {"I5", "that no committed letter holds", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		p := c.cp.Effects.Letter.Parts[0]
		p.Send.Text += " of another run"
		s.call(c, "w2.1", p, history.Done, history.Accepted)
	}},
	"a letter that no revision committed": {"I5", "no revision committed it", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(0))
		l := botmesh.Letter{ID: botmesh.LetterID(c.key, epoch, c.cp.Cursor), Chat: c.key}
		s.store(&s.Outbox, "bot.out.demo."+c.key.Key(), nil, l)
	}},
	"a letter says something else than its revision": {"I5", "did not commit", func(s *story, c *told) {
		o := s.owing(c, 1)
		s.edit(s.Outbox[o.seq-1:], o.letter.Parts[0].Send.Text, "else")
	}},
	"a letter comes before its revision": {"I5", "before its revision", func(s *story, c *told) {
		o := s.owing(c, 1)
		s.Outbox[o.seq-1].Time = s.Outbox[o.seq-1].Time.Add(-20 * time.Millisecond)
	}},
	"the fence falls in the store": {"I6", "the fence falls from", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		c.fence -= 5
		next := c.cp
		next.Effects = nil
		s.write(c, "w1.1", next)
	}},
	"two processes write under one fence": {"I6", "stands in writes of w1.1, and in revision", func(s *story, c *told) {
		s.message(c, "w1.1", s.update(1))
		next := c.cp
		next.Effects = nil
		s.write(c, "w2.1", next)
	}},
	"a fence is granted twice": {"I6", "was granted to w1.1 at", func(s *story, c *told) {
		s.take(c, "w1.1")
		s.fence -= 10
		s.take(c, "w2.1")
	}},
	"a grant goes back": {"I6", "no order of its grants", func(s *story, c *told) {
		s.take(c, "w1.1")
		s.fence -= 15
		s.take(c, "w2.1")
	}},
	"a record waits for ever": {"I7", "waits: the cursor stands at", func(s *story, c *told) {
		s.post(c, s.update(1), true)
	}},
	"a letter is never delivered": {"I7", "is not settled", func(s *story, c *told) {
		s.owing(c, 1)
	}},
	"a nudge is left over": {"I7", "1 not acknowledged", func(s *story, _ *told) { s.Unacked = 1 }},
	"a chat comes to rest too late": {"I7", "still at work at", func(s *story, c *told) {
		o := s.owing(c, 1)
		s.now += int64(time.Second)
		s.call(c, "w1.1", o.letter.Parts[0], history.Done, history.Accepted)
		s.receipt(c, "w1.1", o, 0)
	}},
	"a key stays for good": {"I8", "stays in Redis for good", func(s *story, _ *told) { s.Redis[0].TTL = -1 }},
	"a key holds much":     {"I8", "holds 900 fields", func(s *story, _ *told) { s.Redis[0].Fields = 900 }},
	"a chat has many keys": {"I8", "more than 2 keys", func(s *story, _ *told) {
		s.Redis = append(s.Redis, s.Redis[0], s.Redis[0])
	}},
	"the keys of no chat are many": {"I8", "more than 64 keys of no chat", func(s *story, _ *told) {
		for range 65 {
			s.Redis = append(s.Redis, RedisKey{Key: "botmesh:demo:{other}", TTL: time.Hour})
		}
	}},
	"a process grew": {"I8", "goroutines of w1.1", func(s *story, _ *told) {
		s.Usage = []Usage{{Process: "w1.1", What: "goroutines", After: 900, Limit: 100}}
	}},
	"acknowledged above the cursor": {"I9", "when the cursor stood at", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.ack(c, "w1.1", seq)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		s.flush(c, "w1.1")
		s.deliver(c, "w1.1")
	}},
	"acknowledged before the flush": {"I9", "was not in OUTBOX", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		s.ack(c, "w1.1", seq)
		s.flush(c, "w1.1")
		s.deliver(c, "w1.1")
	}},
	"acknowledged before the receipt": {"I9", "and the delivery at", func(s *story, c *told) {
		o := s.owing(c, 1)
		s.ack(c, "w1.1", c.cp.Cursor)
		c.owed = []owed{o}
		s.deliver(c, "w1.1")
	}},
	"effects are replaced before the flush": {"I10", "came into OUTBOX only at", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		held := c.cp
		next := c.cp
		next.Effects = nil
		s.write(c, "w1.1", next)
		c.cp = held
		s.flush(c, "w1.1")
		s.deliver(c, "w1.1")
	}},
	"effects are lost": {"I10", "is not in OUTBOX", func(s *story, c *told) {
		id := s.update(1)
		seq := s.post(c, id, true)
		s.take(c, "w1.1")
		s.commit(c, "w1.1", id, seq)
		next := c.cp
		next.Effects = nil
		s.write(c, "w1.1", next)
	}},
	"a flush is forgotten": {"I10", "goes by an outbox that ends at", func(s *story, c *told) {
		old := c.out
		s.message(c, "w1.1", s.update(1))
		c.out = old
		next := c.cp
		next.Effects = nil
		s.write(c, "w1.1", next)
	}},
}

func TestABrokenRunIsCaught(t *testing.T) {
	t.Parallel()
	areCaught(t, broken)
}

// areCaught tells each story and looks for what the judge finds in it.
func areCaught(t *testing.T, stories map[string]brokenStory) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Single = true
			good(s)
			tt.tell(s, s.chat(1))
			v := Judge(s.Evidence)
			for _, b := range v.finding(tt.id).Violations {
				if strings.Contains(b.Account, tt.says) {
					return
				}
			}
			t.Errorf("got %v, want %s violated, saying %q", v.Err(), tt.id, tt.says)
		})
	}
}

func (v Verdict) finding(id string) Finding {
	return v.Findings[slices.IndexFunc(v.Findings, func(f Finding) bool { return f.ID == id })]
}
