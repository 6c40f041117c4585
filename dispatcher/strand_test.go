package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

// elder is the bot in a build that can not read what the counter keeps. It has /cancel, and
// /ping, which needs nothing of it.
type elder struct{ *counter }

func (e elder) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	switch {
	case r.Record.Resume != nil && r.Record.Resume.Forget:
		return botmesh.Outcome{}, nil
	case r.Record.Message.Text == "/cancel":
		return botmesh.Outcome{Sends: []botmesh.Send{{Text: "cancelled"}}}, nil
	case r.Record.Message.Text == "/ping":
		return botmesh.Outcome{State: r.State, Sends: []botmesh.Send{{Text: "pong"}}}, nil
	case r.State == nil:
		return e.counter.Run(ctx, r, m)
	}
	e.mu.Lock()
	e.runs++
	e.mu.Unlock()
	return botmesh.Outcome{}, fmt.Errorf("%w: there is no flow %q", botmesh.ErrStranded, "count")
}

func (e elder) Leaves(r botmesh.Record) bool {
	return r.Message.Text == "/cancel" || r.Resume != nil && r.Resume.Forget
}

// around is a Runner around another.
type around struct{ dispatcher.Runner }

func (a around) Unwrap() dispatcher.Runner { return a.Runner }

// elder starts a worker of that build.
func (w *world) elder(configure ...func(*dispatcher.Config)) (*replica, elder) {
	e := elder{&counter{}}
	return w.start(append(configure, func(c *dispatcher.Config) { c.Runner, c.ParkAfter = around{e}, 3*time.Minute })...), e
}

// begun has a newer build, which is gone then, leave a state in a chat.
func (w *world) begun(chat string) {
	newer := w.start()
	w.post(chat, "one")
	w.settled(time.Minute)
	newer.drain()
}

// A chat from whose state a build can not go on is parked: its records wait in their order,
// no try is spent and nothing set aside, other chats go on, and so does this one, by
// itself, when a build comes that can.
//
// DESIGN: §7 N8.
func TestAStrandedChatWaitsForABuildThatCanGoOn(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		older, _ := w.elder()
		since := time.Now()
		w.post("a", "two")
		w.post("a", "three")
		w.post("b", "one")
		time.Sleep(2 * time.Minute)
		if got := older.d.Status().Parked; len(got) != 0 {
			t.Errorf("got %+v parked after two minutes, want none before three", got)
		}
		w.judge("b", 1, false)
		time.Sleep(2 * time.Hour)
		got := older.d.Status()
		if len(got.Parked) != 1 || got.Parked[0].Chat != "fake/a" || got.Parked[0].Since.Sub(since) > time.Second || !strings.Contains(got.Parked[0].Why, `no flow "count"`) {
			t.Errorf("got %+v parked, want fake/a from the beginning, with the reason", got.Parked)
		}
		if dead := w.dead(); len(dead) != 0 {
			t.Errorf("got dead letters %+v, want none", dead)
		}
		w.waitFor(func() bool { return len(older.d.Status().Lanes) == 0 }) // it may just be here
		tries := w.checkpoint("a").Tries
		if tries == nil || tries.N != 0 || tries.Record != 2 || tries.Stranded.Sub(since) > time.Second || !strings.Contains(tries.Error, `no flow "count"`) {
			t.Errorf("got tries %+v, want none of record 2, which is stranded since the beginning", tries)
		}
		w.judge("a", 1, false)
		var tried list[int]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			tried.add(r.Try)
			return o, nil
		}
		w.start()
		w.settled(20 * time.Minute) // the older one may get its nudge a few times more
		w.judge("a", 3, false)
		if diff := cmp.Diff([]int{1, 1}, tried.all()); diff != "" {
			t.Errorf("tries of the runs (-want +got):\n%s", diff)
		}
		w.waitFor(func() bool { return len(older.d.Status().Parked) == 0 })
	})
}

// Its user leads a stranded chat out: what was said before that to the conversation has no
// effect, all else has, in its place.
//
// DESIGN: §7 N4.
func TestCancelLeadsAStrandedChatOut(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{false, true} {
		t.Run(fmt.Sprint("parked ", patient), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.begun("a")
				older, _ := w.elder()
				w.post("a", "two")
				if patient {
					w.waitFor(func() bool { return len(older.d.Status().Parked) == 1 })
				}
				for range 40 { // more than are read at once
					w.post("a", "?")
				}
				w.post("a", "/ping")
				w.post("a", "three")
				if patient {
					time.Sleep(time.Hour)
				}
				w.post("a", "/cancel")
				w.post("a", "four")
				left := time.Now()
				w.settled(10 * time.Minute)
				if took := time.Since(left); !patient && took > 10*time.Second {
					t.Errorf("led out %v after /cancel, want it soon", took)
				}
				if diff := cmp.Diff([]string{"count: 1", "pong", "cancelled", "count: 1"}, w.platform.texts("a")); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
				if dead := w.dead(); len(dead) != 0 {
					t.Errorf("got dead letters %+v, want none", dead)
				}
				w.waitFor(func() bool { return len(older.d.Status().Parked) == 0 })
			})
		})
	}
}

// lagging is a journal whose servers show nothing of a chat's records from a sequence on
// until a time, but for the leader.
type lagging struct {
	jet.Stream
	w     *world
	from  uint64
	until time.Time
}

func (l *lagging) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	all, err := l.Stream.Range(ctx, subject, from, limit)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if time.Now().Before(l.until) {
		all = slices.DeleteFunc(all, func(m jet.Stored) bool { return m.Seq >= l.from })
	}
	return all, err
}

