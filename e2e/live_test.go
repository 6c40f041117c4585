package e2e

import (
	"fmt"
	"testing"
	"time"
)

// With two workers there, a live conversation is gone on with by the one that has it,
// whichever of them is told of the message.
//
// SPEC: H1 H4
func TestALiveConversationStaysWithItsWorker(t *testing.T) {
	t.Parallel()
	s := talking(t, nil)
	const first, second = "worker1", "worker2"
	chats := make([]handed, 8)
	for i := range chats {
		h := &chats[i]
		h.row, h.first = fmt.Sprint("chat ", i+1), []said{{"/sum", first + ": 0 plus?"}}
		sum := 0
		for n := 1; n <= 5; n++ {
			sum += n
			h.next = append(h.next, said{fmt.Sprint(n), fmt.Sprintf("%s: %d plus?", first, sum)})
		}
		h.next = append(h.next, said{"0", fmt.Sprintf("%s: that makes %d", first, sum)})
	}
	s.each(chats, func(h handed) []said { return h.first })
	if err := s.Workers[1].Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s.each(chats, func(h handed) []said { return h.next })
	s.idle(10 * time.Second)
	if called := s.sum(s.Workers[1:], "bot_chats_called_total"); called == 0 {
		t.Errorf("%s was told of no message: nothing is shown", second)
	}
	if handed := s.sum(s.Workers, "bot_handovers_total"); handed != 0 {
		t.Errorf("got %g hand-overs, want none", handed)
	}
	s.verify(told(chats))
}
