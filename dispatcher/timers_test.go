package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

// reminding makes the bot of a world do what a text asks for: "arm <name> <duration>"
// and "disarm <name>", beside counting. What fires is counted, too, and noted.
func reminding(w *world) *list[string] {
	var fired list[string]
	w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		if r.Record.Type == botmesh.TypeTimer {
			if late := r.Now.Sub(r.Timer.At); late < 0 {
				w.t.Errorf("%s fired %v too early", r.Timer.Name, -late)
			}
			fired.add(r.Timer.Name + " " + string(r.Timer.Data))
			return o, nil
		}
		words := strings.Fields(r.Record.Message.Text)
		switch words[0] {
		case "arm":
			after, err := time.ParseDuration(words[2])
			if err != nil {
				return o, err
			}
			o.Arm = []botmesh.Timer{{Name: words[1], At: r.Now.Add(after), Data: []byte(words[2])}}
		case "disarm":
			o.Disarm = words[1:]
		}
		return o, nil
	}
	return &fired
}

// firesWithin fails the test of a world where a timer fires later than a second after what
// since says, which is when it was due or when somebody was there to see it.
func firesWithin(w *world, since func(due time.Time) time.Time) {
	on := w.bot.on
	w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		if r.Record.Type == botmesh.TypeTimer {
			if late := r.Now.Sub(since(r.Timer.At)); late > time.Second {
				w.t.Errorf("%s fired %v too late, want it within a second", r.Timer.Name, late)
			}
		}
		return on(ctx, r, m, o)
	}
}

// timerRecords counts what the journal published to a chat.
func (w *world) timerRecords(chat string) (n int) {
	w.t.Helper()
	j, err := journal.Open(w.t.Context(), journal.Config{Bot: "demo", Inbox: w.stream("INBOX"), Dead: w.stream("DEAD")})
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := j.Read(w.t.Context(), key(chat), 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all {
		if e.Record.Type == botmesh.TypeTimer {
			n++
		}
	}
	return n
}

// SPEC: H12 S2. DESIGN: N7 C3.
func TestATimerFiresOnWhicheverReplicaIsAlive(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		fired := reminding(w)
		firesWithin(w, func(due time.Time) time.Time { return due })
		a := w.start()
		w.post("a", "arm tea 10m")
		w.settled(time.Minute)
		a.drain()
		w.start()
		time.Sleep(9 * time.Minute)
		w.judge("a", 1, false)
		w.post("a", "x")
		time.Sleep(2 * time.Minute)
		w.settled(time.Minute)
		w.judge("a", 3, false)
		if diff := cmp.Diff([]string{"tea 10m"}, fired.all()); diff != "" {
			t.Errorf("fired (-want +got):\n%s", diff)
		}
		if cp := w.checkpoint("a"); len(cp.Timers) > 0 {
			t.Errorf("got %+v armed after all fired", cp.Timers)
		}
	})
}

// SPEC: H12. DESIGN: C10. HOLE: H11 H22.
func TestATimerThatIsDueWhileNobodyLivesFiresLater(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		fired := reminding(w)
		w.bot.on = stateless(w.bot.on)
		var back time.Time
		firesWithin(w, func(time.Time) time.Time { return back })
		a := w.start()
		w.post("a", "arm tea 720h")
		w.settled(time.Minute)
		a.drain()
		time.Sleep(60 * 24 * time.Hour)
		back = time.Now()
		w.start()
		w.settled(time.Minute)
		if got := fired.all(); len(got) != 1 {
			t.Errorf("got %q fired, want one", got)
		}
		if got := w.timerRecords("a"); got != 1 {
			t.Errorf("got %d timer records, want the one that waited and none beside it", got)
		}
	})
}

// A timer whose record is gone, too old or lost with its schedule, is armed again by who
// next looks at its chat.
//
// SPEC: H12. DESIGN: C10.
func TestATimerThatTheJournalLostFiresLater(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		fired := reminding(w)
		a := w.start()
		w.post("a", "arm tea 10m")
		w.settled(time.Minute)
		w.post("a", "x") // its commit holds no effect but its answer
		w.settled(time.Minute)
		a.drain()
		if err := w.stream("INBOX").Purge(t.Context(), "bot.timer.demo."+key("a").Key()+".e1-1-t0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.start()
		if got := w.timerRecords("a"); got != 0 {
			t.Fatalf("got %d timer records, want the schedule gone", got)
		}
		w.post("a", "y")
		w.settled(time.Minute)
		time.Sleep(time.Minute)
		w.settled(time.Minute)
		if got := fired.all(); len(got) != 1 {
			t.Errorf("got %q fired, want one", got)
		}
		w.judge("a", 4, false)
	})
}

// stateless lets a bot keep nothing.
func stateless[F func(context.Context, botmesh.Run, botmesh.Midway, botmesh.Outcome) (botmesh.Outcome, error)](on F) F {
	return func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		o, err := on(ctx, r, m, o)
		o.State = nil
		return o, err
	}
}

