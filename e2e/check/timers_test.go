package check

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// says lets the platform post a text, and the ingress journal it.
func (s *story) says(c *told, id, text string) (seq uint64) {
	s.op("lab", history.Event{Kind: history.Webhook, Chat: c.key.Key(), ID: id, Target: "ingress1.1"},
		history.Event{Kind: history.Webhook, Status: 200}, func() {
			seq = s.store(&s.Inbox, "bot.in.demo."+c.key.Key(), nats.Header{
				nats.MsgIdHdr: {"demo:telegram:" + id}, "Bot-Type": {"message"},
			}, map[string]any{"v": 1, "message": map[string]any{"text": text}})
		})
	return seq
}

// commitOf applies a record that says texts and leaves the state as it is, with the
// timers that it arms and those that it takes back.
func (s *story) commitOf(c *told, w, id string, seq uint64, texts []string, arm []checkpoint.Armed, disarm ...string) {
	next := c.cp
	next.Cursor, next.Recent = seq, next.Recent.With(id)
	gone := append(slices.Clone(disarm), id)
	next.Timers = slices.DeleteFunc(slices.Clone(next.Timers), func(t checkpoint.Armed) bool { return slices.Contains(gone, t.ID) })
	next.Timers = append(next.Timers, arm...)
	next.Effects = &checkpoint.Effects{At: s.wall(), Disarm: disarm}
	for _, t := range arm {
		next.Effects.Arm = append(next.Effects.Arm, t.ID)
	}
	l := botmesh.Letter{ID: botmesh.LetterID(c.key, epoch, seq), Chat: c.key, At: s.wall()}
	for i, text := range texts {
		l.Parts = append(l.Parts, botmesh.Part{ID: fmt.Sprintf("%s/%d.0", l.ID, i), Send: botmesh.Send{Text: text}})
	}
	next.Effects.Letter = &l
	s.write(c, w, next)
}

// timer is one that a record arms.
func (s *story) timer(seq uint64, text string, in time.Duration) checkpoint.Armed {
	return checkpoint.Armed{
		ID:    fmt.Sprintf("%s-%d-t0", epoch, seq),
		Timer: botmesh.Timer{Name: "remind/x", At: s.wall().Add(in), Data: []byte(text)},
	}
}

// arm puts a timer into the inbox, at the place that it returns.
func (s *story) arm(c *told, w string, t checkpoint.Armed) (seq uint64) {
	call := history.Event{Kind: history.Arm, Chat: c.key.Key(), ID: t.ID}
	s.op(w, call, history.Event{Outcome: history.Done, Seq: uint64(len(s.Inbox)) + 1}, func() {
		seq = s.store(&s.Inbox, "bot.timer.demo."+c.key.Key()+"."+t.ID, nil, []byte("{}"))
	})
	return seq
}

// gone takes a message out of the inbox. Its place stays, so that later ones keep
// theirs; no bot has such a subject.
func (s *story) gone(seq uint64) {
	s.Inbox[seq-1].Subject = "gone"
	s.Gone = append(s.Gone, seq)
}

// fire lets a timer fire.
func (s *story) fire(c *told, id string, stood uint64) uint64 {
	s.gone(stood)
	return s.store(&s.Inbox, "bot.in.demo."+c.key.Key(), nats.Header{"Bot-Type": {"timer"}, "Bot-Timer": {id}}, map[string]any{"v": 1})
}

// settle does all that a commit leaves to do.
func (s *story) settle(c *told, w string, seq uint64) {
	s.flush(c, w)
	s.deliver(c, w)
	s.ack(c, w, seq)
}

// remind lets a user ask for a reminder, up to where its timer stands.
func (s *story) remind(c *told, text string) (t checkpoint.Armed, stood uint64) {
	id := s.update(0)
	seq := s.says(c, id, "/remind 5ms "+text)
	s.take(c, "w1.2")
	t = s.timer(seq, text, 5*time.Millisecond)
	s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{t})
	stood = s.arm(c, "w1.2", t)
	s.settle(c, "w1.2", seq)
	return t, stood
}

// reminded tells all of a reminder.
func (s *story) reminded(c *told, text string) {
	t, stood := s.remind(c, text)
	seq := s.fire(c, t.ID, stood)
	s.take(c, "w1.2")
	s.commitOf(c, "w1.2", t.ID, seq, []string{"reminder: " + text}, nil)
	s.settle(c, "w1.2", seq)
}

// replaced lets a timer be taken back for another, fire all the same, and its record be
// passed with the next message.
func (s *story) replaced(c *told, w string) {
	t, stood := s.remind(c, "milk")
	id := s.update(0)
	seq := s.says(c, id, "/later 5ms cake")
	s.take(c, w)
	next := s.timer(seq, "cake", 5*time.Millisecond)
	s.commitOf(c, w, id, seq, []string{"ok"}, []checkpoint.Armed{next}, t.ID)
	stands := s.arm(c, w, next)
	s.settle(c, w, seq)
	s.fire(c, t.ID, stood)
	seq = s.fire(c, next.ID, stands)
	s.take(c, w)
	s.commitOf(c, w, next.ID, seq, []string{"reminder: cake"}, nil)
	s.settle(c, w, seq)
}

