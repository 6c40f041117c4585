package check

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// What was under way when the evidence was taken is late, and no more than that; what
// was done after it is not looked at.
func TestARunThatIsNotAtRestIsLateAndNotBroken(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	s.post(s.chat(1), s.update(1), true)
	c := s.chat(2)
	id := s.update(1)
	seq := s.post(c, id, true)
	s.take(c, "w1.2")
	s.commit(c, "w1.2", id, seq)
	c = s.chat(3)
	o := s.owing(c, 1)
	s.Taken, s.Unacked = s.wall(), 3
	outbox := len(s.Outbox) // was read first
	c.owed = []owed{o}
	s.deliver(c, "w1.1")
	s.flush(s.chat(2), "w1.2")
	s.ack(c, "w1.1", c.cp.Cursor)
	s.Outbox = s.Outbox[:outbox]
	v := Judge(s.Evidence)
	for _, f := range v.Findings {
		if (len(f.Violations) > 0) != (f.ID == "I7") {
			t.Errorf("%s: got %v, want I7 alone violated", f.ID, f.Violations)
		}
	}
	if got := len(v.finding("I7").Violations); got != 4 {
		t.Errorf("got %v, want a record, a letter to be flushed, one to be delivered, and the nudges", v.finding("I7").Violations)
	}
}

// A part may come again where something was lost on the way of it or its receipt.
func TestARepeatInDoubtIsAccepted(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(s *story, c *told){
		"its receipt was lost":    func(s *story, c *told) { s.receipting(c, "w1.1", history.Unknown) },
		"its receipt was refused": func(s *story, c *told) { s.receipting(c, "w1.1", history.Refused) },
		"its process stopped":     func(s *story, _ *told) { s.note("w1.1", history.Event{Kind: history.Point, ID: "receipt.before"}) },
		"its process stood still": func(s *story, _ *told) { s.note("w1.1", history.Event{Kind: history.Stall, Took: time.Second}) },
		"the streams were away":   func(s *story, _ *told) { s.fault("kill", "nats2", func() {}) },
		"its way was cut":         func(s *story, _ *told) { s.fault("cut", "w1>nats", func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			good(s)
			s.doubled(s.chat(1), func() { between(s, s.chat(1)) })
			v := Judge(s.Evidence)
			if err := v.Err(); err != nil || v.Tally.Repeats != 3 {
				t.Errorf("got %v and %d repeats, want no violation and 3", err, v.Tally.Repeats)
			}
		})
	}
}
