package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// A lock that is shorter than the handler it protects, and never renewed, lets the
// next message run beside it. Here a turn outlasts its lease three times over, and
// the message that comes in its midst waits for its end.
//
// FAULT: 1 https://github.com/vercel/chat/issues/685
// SPEC: T1 T3 T6
func TestATurnLongerThanItsLeaseIsNotGivenAway(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_LEASE": "4s"})
	s.say(1, "/slow 12")
	s.hears(1, eager, 20*time.Second)
	holder := s.lastCaller(1).Process()
	<-time.After(5 * time.Second) // longer than the lease
	s.say(1, "/count")
	s.hears(1, "count: 1", 40*time.Second)
	s.verify(map[string][]string{"1": {eager, "done after 12s", "count: 1"}})
	for _, c := range s.callsOf(1) {
		if c.Text == "done after 12s" && c.By != holder {
			t.Errorf("got the end of the turn from %s, want it from %s, which began it", c.By, holder)
		}
	}
	for metric, want := range map[string]float64{"bot_lease_lost_total": 0, "bot_checkpoint_conflicts_total": 0, "bot_turns_total": 2} {
		if got := s.sum(s.Workers, metric); got != want {
			t.Errorf("got %s %g, want %g: each record is run once", metric, got, want)
		}
	}
}

// The other half of it: where the lease can not be renewed the handler is stopped,
// and nothing of its run counts.
//
// FAULT: 1 https://github.com/vercel/chat/issues/685
// SPEC: T7 T12 T14 C3
func TestATurnThatCanNotBeRenewedIsStopped(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	s.say(1, "/slow 12")
	s.hears(1, eager, 20*time.Second)
	holder := s.lastCaller(1)
	s.Redis.Child().Freeze()
	s.eventually(10*time.Second, "the turn is lost before its handler would be done", func(ctx context.Context) error {
		m, err := holder.Metrics(ctx)
		if err == nil && m.Sum("bot_lease_lost_total") == 0 {
			err = fmt.Errorf("it is held")
		}
		return err
	})
	if got := s.Texts(1); len(got) > 1 {
		t.Errorf("got %q from a turn that was lost, want no more than %q", got, eager)
	}
	s.Redis.Child().Thaw()
	s.say(1, "/count")
	s.hears(1, "count: 1", 40*time.Second)
	s.verify(map[string][]string{"1": {eager, "done after 12s", "count: 1"}})
}

// A process was killed with a chat in its hands, and whoever came after took it for
// alive: same host, same name, and in containers mostly the same process id. Here
// the replica that was killed comes back under its name, alone.
//
// FAULT: 4 https://github.com/openclaw/openclaw/issues/92259
// SPEC: D4 J6 T6
func TestAReplicaThatComesBackUnderItsNameTakesOverWhatItHeld(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	alone := s.Workers[0]
	for _, w := range s.Workers[1:] {
		if code, err := w.Term(s.within(20 * time.Second)); code != 0 || err != nil {
			t.Fatalf("got exit code %d (%v), want 0", code, err)
		}
	}
	s.Workers = s.Workers[:1]
	s.say(1, "/slow 2")
	s.hears(1, eager, 20*time.Second)
	before, err := alone.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Kill(t.Context(), alone)
	if err := alone.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	back := s.Now()
	s.say(1, "/count")
	s.hears(1, "count: 1", 30*time.Second)
	after, err := alone.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before.Replica != after.Replica || before.Incarnation == after.Incarnation {
		t.Errorf("got %+v after %+v, want the same replica in another incarnation", after, before)
	}
	s.verify(map[string][]string{"1": {eager, "done after 2s", "count: 1"}})
	calls := s.callsOf(1)
	took := calls[len(calls)-1].At - back
	t.Logf("answered %v after it came back, of which what is left of the lease of %v, and the run of 2s", took, lease)
	if bound := 2*time.Second + 3*lease; took > bound {
		t.Errorf("got the answer %v after it came back, want it within %v", took, bound)
	}
	if got := s.sum(s.Workers, "bot_turn_deaths_total"); got != 1 {
		t.Errorf("got %g deaths counted, want 1", got)
	}
	if got := s.sum(s.Workers, "bot_turn_wait_seconds_sum"); got < 0.1 {
		t.Errorf("got %gs of waiting for turns, want to see the wait for the dead one's", got)
	}
}

