package e2e

import (
	"testing"
	"time"
)

// SPEC: J8 DESIGN N5
func TestFailedRecordIsTriedAgainInItsPlace(t *testing.T) {
	t.Parallel()
	s := started(t, nil)
	s.say(1, "/fail 2")
	s.say(1, "/count")
	s.hears(1, "count: 1", 30*time.Second)
	s.verify(map[string][]string{"1": {"recovered after 2", "count: 1"}})
}

// SPEC: J8 T2
func TestPoisonIsSetAsideWithinAMinuteAndItsChatGoesOn(t *testing.T) {
	t.Parallel()
	s := started(t, nil)
	s.say(1, "/poison")
	s.say(1, "/count")
	s.say(2, "/count")
	s.hears(2, "count: 1", 10*time.Second) // nobody else waits for it
	s.hears(1, "count: 1", time.Minute)
	s.verify(map[string][]string{"1": {"count: 1"}, "2": {"count: 1"}})
	if got := s.stored(dead); got != 1 {
		t.Errorf("got %d dead letters, want 1", got)
	}
}
