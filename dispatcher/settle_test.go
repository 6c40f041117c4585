package dispatcher_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// SPEC: T4.
func TestARunSaysHowLongItMayTake(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	for name, c := range map[string]struct {
		after time.Duration   // when it says so
		says  []time.Duration // zero is the worker's
		takes time.Duration
		cut   time.Duration // zero if it is not cut
	}{
		"longer":                {0, []time.Duration{3 * m}, 2 * m, 0},
		"longer, not enough":    {0, []time.Duration{3 * m}, 4 * m, 3 * m},
		"shorter":               {0, []time.Duration{m / 6}, m / 2, m / 6},
		"the longest counts":    {0, []time.Duration{3 * m, m / 6}, 2 * m, 0},
		"shorter, then nothing": {0, []time.Duration{m / 6, 0}, 2 * m, m},
		"shorter, too late":     {m / 2, []time.Duration{m / 6}, m, m / 2},
		"longer, in time":       {m / 2, []time.Duration{3 * m}, 4 * m, 3 * m},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				var cuts list[time.Duration]
				w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					if r.Try > 1 || r.Record.Message.Text != "one" {
						return o, nil
					}
					began := time.Now()
					wait := func(d time.Duration) bool {
						select {
						case <-time.After(d):
							return true
						case <-ctx.Done():
							var lost *botmesh.LeaseLostError
							if !errors.As(context.Cause(ctx), &lost) || lost.Reason != botmesh.LossSettled {
								t.Errorf("the cause is %v, want settled", context.Cause(ctx))
							}
							cuts.add(time.Since(began))
							return false
						}
					}
					if c.after > 0 && !wait(c.after) {
						return o, ctx.Err()
					}
					for _, d := range c.says {
						m.(botmesh.Settler).Settle(d)
					}
					_ = wait(c.takes - c.after)
					return o, ctx.Err()
				}
				w.start(func(c *dispatcher.Config) { c.Settle = m })
				w.post("a", "one")
				w.post("a", "two")
				w.settled(10 * m)
				w.judge("a", 2, false)
				var want []time.Duration
				if c.cut > 0 {
					want = append(want, c.cut)
				}
				if got := cuts.all(); !slices.Equal(got, want) {
					t.Errorf("cut after %v, want %v", got, want)
				}
			})
		})
	}
}

// A run that may take long keeps its turn, and a worker that is to stop does not wait for
// it longer than Drain.
//
// SPEC: T3 T4.
func TestADrainWaitsForNoRunThatMayTakeLong(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		running := make(chan struct{}, 8)
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text != "long" || w.bot.ran() > 1 {
				return o, nil
			}
			m.(botmesh.Settler).Settle(botmesh.MaxSettle)
			running <- struct{}{}
			<-ctx.Done()
			return o, ctx.Err()
		}
		first := w.start()
		w.post("a", "long")
		<-running
		time.Sleep(10 * time.Minute) // virtual
		w.start()
		w.post("a", "two")
		time.Sleep(time.Minute)
		if n := w.bot.ran(); n != 1 {
			t.Errorf("%d runs while the first holds the chat, want it alone", n)
		}
		began := time.Now()
		first.drain()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the drain took %v, want no more than 15s and what follows", took)
		}
		w.settled(5 * time.Minute)
		w.judge("a", 2, false)
		if n := w.bot.ran(); n != 3 {
			t.Errorf("%d runs, want the long one again and the other", n)
		}
	})
}

// noted writes down the runs of one replica.
type noted struct {
	dispatcher.Runner
	name string
	runs *list[string]
}

func (c noted) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	c.runs.add(c.name + " " + r.Record.Message.Text)
	return c.Runner.Run(ctx, r, m)
}

// staying is a bot whose conversations stay where they are.
type staying struct{ noted }

func (staying) Stays([]byte) bool { return true }

// A run that was cut is tried again by another replica, if one waits for the chat: it may be
// the first one that can not do it.
//
// SPEC: T4
func TestTheNextTryIsThatOfAReplicaThatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ another, stays bool }{
		"nobody waits":  {},
		"another waits": {another: true},
		"it stays":      {another: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.bot.on = func(ctx context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					if r.Record.Message.Text == "long" && r.Try == 1 {
						<-ctx.Done()
						return o, ctx.Err()
					}
					return o, nil
				}
				var runs list[string]
				var waits []func() bool
				for _, name := range []string{"one", "two"} {
					r := w.start(func(cfg *dispatcher.Config) {
						n := noted{cfg.Runner, name, &runs}
						if cfg.Runner = n; c.stays {
							cfg.Runner = staying{n}
						}
					})
					waits = append(waits, func() bool {
						return slices.ContainsFunc(r.d.Status().Lanes, func(l dispatcher.LaneStatus) bool { return l.Phase == dispatcher.PhaseWaiting })
					})
				}
				posted := 1
				w.post("a", "long")
				for synctest.Wait(); c.another && !waits[0]() && !waits[1](); synctest.Wait() {
					w.post("a", "x") // whose nudge comes to either
					posted++
				}
				w.settled(10 * time.Minute)
				w.judge("a", posted, false)
				if got := runs.all()[:2]; (got[0] != got[1]) != (c.another && !c.stays) {
					t.Errorf("got the runs %q first, want both of one replica unless another waits for what does not stay", got)
				}
			})
		})
	}
}