// sends lets a backend have a worker send to a chat, and again by another.
func (s *story) sends(c *told, key, text string) (id string, seq uint64) {
	id = history.Ordered(c.key.Key(), key)
	call := history.Event{Kind: history.Order, Chat: c.key.Key(), ID: id, Target: "w1.2", Text: history.Digest(text)}
	s.op("lab", call, history.Event{Status: 202, Seq: uint64(len(s.Inbox)) + 1, Outcome: history.Done}, func() {
		seq = s.store(&s.Inbox, "bot.in.demo."+c.key.Key(), nats.Header{
			nats.MsgIdHdr: {"demo:telegram:" + id}, "Bot-Type": {"command"},
		}, map[string]any{"v": 1, "sends": []botmesh.Send{{Text: text}}})
	})
	call.Target = "w2.1"
	s.op("lab", call, history.Event{Status: 202, Seq: seq, Outcome: history.Done}, nil)
	return id, seq
}

// sent tells all of a backend's send.
func (s *story) sent(c *told, key, text string) {
	id, seq := s.sends(c, key, text)
	s.take(c, "w1.2")
	s.commitOf(c, "w1.2", id, seq, []string{text}, nil)
	s.settle(c, "w1.2", seq)
}

// Each of these is a good run with a promise broken that is about timers or sends of
// backends.
var brokenMore = map[string]brokenStory{
	"a send that was taken is not in the journal": {"I1", "was answered 202 by w1.2", func(s *story, c *told) {
		_, seq := s.sends(c, "k", "news")
		s.gone(seq)
	}},
	"a send stands elsewhere": {"I1", "in INBOX, where it does not", func(s *story, c *told) {
		s.sent(c, "k", "news")
		for i := range s.Events {
			if e := &s.Events[i]; e.Kind == history.Order && e.Seq > 0 {
				e.Seq++
			}
		}
	}},
	"a send has no effect": {"I1", "no letter, no dead letter, no change of state", func(s *story, c *told) {
		_, seq := s.sends(c, "k", "news")
		s.take(c, "w1.2")
		next := c.cp
		next.Cursor, next.Effects = seq, nil
		s.write(c, "w1.2", next)
	}},
	"a send takes effect twice": {"I1", "though its id did as record", func(s *story, c *told) {
		s.sent(c, "k", "news")
		s.sent(c, "k", "news")
	}},
	"nobody asked for a send": {"I1", "nobody posted it", func(s *story, c *told) {
		s.sent(c, "k", "news")
		s.Events = slices.DeleteFunc(s.Events, func(e history.Event) bool { return e.Kind == history.Order && e.Chat == c.key.Key() })
	}},
	"a send says something else": {"I2", "want [\"news\"]", func(s *story, c *told) {
		id, seq := s.sends(c, "k", "news")
		s.take(c, "w1.2")
		s.commitOf(c, "w1.2", id, seq, []string{"olds"}, nil)
	}},
	"a send is journaled as another": {"I2", "which is not what a backend asked of w1.2", func(s *story, c *told) {
		_, seq := s.sends(c, "k", "news")
		s.edit(s.Inbox[seq-1:seq], "news", "olds")
	}},
	"a message of the journal is lost": {"I1", "INBOX lost 1 messages that were no timers", func(s *story, _ *told) {
		s.Gone = append([]uint64{1}, s.Gone...)
	}},
	"a timer never fires": {"I7", "has not fired", func(s *story, c *told) { s.remind(c, "tea") }},
	"a timer fires early": {"H12", "and was due at", func(s *story, c *told) {
		id := s.update(0)
		seq := s.says(c, id, "/remind 5ms tea")
		s.take(c, "w1.2")
		t := s.timer(seq, "tea", time.Minute)
		s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{t})
		seq = s.fire(c, t.ID, s.arm(c, "w1.2", t))
		s.commitOf(c, "w1.2", t.ID, seq, []string{"reminder: tea"}, nil)
	}},
	"a timer fires that nobody armed": {"H12", "no revision had armed it", func(s *story, c *told) {
		seq := s.store(&s.Inbox, "bot.in.demo."+c.key.Key(), nats.Header{"Bot-Type": {"timer"}, "Bot-Timer": {"e1-1-t9"}}, map[string]any{"v": 1})
		s.take(c, "w1.2")
		next := c.cp
		next.Cursor, next.Effects = seq, nil
		s.write(c, "w1.2", next)
	}},
	"a timer that fired has no effect": {"I1", "no letter, no dead letter, no change of state", func(s *story, c *told) {
		t, stood := s.remind(c, "tea")
		next := c.cp
		next.Cursor, next.Effects, next.Timers = s.fire(c, t.ID, stood), nil, nil
		s.write(c, "w1.2", next)
	}},
	"a timer takes effect twice": {"H12", "is what it fired for, and it counts still", func(s *story, c *told) {
		t, stood := s.remind(c, "tea")
		seq := s.fire(c, t.ID, stood)
		s.commitOf(c, "w1.2", "another", seq, []string{"reminder: tea"}, nil)
	}},
	"a timer that counts no more takes effect": {"I1", "though its id did as record", func(s *story, c *told) {
		t, stood := s.remind(c, "tea")
		for _, stood := range []uint64{stood, s.arm(c, "w1.2", t)} {
			seq := s.fire(c, t.ID, stood)
			s.commitOf(c, "w1.2", t.ID, seq, []string{"reminder: tea"}, nil)
			s.settle(c, "w1.2", seq)
		}
	}},
	"a timer says something else": {"I2", "want [\"reminder: tea\"]", func(s *story, c *told) {
		t, stood := s.remind(c, "tea")
		s.commitOf(c, "w1.2", t.ID, s.fire(c, t.ID, stood), []string{"reminder: milk"}, nil)
	}},
	"a timer is forgotten": {"H12", "forgets it", func(s *story, c *told) {
		s.remind(c, "tea")
		c.cp.Timers = nil
		s.message(c, "w1.2", s.update(1))
	}},
	"a timer comes from nowhere": {"H12", "has it, and does not arm it", func(s *story, c *told) {
		c.cp.Timers = []checkpoint.Armed{s.timer(c.cp.Cursor, "tea", time.Hour)}
		s.message(c, "w1.2", s.update(1))
	}},
	"a timer is armed under the id of another": {"H12", "or is not its record, or did so before", func(s *story, c *told) {
		t, _ := s.remind(c, "tea")
		id := s.update(0)
		seq := s.says(c, id, "/later 5ms cake")
		s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{t}, t.ID)
	}},
	"another timer is armed than was asked": {"H12", "which is not what it was asked", func(s *story, c *told) {
		id := s.update(0)
		seq := s.says(c, id, "/remind 5ms tea")
		s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{s.timer(seq, "milk", time.Minute)})
	}},
	"timers change under a cursor that stays": {"I1", "changes the state or the timers", func(s *story, c *told) {
		s.remind(c, "tea")
		next := c.cp
		next.Timers, next.Effects = nil, nil
		s.write(c, "w1.2", next)
	}},
	"a commit is replaced before its timer is armed": {"I10", "was not armed by then", func(s *story, c *told) {
		id := s.update(0)
		seq := s.says(c, id, "/remind 5ms tea")
		t := s.timer(seq, "tea", 5*time.Millisecond)
		s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{t})
		s.flush(c, "w1.2")
		s.message(c, "w1.2", s.update(0))
		s.arm(c, "w1.2", t)
	}},
	"acknowledged before its timer is armed": {"I9", "was not armed", func(s *story, c *told) {
		id := s.update(0)
		seq := s.says(c, id, "/remind 5ms tea")
		t := s.timer(seq, "tea", 5*time.Millisecond)
		s.commitOf(c, "w1.2", id, seq, []string{"ok"}, []checkpoint.Armed{t})
		s.settle(c, "w1.2", seq)
		s.arm(c, "w1.2", t)
	}},
}

