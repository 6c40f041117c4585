package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/provider"
)

// texts are what a run is about.
func texts(r botmesh.Run) (all []string) {
	for _, r := range append([]botmesh.Record{r.Record}, r.Also...) {
		all = append(all, r.Message.Text)
	}
	return all
}

// giveWay lets the next message interrupt a run.
func giveWay(ctx context.Context, m botmesh.Midway) {
	meanwhile := m.(botmesh.Meanwhile)
	if _, err := meanwhile.Next(ctx); err == nil {
		_ = meanwhile.Interrupt(ctx)
	}
}

// yielding makes the bot take half a minute for each answer, and say "hm" at once. It
// gives way to what comes meanwhile.
func yielding(w *world, runs *list[string]) {
	w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		runs.add(fmt.Sprint(texts(r), r.Try))
		go giveWay(ctx, m)
		if err := m.SendNow(ctx, botmesh.Send{Text: "hm"}); err != nil {
			return o, err
		}
		select {
		case <-time.After(30 * time.Second):
		case <-ctx.Done():
			// It says what it has so far, too late.
			_ = m.SendNow(context.Background(), botmesh.Send{Text: "late"})
			return o, context.Cause(ctx)
		}
		o.Sends = []botmesh.Send{{Text: fmt.Sprint("to ", texts(r))}}
		return o, nil
	}
}

// SPEC: T1 T3. DESIGN: C2 C7 I5. A run that gives way is cut by the next message, wherever
// that arrives, and run again with both: what it had sent is not sent again, no try is
// spent, and the message is not run by itself.
func TestTheNextMessageInterruptsARunThatGivesWay(t *testing.T) {
	t.Parallel()
	for replicas := 1; replicas <= 3; replicas++ {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				var runs list[string]
				yielding(w, &runs)
				for range replicas {
					w.start()
				}
				for _, text := range []string{"one", "two", "three"} {
					w.post("a", text)
					time.Sleep(10 * time.Second)
				}
				w.settled(2 * time.Minute)
				want := []string{"[one] 1", "[one two] 1", "[one two three] 1"}
				if diff := cmp.Diff(want, runs.all()); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"hm", "to [one two three]"}, w.platform.texts("a")); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
				w.post("a", "four")
				w.settled(2 * time.Minute)
				if diff := cmp.Diff([]string{"hm", "to [one two three]", "hm", "to [four]"}, w.platform.texts("a")); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// SPEC: J6 T6. DESIGN: C2. The replica dies after its run was interrupted: the next one
// comes to the same, out of the journal alone.
func TestAnInterruptedRunSurvivesItsReplica(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var runs list[string]
		yielding(w, &runs)
		a := w.start()
		w.post("a", "one")
		time.Sleep(5 * time.Second)
		w.post("a", "two")
		w.waitFor(func() bool { return len(runs.all()) == 2 })
		a.gate.kill()
		w.start()
		w.settled(5 * time.Minute)
		if diff := cmp.Diff([]string{"hm", "to [one two]"}, w.platform.texts("a")); diff != "" {
			t.Errorf("texts (-want +got):\n%s", diff)
		}
	})
}

// SPEC: T4. DESIGN: I5. A run that does not heed that it was interrupted is left behind.
func TestAnInterruptedRunThatGoesOnHasNoEffect(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		late := make(chan error, 1)
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if len(r.Also) > 0 {
				return o, nil
			}
			go giveWay(ctx, m)
			time.Sleep(40 * time.Second)
			late <- m.SendNow(context.Background(), botmesh.Send{Text: "late"})
			o.Sends = []botmesh.Send{{Text: "late"}}
			return o, nil
		}
		w.start()
		w.post("a", "one")
		time.Sleep(time.Second)
		w.post("a", "two")
		w.settled(time.Minute)
		if err := <-late; !errors.Is(err, botmesh.ErrLeaseLost) {
			t.Errorf("got %v from a run that was interrupted, want lease lost", err)
		}
		w.settled(time.Minute)
		if diff := cmp.Diff([]string{"count: 1"}, w.platform.texts("a")); diff != "" {
			t.Errorf("texts (-want +got):\n%s", diff)
		}
	})
}

