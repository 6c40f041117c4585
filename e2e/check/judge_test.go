package check

import (
	"slices"
	"testing"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// good is a run with all that may happen: answers of every number, several
// replicas, a message posted again, a replica killed in a call, another frozen, a
// write that lost, one without an answer, and a send before a run's end.
func good(s *story) {
	a, b := s.chat(1), s.chat(2)
	first := s.update(2)
	s.message(a, "w1.1", first)
	s.message(b, "w2.1", s.update(0))
	s.message(a, "w2.1", s.update(3))
	s.again(a, "w1.1", first)
	s.killedInACall(b)
	s.frozen(a)
	s.loser(a)
	s.silent(b)
	s.eager(a, first)
	s.sent(a, "good", "some news")
	s.reminded(b, "the tea")
	s.replaced(b, "w2.1")
	s.note("lab", history.Event{Kind: history.Healed})
}

// killedInACall lets a replica die between a call and its receipt; another makes the
// call again.
func (s *story) killedInACall(c *told) {
	id := s.update(1)
	seq := s.post(c, id, true)
	s.take(c, "w1.1")
	s.commit(c, "w1.1", id, seq)
	s.flush(c, "w1.1")
	s.claim(c, "w1.1")
	s.fault("kill", "w1.1", func() {
		s.call(c, "w1.1", c.owed[0].letter.Parts[0], history.Done, history.Accepted)
		s.note("lab", history.Event{Kind: history.Exited, Target: "w1.1", Status: -1})
	})
	s.take(c, "w2.1")
	s.deliver(c, "w2.1")
	s.ack(c, "w2.1", seq)
}

// frozen lets a replica stand still between a call and its receipt.
func (s *story) frozen(c *told) {
	id := s.update(2)
	seq := s.post(c, id, true)
	s.take(c, "w2.1")
	s.commit(c, "w2.1", id, seq)
	s.flush(c, "w2.1")
	s.claim(c, "w2.1")
	s.fault("freeze", "w2", func() {
		s.call(c, "w2.1", c.owed[0].letter.Parts[0], history.Done, history.Accepted)
	})
	s.take(c, "w1.2")
	s.deliver(c, "w1.2")
	s.ack(c, "w1.2", seq)
}

// fault tells what happens during a fault.
func (s *story) fault(name, target string, during func()) {
	s.op("lab", history.Event{Kind: history.Fault, ID: name, Target: target}, history.Event{Kind: history.Fault, Effect: "seen"}, during)
}

// loser lets a write be refused.
func (s *story) loser(c *told) {
	old := c.rev - 1
	s.op("w2.1", history.Event{Kind: history.Commit, Chat: c.key.Key(), ID: "lost", Expect: &old}, history.Event{Outcome: history.Conflict}, nil)
}

// silent lets the answer to a write get lost: it is made again, and found there.
func (s *story) silent(c *told) {
	s.message(c, "w2.1", s.update(1))
	for i, e := range slices.Backward(s.Events) {
		if e.Kind == history.Commit && e.Phase == history.Ended {
			s.Events[i].Outcome, s.Events[i].Seq = history.Unknown, 0
			break
		}
	}
	s.op("w2.1", history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: c.rev}, nil)
}

// eager lets a run send before its end. The same write moves the cursor past a
// repetition.
func (s *story) eager(c *told, again string) {
	id := s.update(1)
	c.cp.Cursor = s.post(c, again, true)
	seq := s.post(c, id, true)
	s.take(c, "w1.2")
	s.before(c, "w1.2", seq)
	s.flush(c, "w1.2")
	s.commit(c, "w1.2", id, seq)
	s.flush(c, "w1.2")
	s.deliver(c, "w1.2")
	s.ack(c, "w1.2", seq)
}

func TestAGoodRunIsAccepted(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	s.Want = Want{Webhooks: 10, Duplicates: 2, Conflicts: 1, Unknowns: 1, Repeats: 2, Orders: 1, OrdersAgain: 1, Timers: 2, Disarmed: 1}
	v := Judge(s.Evidence)
	if err := v.Err(); err != nil {
		t.Errorf("got %v, want no violation and everything proved", err)
	}
	want := Tally{
		Chats: 2, Webhooks: 10, Duplicates: 2, Records: 16, Revisions: 15, Letters: 13, Parts: 17, Visible: 19, Repeats: 2,
		Conflicts: 1, Unknowns: 1, Grants: 16, Faults: 2, Acks: 14, Orders: 1, OrdersAgain: 1, Timers: 2, Disarmed: 1, LateTimers: 1,
	}
	if v.Tally != want {
		t.Errorf("got %+v, want %+v", v.Tally, want)
	}
}
