package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// moody is a coordinator that is away at times: then it answers nothing.
type moody struct {
	coord.Coordinator
	away *atomic.Bool
}

func (m *moody) Away(string) bool     { return m.away.Load() }
func (m *moody) Denied() error        { return nil }
func (m *moody) AwaySince() time.Time { return time.Time{} }

func (m *moody) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	if m.away.Load() {
		r.Waiting()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return m.Coordinator.Take(ctx, r)
}

func (m *moody) Alive(ctx context.Context, incarnation string) (bool, error) {
	if m.away.Load() {
		return false, botmesh.ErrRefused
	}
	return m.Coordinator.Alive(ctx, incarnation)
}

// optimist starts a replica that goes on while the coordinator is away.
func (w *world) optimist(away *atomic.Bool, configure ...func(*dispatcher.Config)) *replica {
	return w.start(append([]func(*dispatcher.Config){func(cfg *dispatcher.Config) {
		o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: &moody{cfg.Coordinator, away}})
		if err != nil {
			w.t.Fatal(err)
		}
		cfg.Coordinator = o
	}}, configure...)...)
}

// fenced notes under which fences a replica runs records of a chat.
type fenced struct {
	dispatcher.Runner
	replica string
	seen    *list[string]
}

func (f fenced) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	f.seen.add(fmt.Sprint(r.Record.Chat, " ", r.Fence, " ", f.replica))
	return f.Runner.Run(ctx, r, m)
}

// stopped is a coordinator whose clock stands still: it gives one fence again and again.
type stopped struct{ coord.Coordinator }

type stoppedTurn struct{ coord.Turn }

func (stoppedTurn) Fence() uint64 { return 7 }

func (s stopped) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	turn, err := s.Coordinator.Take(ctx, r)
	if err != nil {
		return nil, err
	}
	return stoppedTurn{turn}, nil
}

// Replicas without a coordinator are given a chat under the same fence, as in the same
// microsecond, and still no two of them run records under one.
//
// SPEC: T14. DESIGN: I6.
func TestFencesOfBlindTurnsAreEachReplicasOwn(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var away atomic.Bool
		away.Store(true)
		var seen list[string]
		for _, name := range []string{"one", "two", "three"} {
			r := w.optimist(&away, func(cfg *dispatcher.Config) {
				cfg.Runner, cfg.Coordinator = fenced{cfg.Runner, name, &seen}, stopped{cfg.Coordinator}
			})
			for range 3 {
				w.post("a", "x")
			}
			w.settled(time.Hour)
			r.drain()
		}
		by, served := map[string]string{}, map[string]bool{}
		for _, run := range seen.all() {
			at := strings.LastIndex(run, " ")
			fence, replica := run[:at], run[at:]
			if first, known := by[fence]; known && first != replica {
				t.Errorf("fence %s: got runs of%s and of%s, want one replica's", fence, first, replica)
			}
			by[fence], served[replica] = replica, true
		}
		if len(served) != 3 {
			t.Errorf("got all runs of %v, want some of each replica", served)
		}
	})
}

// Nobody hands out turns, and three replicas serve the same chats: each message is
// answered once, in order, and run once, though runs take longer than a lease.
//
// SPEC: J4 T14. DESIGN: N6 C6.
func TestChatsAreServedWithoutACoordinator(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]time.Duration{"short": 300 * time.Millisecond, "long": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				var away atomic.Bool
				away.Store(true)
				w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					time.Sleep(long) // virtual
					return o, nil
				}
				for range 3 {
					w.optimist(&away)
				}
				const messages = 12
				chats := []string{"a", "b", "c"}
				for range messages {
					for _, chat := range chats {
						w.post(chat, "x")
					}
					time.Sleep(100 * time.Millisecond)
				}
				w.settled(time.Hour)
				for _, chat := range chats {
					if diff := cmp.Diff(counts(messages), w.platform.texts(chat)); diff != "" {
						t.Errorf("texts of %s (-want +got): %s", chat, diff)
					}
				}
				if got, want := w.bot.ran(), messages*len(chats); got != want {
					t.Errorf("got %d runs, want %d, one for each message", got, want)
				}
			})
		})
	}
}

// The replica that runs a record blind dies: another gets its nudge after a lease, sees
// the claim and waits for another one, and no longer. What a replica that drains leaves, nobody waits for.
//
// SPEC: J6 T14. DESIGN: N6.
func TestAClaimOfABlindTurnEndsAfterALease(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{true, false} {
		play(t, func(w *world) {
			var away atomic.Bool
			away.Store(true)
			var ran list[time.Time]
			w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
				if ran.add(time.Now()) == 1 {
					<-ctx.Done()
				}
				return o, nil
			}
			first := w.optimist(&away)
			w.post("a", "x")
			w.waitFor(func() bool { return len(ran.all()) == 1 })
			w.optimist(&away)
			time.Sleep(lease / 2) // a renewal later
			left := time.Now()
			if dies {
				first.gate.kill()
			} else {
				first.stop()
			}
			w.waitFor(func() bool { return len(ran.all()) == 2 })
			took, least, most := ran.all()[1].Sub(left), lease/2, 2*lease+lease/5
			if !dies {
				least, most = 15*time.Second, 15*time.Second+lease/5 // its drain
			}
			if took < least || took > most {
				t.Errorf("dies %t: taken over after %s, want %s to %s", dies, took, least, most)
			}
			w.settled(time.Hour)
			if got := w.platform.texts("a"); !cmp.Equal(got, counts(1)) {
				t.Errorf("got %v, want one answer", got)
			}
		})
	}
}

// Another replica runs a record for long and renews its claim, by a clock that is wrong:
// its claim is heeded for as long as it is renewed.
//
// SPEC: T14. DESIGN: N10 C6.
func TestAClaimIsJudgedByOnesOwnClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		play(t, func(w *world) {
			var away atomic.Bool
			away.Store(true)
			claim := func() {
				w.rewrite("a", func(cp *checkpoint.Checkpoint) {
					cp.Claim = &checkpoint.Claim{Incarnation: "another/1", At: time.Now().Add(wrong)}
				})
			}
			w.optimist(&away)
			w.post("a", "x")
			w.settled(time.Minute)
			claim()
			w.post("a", "y")
			for range 9 {
				time.Sleep(lease / 3)
				claim()
			}
			if w.bot.ran() != 1 {
				t.Errorf("clock off by %s: got %d runs beside the other replica, want none", wrong, w.bot.ran()-1)
			}
			w.settled(2 * lease)
			w.judge("a", 2, false)
		})
	}
}

// Two replicas that meet without a coordinator do not go on beating each other: who
// lost leaves the chat for a moment.
//
// DESIGN: C6.
func TestABlindLoserLeavesTheChat(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var away atomic.Bool
		away.Store(true)
		var ran list[time.Time]
		w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if ran.add(time.Now()) == 1 {
				w.rewrite("a", func(cp *checkpoint.Checkpoint) { cp.Claim = nil }) // as another does that gives it back
			}
			return o, nil
		}
		w.optimist(&away)
		w.post("a", "x")
		w.settled(time.Minute)
		if at := ran.all(); len(at) != 2 || at[1].Sub(at[0]) < lease/60 {
			t.Errorf("got runs at %v, want a second one a moment after the first", at)
		}
		w.judge("a", 1, false)
	})
}
