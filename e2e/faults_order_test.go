package e2e

import (
	"fmt"
	"testing"
	"time"
)

// Sends of one turn that several senders take, with a lock between them, go out in
// any order: whoever finds the lock free is next, not whose message is. Here the
// lock is of no use at all: while the sends of one turn are on their way Redis
// forgets it, again and again, and each time another message brings another worker
// to the chat, who finds them unsent and believes the turn to be its own.
//
// FAULT: 6 https://github.com/nyaruka/rapidpro/pull/662
// SPEC: O4 O7 DESIGN D1 D2 D3
func TestSendsOfOneTurnKeepTheirOrderWithoutALock(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	s.Delay(50 * time.Millisecond)
	const sends, others = 60, 12
	var want []string
	for n := range sends {
		want = append(want, fmt.Sprintf("%d/%d", n+1, sends))
	}
	s.say(1, fmt.Sprintf("/burst %d", sends))
	for n := range others {
		s.hears(1, want[2+4*n], 30*time.Second)
		if err := flushAll(s.within(10*time.Second), s.Redis.Addr); err != nil {
			t.Fatal(err)
		}
		s.say(1, "/count")
	}
	for n := range others {
		want = append(want, fmt.Sprintf("count: %d", n+1))
	}
	s.hears(1, want[len(want)-1], 60*time.Second)
	s.verify(map[string][]string{"1": want})
	if lost, refused := s.sum(s.Workers, "bot_lease_lost_total"), s.sum(s.Workers, "bot_checkpoint_conflicts_total"); lost+refused == 0 {
		t.Error("got no turn lost and no commit refused: two workers were never there at once, and this run proves nothing")
	} else {
		t.Logf("%g turns lost, %g commits refused", lost, refused)
	}
}
