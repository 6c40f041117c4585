package check

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// long tells a chat with more operations than are searched at once.
func long(t *testing.T) (*story, *told) {
	s := newStory(t)
	s.Single = true
	good(s)
	c := s.chat(1)
	for range enough {
		s.message(c, "w1.1", s.update(0))
	}
	return s, c
}

func TestALongOrderIsFoundPieceByPiece(t *testing.T) {
	t.Parallel()
	s, _ := long(t)
	if err := Judge(s.Evidence).Err(); err != nil {
		t.Errorf("got %v, want no violation", err)
	}
}

func TestALongOrderIsBrokenWhereItIs(t *testing.T) {
	t.Parallel()
	s, c := long(t)
	old := c.rev
	s.message(c, "w1.1", s.update(0))
	s.op("w2.1", history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: old}, nil)
	s.message(c, "w1.1", s.update(0))
	v := Judge(s.Evidence)
	got := v.finding("I3").Violations
	if len(got) != 1 || !strings.Contains(got[0].Account, "it ends before the read of revision") || v.Tally.StaleLoads != 1 {
		t.Errorf("got %v and %d late reads, want the late read", got, v.Tally.StaleLoads)
	}
}

// On a cluster a leader that was deposed may answer: that is counted, and no violation.
func TestALateReadOnAClusterIsCounted(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	c := s.chat(1)
	old := c.rev
	s.message(c, "w1.1", s.update(0))
	s.op("w2.1", history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: old}, nil)
	v := Judge(s.Evidence)
	if err := v.Err(); err != nil || v.Tally.StaleLoads != 1 {
		t.Errorf("got %v and %d late reads, want one and no violation", err, v.Tally.StaleLoads)
	}
}

// A write without an answer may have been done at any time after its call, but
// before the one that replaced it was: a read of it after that is late.
func TestAWriteWithoutAnAnswerIsDoneBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Single = true
	good(s) // in which the last write of chat 2 got no answer
	c := s.chat(2)
	silent := c.rev
	s.message(c, "w2.1", s.update(0))
	s.op("w2.1", history.Event{Kind: history.Load, Chat: c.key.Key()}, history.Event{Outcome: history.Done, Seq: silent}, nil)
	if got := Judge(s.Evidence).finding("I3").Violations; len(got) != 1 {
		t.Errorf("got %v, want the late read", got)
	}
}