// SPEC: J4 T3. DESIGN: C2. A run takes the messages in that come meanwhile: those that
// its outcome says it dealt with are done with its commit, the others run after it.
func TestARunTakesInWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replicas int
		pause    time.Duration
	}{{1, 2 * time.Second}, {2, 2 * time.Second}, {1, 0}} {
		t.Run(fmt.Sprintf("%d replicas, %v", c.replicas, c.pause), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					heard := texts(r)
					for r.Record.Message.Text == "one" && len(heard) < 4 {
						next, err := m.(botmesh.Meanwhile).Next(ctx)
						if err != nil {
							return o, err
						}
						if heard = append(heard, next.Message.Text); len(heard) <= 3 {
							o.Through = next.Seq
						}
					}
					o.Sends = []botmesh.Send{{Text: fmt.Sprint("to ", heard)}}
					return o, nil
				}
				for range c.replicas {
					w.start()
				}
				for _, text := range []string{"one", "two", "three", "four", "five"} {
					w.post("a", text)
					time.Sleep(c.pause)
				}
				w.settled(2 * time.Minute)
				want := []string{"to [one two three four]", "to [four]", "to [five]"}
				if diff := cmp.Diff(want, w.platform.texts("a")); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An outcome that claims what its run was not given would lose it.
//
// SPEC: J8. DESIGN: C2.
func TestARunCanNotClaimWhatItWasNotGiven(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text == "one" {
				o.Through = r.Record.Seq + 1
			}
			return o, nil
		}
		w.post("a", "one")
		w.post("a", "two")
		w.start()
		w.settled(2 * time.Minute)
		w.judge("a", 1, false)
		if dead := w.dead(); len(dead) != 1 || dead[0].Tries != 5 {
			t.Errorf("got %+v, want the record set aside after 5 tries", dead)
		}
	})
}

// observed is a runner that hears of hand-overs.
type observed struct {
	dispatcher.Runner
	told *list[botmesh.Handover]
}

func (o observed) HandedOver(_ context.Context, m botmesh.Handover) {
	o.told.add(m)
	panic("no harm")
}

// SPEC: H11. What a run says of a conversation that moved is told once its commit landed,
// not for a run that failed, and a panic harms nothing.
func TestAHandOverIsToldOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var told list[botmesh.Handover]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.From != "" {
				o.Handover = &botmesh.Handover{Flow: "order", Result: botmesh.HandoverResumed}
			}
			if r.Record.Message.Text == "fail" && r.Try == 1 {
				return o, errNo
			}
			return o, nil
		}
		a := w.start()
		w.post("a", "x")
		w.settled(time.Minute)
		from := a.coord.Incarnation()
		a.drain()
		var logged strings.Builder
		b := w.start(func(c *dispatcher.Config) {
			c.Runner, c.Logger = observed{c.Runner, &told}, slog.New(slog.NewTextHandler(&logged, nil))
		})
		w.post("a", "fail")
		w.post("a", "x")
		w.settled(time.Minute)
		want := []botmesh.Handover{{Chat: key("a"), From: from, To: b.coord.Incarnation(), Flow: "order", Result: botmesh.HandoverResumed}}
		if diff := cmp.Diff(want, told.all()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		line := fmt.Sprintf(`msg="conversation handed over" chat=%s flow=order from=%s outcome=resumed`, key("a"), from)
		if got := strings.Count(logged.String(), line); got != 1 {
			t.Errorf("got %d lines with %s, want one:\n%s", got, line, logged.String())
		}
	})
}

// SPEC: H11. The run is told when another replica committed the state, and not when its
// own did, also when it has only noted a failed try since.
func TestARunIsToldThatTheConversationMoved(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var from list[string]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			from.add(r.From)
			if r.Record.Message.Text == "fail" && r.Try == 1 {
				return o, errNo
			}
			return o, nil
		}
		a := w.start()
		w.post("a", "x")
		w.settled(time.Minute)
		w.post("a", "x")
		w.settled(time.Minute)
		was := a.coord.Incarnation()
		a.drain()
		w.start()
		w.post("a", "fail")
		w.post("a", "x")
		w.settled(time.Minute)
		if diff := cmp.Diff([]string{"", "", was, was, ""}, from.all()); diff != "" {
			t.Errorf("From (-want +got):\n%s", diff)
		}
	})
}

// DESIGN: D5. What a run says at once is there while the run goes on, though the
// platform wants a pause first: the run may wait for an answer to it.
func TestWhatARunSaysAtOnceIsThereThoughThePlatformWantsAPause(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var runs list[string]
		yielding(w, &runs)
		paused := false
		w.platform.rule = func(string, string, int) error {
			if paused {
				return nil
			}
			paused = true
			return provider.Retry(errNo, 2*time.Second)
		}
		w.start()
		w.post("a", "one")
		time.Sleep(10 * time.Second) // of thirty that the run takes
		if diff := cmp.Diff([]string{"hm"}, w.platform.texts("a")); diff != "" {
			t.Errorf("during the run the user has (-want +got):\n%s", diff)
		}
		w.settled(2 * time.Minute)
		if diff := cmp.Diff([]string{"hm", "to [one]"}, w.platform.texts("a")); diff != "" {
			t.Errorf("in the end the user has (-want +got):\n%s", diff)
		}
	})
}
