package dispatcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// These rules spare work or time: whoever breaks one is as right as before, only later.

// counted is a coordinator that counts the tickets it is asked for.
type counted struct {
	coord.Coordinator
	tickets list[string]
}

func (c *counted) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	c.tickets.add(r.Key)
	return c.Coordinator.Take(ctx, r)
}

// count has a replica's tickets counted.
func (c *counted) count(cfg *dispatcher.Config) {
	c.Coordinator, cfg.Coordinator = cfg.Coordinator, c
}

// A nudge that comes again for a record that was applied is acknowledged by who has
// never seen the chat, and no turn is taken for it.
//
// DESIGN: N2.
func TestANudgeOfAnAppliedRecordTakesNoTicket(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		first := w.start()
		first.gate.set(func(_ int, call string) verdict {
			if call == "ack" {
				return crashBefore
			}
			return pass
		})
		w.post("a", "x")
		w.waitFor(first.gate.isDead)
		w.judge("a", 1, false)
		c := &counted{}
		w.start(c.count)
		w.settled(time.Minute)
		if got := c.tickets.all(); len(got) > 0 {
			t.Errorf("got tickets for %v, want none", got)
		}
		w.judge("a", 1, false)
	})
}

// A replica whose write meets a conflict and that still has the turn goes on from the
// newer checkpoint under it: the user waits for no other nudge.
//
// DESIGN: C6. HOLE: H19.
func TestALoserThatStillHasTheTurnGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		c, runs := &counted{}, 0
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if runs++; runs == 2 {
				w.rewrite("a", func(*checkpoint.Checkpoint) {}) // as one does that was granted the turn, too
			}
			return o, nil
		}
		w.start(c.count)
		w.post("a", "one")
		w.settled(time.Minute)
		w.post("a", "two")
		posted := time.Now()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 2 })
		if took := time.Since(posted); took > time.Second || runs != 3 {
			t.Errorf("got the answer after %v and %d runs, want it at once, by the third run", took, runs)
		}
		if got, want := c.tickets.all(), []string{"fake.a", "fake.a"}; !cmp.Equal(got, want) {
			t.Errorf("got tickets for %v, want %v", got, want)
		}
		w.settled(time.Minute)
		w.judge("a", 2, false)
	})
}

// A store that went back behind what is in the outbox: the chat goes on from the
// checkpoint there is. The outbox's last letter does not say that somebody else has it.
//
// DESIGN: C6. HOLE: H12.
func TestAStoreThatWentBackDoesNotEndItsChat(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		r := w.start()
		w.post("a", "one")
		w.settled(time.Minute)
		old := w.checkpoint("a")
		for range 2 {
			w.post("a", "x")
		}
		w.settled(time.Minute)
		r.drain()
		w.rewrite("a", func(cp *checkpoint.Checkpoint) { *cp = old })
		w.start()
		w.post("a", "four")
		w.settled(time.Minute)
		// What the store forgot is said again, behind what is there, and the chat goes on.
		if got, want := w.platform.texts("a"), append(counts(3), counts(4)...); !cmp.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A replica that served the chat before another did drops what it remembers of it: the
// next message is run once, against the state that the other one left.
//
// SPEC: H4.
func TestACopyIsDroppedWhereAnotherWasSince(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.post("a", "one")
		w.settled(time.Minute)
		w.hub.Forget()
		w.rewrite("a", func(cp *checkpoint.Checkpoint) { cp.State = []byte("7") })
		w.post("a", "two")
		w.settled(time.Minute)
		if got, want := w.platform.texts("a"), []string{"count: 1", "count: 8"}; !cmp.Equal(got, want) || w.bot.ran() != 2 {
			t.Errorf("got %v by %d runs, want %v by 2", got, w.bot.ran(), want)
		}
	})
}

// rewrite replaces a chat's checkpoint as another replica may.
func (w *world) rewrite(chat string, change func(*checkpoint.Checkpoint)) {
	w.t.Helper()
	store := natsstore.New(w.stream("CP"), "demo")
	row, err := store.Load(w.t.Context(), key(chat).Key())
	if err != nil {
		w.t.Fatal(err)
	}
	cp, err := checkpoint.Decode(row.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	change(&cp)
	value, err := cp.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := store.Swap(w.t.Context(), key(chat).Key(), row, value, "another", 0); err != nil {
		w.t.Fatal(err)
	}
}
