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
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// ward watches the runs of the replicas it starts: which replica each is on, and
// what runs beside it.
type ward struct {
	*world
	running list[visit]
	// forgot is when the heartbeats were lost last; those who live bring them back a
	// third of a lease later.
	forgot time.Time
	// run takes the place of the counter's answer. kill ends the replica.
	run func(ctx context.Context, r botmesh.Run, beside int, kill func()) error
}

type visit struct {
	on     string // incarnation
	change int
}

// admit starts a replica.
func (w *ward) admit() *replica {
	return w.start(func(cfg *dispatcher.Config) {
		me := cfg.Coordinator.Incarnation()
		cfg.Coordinator = &amnesiac{cfg.Coordinator, w}
		cfg.Runner = &counter{on: func(ctx context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			w.running.add(visit{me, 1})
			defer w.running.add(visit{me, -1})
			beside := -1
			for _, v := range w.running.all() {
				if v.on == me {
					beside += v.change
				}
			}
			return o, w.run(ctx, r, beside, func() { w.kill(me) })
		}}
	})
}

// forget empties the coordinator.
func (w *ward) forget() {
	w.mu.Lock()
	w.forgot = time.Now()
	w.mu.Unlock()
	w.hub.Forget()
}

// amnesiac is a coordinator whose heartbeats can be lost, too.
type amnesiac struct {
	coord.Coordinator
	w *ward
}

func (a *amnesiac) Alive(ctx context.Context, incarnation string) (bool, error) {
	a.w.mu.Lock()
	forgot := a.w.forgot
	a.w.mu.Unlock()
	if !forgot.IsZero() && time.Since(forgot) < lease/3 {
		return false, nil
	}
	return a.Coordinator.Alive(ctx, incarnation)
}

// kill ends the replica of an incarnation, as SIGKILL does.
func (w *world) kill(incarnation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.replicas {
		if r.coord.Incarnation() == incarnation {
			r.gate.kill()
		}
	}
}

// attend replaces replicas that died, n at a time alive, until done.
func (w *ward) attend(n int, done func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(2 * time.Hour)
	for !done() {
		alive := 0
		for _, r := range w.replicas {
			if !r.gate.isDead() {
				alive++
			}
		}
		for ; alive < n; alive++ {
			w.admit()
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited two hours\n%s", w.dump())
		}
		time.Sleep(time.Second) // virtual
	}
}

func (w *ward) answered(chats, messages int) bool {
	for c := range chats {
		if len(w.platform.texts(fmt.Sprint("c", c))) < messages {
			return false
		}
	}
	return true
}

// A record that ends its process is set aside after its fourth time, the last two
// of them alone. Whatever ran beside it before is only interrupted.
//
// SPEC: J8. DESIGN: N6. HOLE: H8.
func TestARecordThatKillsItsProcessIsConvictedAndNoOther(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprintf("coordinator forgets %v", forget), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				const chats, messages = 30, 3
				deaths, alone := 0, 0
				killers := &ward{world: w}
				killers.run = func(ctx context.Context, r botmesh.Run, beside int, kill func()) error {
					if r.Record.Message.Text != "kill" {
						time.Sleep(3 * time.Second)
						return ctx.Err()
					}
					deaths++
					if tries := w.checkpoint("killer").Tries; tries != nil && tries.Deaths >= 2 {
						alone++
						if beside > 0 {
							t.Errorf("death %d: got %d runs beside it, want none", deaths, beside)
						}
					}
					time.Sleep(time.Second)
					if forget {
						killers.forget()
					}
					kill()
					<-ctx.Done()
					return ctx.Err()
				}
				w.post("killer", "x")
				killers.admit()
				w.settled(time.Minute)
				w.post("killer", "kill")
				w.post("killer", "x")
				for range messages {
					for c := range chats {
						w.post(fmt.Sprint("c", c), "x")
					}
				}
				killers.attend(2, func() bool {
					return len(w.platform.texts("killer")) == 2 && killers.answered(chats, messages)
				})
				w.settled(time.Hour)
				// One that forgets before each death hides some of them.
				if !forget && (deaths != 4 || alone != 2) || forget && (deaths > 16 || alone < 2) {
					t.Errorf("got %d deaths, %d of them alone, want 4 and 2", deaths, alone)
				}
				dead := w.dead()
				if len(dead) != 1 || dead[0].Chat != key("killer") || !strings.Contains(dead[0].Error, "process ended") {
					t.Errorf("got dead letters %+v, want the one that killed", dead)
				}
				for c := range chats {
					if diff := cmp.Diff(counts(messages), inOrder(w.platform.texts(fmt.Sprint("c", c)))); diff != "" {
						t.Errorf("texts of c%d (-want +got): %s", c, diff)
					}
				}
			})
		})
	}
}

