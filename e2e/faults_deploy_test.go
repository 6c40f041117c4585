package e2e

import (
	"strconv"
	"testing"
	"time"
)

// A deploy cut every turn at once: replies were lost, or all was run again and half
// of an answer stood twice. Here turns that fit into the grace of a drain end in it,
// longer ones are handed over at once, without waiting for a lease, what they had
// sent is not sent again, and the ingress takes messages all the while.
//
// FAULT: 24 https://github.com/MervinPraison/PraisonAI/issues/2375
// SPEC: H8 T3 W3 J8
func TestADeployEndsOrHandsOverEveryTurn(t *testing.T) { // alone: it measures time
	s := started(t, map[string]string{"BOTMESH_DRAIN": "2s"}) // and a lease of 15 s
	const long = 6 * time.Second
	want := map[string][]string{}
	for chat := int64(1); chat <= 9; chat++ {
		s.say(chat, "/slow 6")
		want[strconv.FormatInt(chat, 10)] = []string{eager, "done after 6s"}
	}
	steady := load{chats: 16, messages: 20, pause: 150 * time.Millisecond}.begin(s.within(2*time.Minute), s)
	for chat := int64(1); chat <= 9; chat++ {
		s.hears(chat, eager, 20*time.Second)
	}
	var drained time.Duration
	for n, r := range s.Workers {
		short := int64(100 + n)
		s.say(short, "/slow 1")
		s.hears(short, eager, 20*time.Second)
		want[strconv.FormatInt(short, 10)] = []string{eager, "done after 1s"}
		s.ReadDoubt(t.Context(), r)
		if code, err := r.Term(s.within(20 * time.Second)); code != 0 || err != nil {
			t.Errorf("got exit code %d (%v) from %s, want 0", code, err, r.Name)
		}
		drained = s.Now()
		if err := r.Start(s.within(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for chat := int64(1); chat <= 9; chat++ {
		s.hears(chat, "done after 6s", 40*time.Second)
	}
	ended := s.Now()
	told, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	for chat, texts := range told {
		want[chat] = texts
	}
	s.verify(want)
	for n := range s.Workers {
		if calls := s.callsOf(int64(100 + n)); calls[0].By != calls[1].By {
			t.Errorf("got a turn that fits into the drain begun by %s and ended by %s", calls[0].By, calls[1].By)
		}
	}
	moved := 0
	for chat := int64(1); chat <= 9; chat++ {
		if calls := s.callsOf(chat); calls[0].By != calls[len(calls)-1].By {
			moved++
		}
	}
	t.Logf("%d of 9 long turns were handed over; the last ended %v after the last drain", moved, ended-drained)
	if moved == 0 {
		t.Error("got no long turn that was handed over: this run proves nothing")
	}
	if over := ended - drained - long; over > 8*time.Second {
		t.Errorf("got the last end %v later than a turn takes, want it handed over without waiting for the lease", over)
	}
	if n := s.sum(s.Ingress, "bot_ingress_messages_total", `outcome="unavailable"`); n != 0 {
		t.Errorf("got %g messages refused by the ingress, want none", n)
	}
	s.nothingSpent()
}