// What a consumer had handed out to a process that died comes again in another
// order than it came: the first message after the others, once the time for its
// acknowledgement is over.
//
// FAULT: 15 https://github.com/nats-io/nats-server/issues/6114
// SPEC: J4 J6 DESIGN N3
func TestRecordsThatAreHandedOutAgainKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	s.say(1, "/slow 1")
	s.hears(1, eager, 20*time.Second)
	want := []string{eager, "done after 1s"}
	s.Freeze(t.Context(), s.lastCaller(1)) // so that its turn does not end
	for n := range 8 {
		s.say(1, "/count")
		want = append(want, fmt.Sprintf("count: %d", n+1))
	}
	js := s.jetStream()
	s.eventually(20*time.Second, "all are handed out", func(ctx context.Context) error {
		pending, unacknowledged, err := fleet.Backlog(ctx, js, fleet.Bot)
		if err == nil && (pending > 0 || unacknowledged < 9) {
			err = fmt.Errorf("%d are not, %d are", pending, unacknowledged)
		}
		return err
	})
	for _, w := range s.Workers {
		s.Kill(t.Context(), w)
	}
	<-time.After(lease * 3 / 2) // longer than their acknowledgement is waited for
	for _, w := range s.Workers {
		if err := w.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	s.hears(1, want[len(want)-1], 40*time.Second)
	s.verify(map[string][]string{"1": want})
}

// An acknowledgement counts whoever sends it, also a replica that was frozen past
// its time while another has the record in hand. Here the frozen one wakes when the
// other is half-way, and that one dies before its end: had the first acknowledged,
// nobody would run the record any more.
//
// FAULT: 16 https://github.com/nats-io/nats-server/issues/4786
// SPEC: T7 J5 C2 DESIGN C5 I9
func TestAReplicaThatLostItsTurnDoesNotAcknowledge(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_LEASE": "4s"}) // so that the second one is far behind the first
	const slow = 6 * time.Second
	s.say(1, "/slow 6")
	s.hears(1, eager, 20*time.Second)
	began := time.Now()
	first := s.lastCaller(1)
	s.Freeze(t.Context(), first)
	second := s.running(1, first)
	<-time.After(slow - time.Since(began)) // the frozen one's run is due
	first.Child().Thaw()
	s.eventually(20*time.Second, "the first one knows that it lost its turn", func(ctx context.Context) error {
		m, err := first.Metrics(ctx)
		if err == nil && m.Sum("bot_lease_lost_total") == 0 {
			err = fmt.Errorf("it does not")
		}
		return err
	})
	s.Kill(t.Context(), second)
	if got := s.Texts(1); len(got) > 1 {
		t.Fatalf("got %q before the second one's end: this run proves nothing", got)
	}
	s.hears(1, "done after 6s", 40*time.Second)
	s.say(1, "/count")
	s.hears(1, "count: 1", 20*time.Second)
	s.verify(map[string][]string{"1": {eager, "done after 6s", "count: 1"}})
}

// running waits until a worker other than those runs a record of the chat.
func (s *scene) running(chat int64, others ...*fleet.Replica) (w *fleet.Replica) {
	s.t.Helper()
	name := fmt.Sprintf("telegram/%d", chat)
	s.eventually(20*time.Second, "another worker runs the record", func(ctx context.Context) error {
		for _, w = range s.Workers {
			if slices.Contains(others, w) {
				continue
			}
			status, err := w.Status(ctx)
			if err == nil && slices.Contains(status.Lanes, fleet.Lane{Chat: name, Phase: "running"}) {
				return nil
			}
		}
		return fmt.Errorf("none does")
	})
	return w
}