// A timer that was taken back, or replaced, fires no more. One that does all the
// same, since its schedule was made again, has no effect.
//
// DESIGN: N7. HOLE: H11.
func TestATimerThatIsNotArmedDoesNotCount(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		fired := reminding(w)
		w.start()
		for _, text := range []string{"arm tea 10m", "disarm tea", "arm egg 3m", "arm egg 5m"} {
			w.post("a", text)
			w.settled(time.Minute)
		}
		time.Sleep(20 * time.Minute)
		w.settled(time.Minute)
		w.judge("a", 5, false)
		if diff := cmp.Diff([]string{"egg 5m"}, fired.all()); diff != "" {
			t.Errorf("fired (-want +got):\n%s", diff)
		}
		if got := w.timerRecords("a"); got != 1 {
			t.Errorf("got %d timer records, want the others purged before they fired", got)
		}
		j, err := journal.Open(t.Context(), journal.Config{Bot: "demo", Inbox: w.stream("INBOX"), Dead: w.stream("DEAD")})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 { // as a replica does that was frozen during its flush
			if err := j.Arm(t.Context(), journal.Alarm{Chat: key("a"), ID: fmt.Sprintf("e1-%d-t0", n+1), At: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.settled(time.Minute)
		w.judge("a", 5, false)
		if got := w.timerRecords("a"); got != 5 {
			t.Errorf("got %d timer records, want the four made again, too", got)
		}
	})
}

// Whatever call a replica dies before or after, from arming to what the timer does.
//
// SPEC: H12. DESIGN: C3. HOLE: H1 H11.
func TestACrashAtAnyCallLosesAndDoublesNoTimer(t *testing.T) {
	t.Parallel()
	var calls []string
	var begin int
	play(t, func(w *world) {
		reminding(w)
		r := w.start()
		begin = len(r.gate.log())
		w.post("a", "arm tea 1m")
		time.Sleep(2 * time.Minute)
		w.settled(time.Minute)
		calls = r.gate.log()
	})
	if len(calls)-begin < 14 {
		t.Fatalf("got %v, want the calls of two turns", calls)
	}
	for n := begin; n < len(calls); n++ {
		for _, v := range []verdict{crashBefore, crashAfter, lose, drop} {
			t.Run(fmt.Sprintf("%s/%d %s", v, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					fired := reminding(w)
					a := w.start()
					a.gate.set(at(n, v))
					w.post("a", "arm tea 1m")
					time.Sleep(2 * time.Minute)
					w.start()
					w.settled(10 * time.Minute)
					time.Sleep(2 * time.Minute) // it may have been armed but now
					w.settled(10 * time.Minute)
					made := a.gate.log()
					if len(made) <= n || made[n] != calls[n] {
						t.Fatalf("went another way: %v, want %v", made, calls)
					}
					w.judge("a", 2, inDoubt(made, n, v) || made[n] == "call" && v == lose)
					if len(fired.all()) == 0 {
						t.Error("it did not fire")
					}
				})
			})
		}
	}
}

// DESIGN: C5. HOLE: H6. The schedules go with the journal; the checkpoints know them.
func TestARecreatedJournalLosesNoTimer(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		fired := reminding(w)
		a := w.start()
		w.post("a", "arm tea 10m")
		w.settled(time.Minute)
		w.post("a", "x") // its commit holds no effect but its answer
		w.settled(time.Minute)
		a.drain()
		w.recreate("e2")
		w.start()
		time.Sleep(11 * time.Minute)
		w.settled(time.Minute)
		w.judge("a", 3, false)
		if got := fired.all(); len(got) != 1 {
			t.Errorf("got %q fired, want one", got)
		}
	})
}

func TestTooManyTimersAreAFailedRun(t *testing.T) {
	t.Parallel()
	for name, arm := range map[string][]botmesh.Timer{
		"no name":     {{}},
		"long name":   {{Name: strings.Repeat("x", botmesh.MaxTimerName+1)}},
		"much data":   {{Name: "x", Data: make([]byte, botmesh.MaxTimerData+1)}},
		"armed twice": {{Name: "x"}, {Name: "x"}},
		"too many": func() (all []botmesh.Timer) {
			for i := range botmesh.MaxTimers + 1 {
				all = append(all, botmesh.Timer{Name: fmt.Sprint(i), At: time.Now().Add(time.Hour)})
			}
			return all
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					if r.Record.Message.Text == "arm" {
						o.Arm = arm
					}
					return o, nil
				}
				w.start()
				w.post("a", "arm")
				w.post("a", "x")
				w.settled(5 * time.Minute)
				w.judge("a", 1, false)
				if dead := w.dead(); len(dead) != 1 || !strings.Contains(dead[0].Error, "timer") {
					t.Errorf("got %+v set aside, want the record, for its timer", dead)
				}
			})
		})
	}
}
