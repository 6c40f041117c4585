package check

import (
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// edit replaces a text in every message that holds it.
func (s *story) edit(messages []jet.Stored, old, new string) {
	for i, m := range messages {
		messages[i].Data = []byte(strings.ReplaceAll(string(m.Data), old, new))
	}
}

// owing commits and flushes a message with n parts, and claims its delivery.
func (s *story) owing(c *told, n int) owed {
	id := s.update(n)
	seq := s.post(c, id, true)
	s.take(c, "w1.1")
	s.commit(c, "w1.1", id, seq)
	s.flush(c, "w1.1")
	s.claim(c, "w1.1")
	o := c.owed[0]
	c.owed = nil
	return o
}

// doubled lets a part come twice, with something between its call and the next one.
func (s *story) doubled(c *told, between func()) {
	o := s.owing(c, 1)
	s.call(c, "w1.1", o.letter.Parts[0], history.Done, history.Accepted)
	between()
	s.call(c, "w2.1", o.letter.Parts[0], history.Done, history.Accepted)
	s.receipt(c, "w2.1", o, 0)
}

// receipting lets a process try in vain to write an entry of a chat's chain.
func (s *story) receipting(c *told, w string, answer history.Outcome) {
	s.op(w, history.Event{Kind: history.Chain, Chat: c.key.Key(), Entry: "receipt"}, history.Event{Outcome: answer}, nil)
}

// wins lets a process be told that its write replaced the revision that the last
// one did.
func (s *story) wins(c *told, w string, seq uint64) {
	expect := c.rev
	for _, e := range slices.Backward(s.Events) {
		if e.Kind == history.Commit && e.Phase == history.Began && e.Chat == c.key.Key() && e.ID != "lost" {
			expect = *e.Expect
			break
		}
	}
	s.op(w, history.Event{Kind: history.Commit, Chat: c.key.Key(), ID: "second", Expect: &expect}, history.Event{Outcome: history.Done, Seq: seq}, nil)
}

// rename gives the last write another nonce than its writer knows.
func (s *story) rename(_ *told, nonce string) {
	s.Checkpoints[len(s.Checkpoints)-1].Header.Set("Bot-Nonce", nonce)
}

// swapCommits exchanges the times of a chat's last two writes.
func (s *story) swapCommits(c *told) {
	var at []int
	for i, e := range slices.Backward(s.Events) {
		if e.Kind == history.Commit && e.Chat == c.key.Key() {
			at = append(at, i) // result, call, result, call
		}
	}
	for i := range 2 {
		a, b := &s.Events[at[i]], &s.Events[at[i+2]]
		a.T, b.T = b.T, a.T
	}
	history.Sort(s.Events)
}