// A wish to cancel that the server which is asked does not show yet is looked for again
// soon, and not when the chat comes by the next time.
//
// DESIGN: N3.
func TestAWayOutThatIsNotShownYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		l := &lagging{w: w, from: 3}
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind == "INBOX" {
				l.Stream = s
				return l
			}
			return s
		}
		w.elder()
		w.post("a", "two")
		time.Sleep(time.Hour)
		w.mu.Lock()
		l.until = time.Now().Add(3 * time.Second)
		w.mu.Unlock()
		w.post("a", "/cancel")
		left := time.Now()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 2 })
		if took := time.Since(left); took > 10*time.Second {
			t.Errorf("led out %v after /cancel, want it soon after it is shown", took)
		}
	})
}

// So does an operator, who pauses it and has all of it forgotten, also if what it waits with
// is no user's, as that is not passed over.
//
// DESIGN: N9.
func TestAnOperatorLeadsAStrandedChatOut(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		w.bot.on = nil
		w.begun("a")
		w.elder()
		publish := func(r botmesh.Record) {
			j, err := journal.Open(t.Context(), journal.Config{Bot: "demo", Inbox: w.stream("INBOX"), Dead: w.stream("DEAD")})
			if err != nil {
				t.Fatal(err)
			}
			r.Chat = key("a")
			if _, err := j.Publish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		publish(botmesh.Record{Type: botmesh.TypeEdit, ID: "edit"})
		w.post("a", "two")
		time.Sleep(time.Hour)
		p := o.lift(o.pause("a", acts.All), 0)
		publish(botmesh.Record{Type: botmesh.TypeCommand, ID: "resume", Resume: &botmesh.Resume{Paused: p.Since, Resumed: p.Resumed, Forget: true}})
		w.post("a", "three")
		w.settled(10 * time.Minute)
		o.expect("forgotten", "a", "count: 1", "count: 1")
		if dead := w.dead(); len(dead) != 0 {
			t.Errorf("got dead letters %+v, want none", dead)
		}
	})
}

// What a chat said before it was stranded is delivered all the same, also if its platform
// is slow or away.
//
// DESIGN: C5 D5.
func TestAStrandedChatIsStillToldWhatWasSaid(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		away := time.Now().Add(5 * time.Minute)
		w.rule(func(string, string, int) error {
			if time.Now().Before(away) {
				return errNo
			}
			return nil
		})
		newer := w.start()
		w.post("a", "one")
		w.waitFor(func() bool { return w.checkpointed("a") })
		newer.drain()
		w.elder()
		w.post("a", "two")
		time.Sleep(10 * time.Minute)
		w.judge("a", 1, false)

		w.platform.slow = 3 * time.Second
		w.post("b", "one")
		for range 5 {
			w.post("b", "/ping")
		}
		w.post("b", "two")
		time.Sleep(15 * time.Second)
		w.post("b", "/cancel") // while that is delivered
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"count: 1", "pong", "pong", "pong", "pong", "pong", "cancelled"}, w.platform.texts("b")); diff != "" {
			t.Errorf("texts (-want +got):\n%s", diff)
		}
	})
}

// takes counts the tickets that are asked for.
type takes struct {
	coord.Coordinator
	n *atomic.Int64
}

func (c takes) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	c.n.Add(1)
	return c.Coordinator.Take(ctx, r)
}

// A parked chat is run once by each replica that meets it, not each time that it comes by,
// and asks nothing of the coordinator.
func TestAParkedChatCostsLittle(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		var elders []elder
		var taken atomic.Int64
		for range 3 {
			_, e := w.elder(func(c *dispatcher.Config) { c.Coordinator = takes{c.Coordinator, &taken} })
			elders = append(elders, e)
		}
		w.post("a", "two")
		w.post("a", "three")
		time.Sleep(10 * time.Minute)
		made := func() (n int) {
			for _, r := range w.replicas {
				n += len(r.gate.log())
			}
			return n
		}
		before, asked := made(), taken.Load()
		time.Sleep(time.Hour)
		for i, e := range elders {
			if got := e.ran(); got > 2 {
				t.Errorf("replica %d ran it %d times, want at most once for each message", i, got)
			}
		}
		idle := 60 * 60 / 32 * 3 // what the replicas look at without any chat
		t.Logf("calls in an hour: %d", made()-before-idle)
		if got := made() - before - idle; got > 60*2*2+60 {
			t.Errorf("got %d calls in an hour for a chat of two waiting messages, want a read and a mark for each a minute", got)
		}
		if got := taken.Load() - asked; got != 0 {
			t.Errorf("asked the coordinator %d times in that hour, want never", got)
		}
	})
}

// A replica of a build that can not go on may die, and any of its calls may fail, wherever
// that is: nothing is lost or doubled.
//
// SPEC: J5 J6 T6. DESIGN: N8.
func TestACrashAtAnyCallOfAStrandedTurnCostsNothing(t *testing.T) {
	t.Parallel()
	met := func(w *world, fail func(*replica)) *replica {
		w.begun("a")
		older, _ := w.elder()
		fail(older)
		w.post("a", "two")
		time.Sleep(5 * time.Minute)
		return older
	}
	var calls []string
	var begin int
	play(t, func(w *world) {
		calls = met(w, func(r *replica) { begin = len(r.gate.log()) }).gate.log()
	})
	calls = calls[:begin+14] // a turn, and a few times when it comes by
	for n := begin; n < len(calls); n++ {
		for _, v := range []verdict{crashBefore, crashAfter, refuse, drop, lose, falsely} {
			t.Run(fmt.Sprintf("%s/%d %s", v, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					met(w, func(r *replica) { r.gate.set(at(n, v)) })
					w.start()
					w.settled(20 * time.Minute)
					w.judge("a", 2, false)
					if dead := w.dead(); len(dead) != 0 {
						t.Errorf("got dead letters %+v, want none", dead)
					}
				})
			})
		}
	}
}