// A suspect that is innocent loses nothing: whoever dies while it waits for its
// run, or has it behind it, does not count against it.
//
// DESIGN: N6. HOLE: H8.
func TestASuspectIsNotConvictedOfADeathBesideItsRun(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		n := 0
		killers := &ward{world: w}
		killers.run = func(ctx context.Context, r botmesh.Run, beside int, kill func()) error {
			n++
			switch {
			case n <= 2: // makes it a suspect
				kill()
				<-ctx.Done()
				return ctx.Err()
			case n <= 6: // fails, and its process ends while it waits to be tried again
				time.AfterFunc(time.Second, kill)
				return errNo
			}
			return nil
		}
		w.post("a", "x")
		killers.attend(1, func() bool { return len(w.platform.texts("a")) == 1 })
		if dead := w.dead(); len(dead) != 0 {
			t.Errorf("got %+v set aside, want nothing", dead)
		}
	})
}

// A coordinator that forgot everything has no heartbeat either, of a process that
// lives and runs a suspect alone. That is no death.
//
// DESIGN: N6. HOLE: H8.
func TestAForgottenHeartbeatIsNoDeath(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		n := 0
		killers := &ward{world: w}
		killers.run = func(ctx context.Context, r botmesh.Run, beside int, kill func()) error {
			n++
			switch {
			case n <= 2:
				kill()
				<-ctx.Done()
				return ctx.Err()
			case n <= 6: // the turn is lost during a run alone, and so are the heartbeats
				time.AfterFunc(4*time.Second, killers.forget)
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		w.post("a", "x")
		killers.attend(2, func() bool { return len(w.platform.texts("a")) == 1 })
		if dead := w.dead(); len(dead) != 0 {
			t.Errorf("got %+v set aside, want nothing", dead)
		}
	})
}

// A deploy that cuts a suspect's lone run off is no death, however often: it takes
// its claim away, and who finds that claim sees that the turn was given up.
//
// SPEC: J8. DESIGN: N6. HOLE: H8.
func TestADrainThatCutsALoneRunIsNoDeath(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var runs atomic.Int32
		killers := &ward{world: w}
		killers.run = func(ctx context.Context, r botmesh.Run, beside int, kill func()) error {
			n := runs.Add(1)
			if n <= 2 {
				kill()
			}
			if n <= 6 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		w.post("a", "x")
		for runs.Load() < 6 {
			was := runs.Load()
			killers.attend(1, func() bool { return runs.Load() > max(was, 2) })
			for _, r := range w.replicas {
				if !r.gate.isDead() {
					r.drain()
					r.gate.kill() // to be replaced
				}
			}
			if cp := w.checkpoint("a"); cp.Claim != nil || cp.Tries == nil || cp.Tries.Deaths != 2 {
				t.Errorf("after a drain: got claim %+v and %+v, want none and two deaths", cp.Claim, cp.Tries)
			}
		}
		killers.attend(1, func() bool { return len(w.platform.texts("a")) == 1 || len(w.dead()) > 0 })
		if dead := w.dead(); len(dead) != 0 {
			t.Errorf("got %+v set aside, want nothing", dead)
		}
	})
}

// A death counts against a record that ran, and against none that waited for its next try,
// or for another build, while its holder had the turn.
//
// DESIGN: N5 N6.
func TestADeathWhileARecordWaitsIsNotItsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dies func(w *world, r *replica, ran *list[int]) // ends the first replica
		want int
	}{
		"in its first run": {func(w *world, r *replica, ran *list[int]) {
			w.waitFor(func() bool { return len(ran.all()) == 1 })
		}, 1},
		"between its tries": {func(w *world, r *replica, ran *list[int]) {
			w.waitFor(func() bool { return w.checkpointed("a") && w.checkpoint("a").Tries.N == 1 })
		}, 0},
		"in its second run": {func(w *world, r *replica, ran *list[int]) {
			w.waitFor(func() bool { return len(ran.all()) == 2 })
		}, 1},
		"between its tries, again": {func(w *world, r *replica, ran *list[int]) {
			w.waitFor(func() bool { return w.checkpointed("a") && w.checkpoint("a").Tries.N == 2 })
		}, 0},
	} {
		for _, forgets := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, forgotten %v", name, forgets), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					var ran list[int]
					w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
						ran.add(1)
						select {
						case <-time.After(time.Second):
							return o, errNo
						case <-ctx.Done():
							return o, ctx.Err()
						}
					}
					r := w.start()
					w.post("a", "one")
					c.dies(w, r, &ran)
					r.gate.kill()
					<-r.done
					if forgets {
						w.hub.Forget()
					}
					var counted list[int]
					w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
						if tries := w.checkpoint("a").Tries; tries != nil {
							counted.add(tries.Deaths)
						}
						return o, nil
					}
					w.start()
					w.settled(5 * time.Minute)
					w.judge("a", 1, false)
					deaths := 0
					for _, n := range counted.all() {
						deaths += n
					}
					if deaths != c.want && !(forgets && deaths == 0) { // who forgot may not know of a first run
						t.Errorf("got %d deaths, want %d", deaths, c.want)
					}
				})
			})
		}
	}
}
