package e2e

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// Each process is asked to end, once it did starts again, and the next one follows,
// as in a deploy. Whatever worker is asked has turns that last 5 s: they end where
// they began, and nobody else waits for them.
//
// SPEC: H8 W3 T3 J1
func TestRollingRestartRepeatsAndLosesNothing(t *testing.T) { // alone: it measures time
	s := started(t, nil)
	steady := load{chats: 32, messages: 50, pause: 200 * time.Millisecond}.begin(s.within(2*time.Minute), s)
	want, long := map[string][]string{}, int64(0)
	begun := s.Now()
	for _, r := range s.Replicas() {
		for slices.Contains(s.Workers, r) && !s.busy(r, long, 5*time.Second) {
			long++
			s.say(long, "/slow 5")
			s.hears(long, eager, 20*time.Second)
			want[strconv.FormatInt(long, 10)] = []string{eager, "done after 5s"}
		}
		s.ReadDoubt(t.Context(), r)
		code, err := r.Term(s.within(20 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 {
			t.Errorf("got exit code %d from %s, want 0", code, r.Name)
		}
		if err := r.Start(s.within(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
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
	for chat := int64(1); chat <= long; chat++ {
		if calls := s.callsOf(chat); calls[0].By != calls[1].By {
			t.Errorf("got a turn that fits into the drain begun by %s and ended by %s", calls[0].By, calls[1].By)
		}
	}
	waits := steady.waits(begun, ended)
	t.Logf("%d turns of 5 s; waits of the %d messages meanwhile: median %v, p99 %v, longest %v",
		long, len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
	// Half of them wait for what the machine takes by itself, and none a second more: a chat that
	// waits for another's turn (5 s), a drain or a lease (15 s) does, with all that it says meanwhile.
	typical, most := waits[len(waits)/2], waits[len(waits)-1]
	if typical >= time.Second || most >= time.Second+typical {
		t.Errorf("got a message that waited %v for a restart, and half of them %v, want less than a second more, and than a second", most, typical)
	}
	s.nothingSpent()
}

// busy says whether a replica began a turn of the load's 5 seconds, of the chats up to
// last, that goes on for a while.
func (s *scene) busy(r *fleet.Replica, last int64, turn time.Duration) bool {
	for chat := int64(1); chat <= last; chat++ {
		calls := s.callsOf(chat)
		if len(calls) == 1 && calls[0].By == r.Process() && s.Now()-calls[0].At < turn/2 {
			return true
		}
	}
	return false
}

// nothingSpent fails if a restart cost more than time.
func (s *scene) nothingSpent() {
	s.t.Helper()
	for what, got := range map[string]float64{
		"deaths":       s.sum(s.Workers, "bot_turn_deaths_total"),
		"tries spent":  s.sum(s.Workers, "bot_turn_retries_total"),
		"dead letters": float64(s.stored(dead)),
	} {
		if got != 0 {
			s.t.Errorf("got %g %s, want none", got, what)
		}
	}
	if doubt, late := s.Doubt(s.t.Context()); doubt.Counted > late {
		s.t.Errorf("got %d sends in doubt, want none: a drain leaves nothing open", doubt.Counted)
	}
}

// Who can not wait for a drain signals again: the process ends at once, and what it had
// begun is done by another, as after a crash.
//
// SPEC: W3 H8
func TestASecondSignalEndsADrainAtOnce(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_DRAIN": "1m"})
	s.say(1, "/slow 15")
	s.hears(1, eager, 20*time.Second)
	first := s.callsOf(1)[0].By
	r := s.Workers[slices.IndexFunc(s.Workers, func(r *fleet.Replica) bool { return r.Process() == first })]
	if code, err := s.Hurry(s.within(30*time.Second), r); code != 1 || err != nil {
		t.Errorf("got exit code %d (%v), want 1: what it had begun is not done", code, err)
	}
	if calls := s.callsOf(1); len(calls) != 1 {
		t.Errorf("got %d calls of the turn by its process's end, want it cut off after the first", len(calls))
	}
	s.hears(1, "done after 15s", time.Minute)
	s.verify(map[string][]string{"1": {eager, "done after 15s"}})
	if calls := s.callsOf(1); calls[len(calls)-1].By == first {
		t.Errorf("got the turn ended by %s, which was ended in it", first)
	}
}
