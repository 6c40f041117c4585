package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// within is the next message, if it comes in time.
func within(ctx context.Context, m botmesh.Midway, wait time.Duration) (botmesh.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return m.(botmesh.Meanwhile).Next(ctx)
}

// A run that waits for the next message in pieces of time misses none that comes between
// two of them, at whichever replica, and its replica's death loses none: all are run
// as one, once.
//
// SPEC: J4 J6. DESIGN: C2
func TestMessagesAreGatheredInPiecesOfTime(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]int{"all live": 1, "the replica dies": 2} {
		kill := runs == 2
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				begun := make(chan struct{}, 9)
				w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					begun <- struct{}{}
					all := []string{r.Record.Message.Text}
					for len(all) < 4 {
						next, err := within(ctx, m, 300*time.Millisecond)
						switch {
						case ctx.Err() != nil:
							return o, context.Cause(ctx)
						case errors.Is(err, context.DeadlineExceeded):
							time.Sleep(time.Second) // in which nobody asks
							continue
						case err != nil:
							return o, err
						}
						all, o.Through = append(all, next.Message.Text), next.Seq
					}
					o.Sends = []botmesh.Send{{Text: fmt.Sprint(all)}}
					return o, nil
				}
				a := w.start()
				w.post("a", "1")
				<-begun
				if !kill {
					w.start()
				}
				time.Sleep(500 * time.Millisecond)
				w.post("a", "2")
				w.post("a", "3")
				time.Sleep(2 * time.Second)
				if kill {
					a.gate.kill()
					w.start()
				}
				w.post("a", "4")
				w.settled(2 * time.Minute)
				if diff := cmp.Diff([]string{"[1 2 3 4]"}, w.platform.texts("a")); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
				if got := w.bot.ran(); got != runs {
					t.Errorf("got %d runs, want %d", got, runs)
				}
			})
		})
	}
}