func TestBrokenTimersAndSendsAreCaught(t *testing.T) {
	t.Parallel()
	areCaught(t, brokenMore)
}

// Evidence that is judged some chats at a time comes to the same.
func TestEvidenceInPartsComesToTheSame(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	s.remind(s.chat(1), "tea") // something to tell
	s.Redis = append(s.Redis, RedisKey{Key: "botmesh:demo:{telegram.2}:turn"})
	want := Judge(s.Evidence)
	common := s.Evidence
	common.Events = slices.DeleteFunc(slices.Clone(s.Events), func(e history.Event) bool { return e.Chat != "" })
	common.Events = append([]history.Event{s.Events[0]}, common.Events...)
	j := Begin(common)
	for _, key := range []string{"telegram.1", "telegram.2"} {
		of := func(all []jet.Stored) []jet.Stored {
			return slices.DeleteFunc(slices.Clone(all), func(m jet.Stored) bool { return ChatOf("demo", m.Subject) != key })
		}
		j.Chats(Evidence{
			Inbox: of(s.Inbox), Outbox: of(s.Outbox), Dead: of(s.Dead), Checkpoints: of(s.Checkpoints),
			Events: slices.DeleteFunc(slices.Clone(s.Events), func(e history.Event) bool { return e.Chat != key }),
		})
	}
	got := j.Verdict()
	if fmt.Sprint(got) != fmt.Sprint(want) || want.Err() == nil {
		t.Errorf("got %v, want %v", got, want)
	}
}
