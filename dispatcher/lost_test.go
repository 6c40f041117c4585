package dispatcher_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// bereft is a runner that hears of turns that were lost, and deals badly with it.
type bereft struct {
	dispatcher.Runner
	told   *list[botmesh.TurnLost]
	suffer func()
}

func (b bereft) TurnLost(_ context.Context, m botmesh.TurnLost) {
	b.told.add(m)
	b.suffer()
}

// lostTurns are ways to lose a turn, or a run of it.
var lostTurns = map[botmesh.LossReason]func(w *world){
	botmesh.LossSettled: func(w *world) {
		w.bot.on = func(ctx context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Try == 1 {
				<-ctx.Done()
			}
			return o, ctx.Err()
		}
	},
	botmesh.LossSuperseded: func(w *world) {
		var other coord.Turn
		w.bot.on = func(ctx context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if other != nil {
				return o, nil
			}
			w.hub.Forget()
			c, err := coord.NewMemory(w.hub, coord.Config{Lease: lease})
			if err == nil {
				other, err = c.Take(ctx, coord.Request{Key: key("a").Key(), Place: 1})
			}
			if err != nil {
				w.t.Error(err)
			}
			<-ctx.Done()
			return o, c.Close(context.WithoutCancel(ctx))
		}
	},
}

// taken is a coordinator that forgets the first turn right before it is released, and grants
// it to another, who gives it up a moment later.
type taken struct {
	coord.Coordinator
	w    *world
	once *sync.Once
}

func (c taken) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	turn, err := c.Coordinator.Take(ctx, r)
	return takenTurn{turn, c}, err
}

type takenTurn struct {
	coord.Turn
	taken
}

func (t takenTurn) Release(ctx context.Context, passed uint64) (err error) {
	t.once.Do(func() {
		t.w.hub.Forget()
		other, wrong := coord.NewMemory(t.w.hub, coord.Config{Lease: lease})
		if wrong == nil {
			_, wrong = other.Take(ctx, coord.Request{Key: t.Key(), Place: 1})
		}
		if wrong != nil {
			t.w.t.Error(wrong)
			return
		}
		defer other.Close(context.WithoutCancel(ctx))
		err = t.Turn.Release(ctx, passed)
	})
	if err != nil {
		return err
	}
	return t.Turn.Release(ctx, passed)
}

// lines are those of a log.
type lines struct{ list[string] }

func (l *lines) Write(line []byte) (int, error) {
	l.add(string(line))
	return len(line), nil
}

// tellsOf says what is wrong with what was told and logged of the one turn of chat a that
// was lost.
func tellsOf(t *testing.T, reason botmesh.LossReason, told []botmesh.TurnLost, logged []string) {
	t.Helper()
	if len(told) != 1 || told[0].Fence == 0 {
		t.Fatalf("got %+v told, want one loss with its fence", told)
	}
	want := botmesh.TurnLost{Chat: key("a"), Fence: told[0].Fence, Reason: reason}
	if diff := cmp.Diff(want, told[0]); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	logged = slices.DeleteFunc(logged, func(line string) bool { return !strings.Contains(line, "turn lost") })
	line := fmt.Sprintf("level=WARN msg=\"turn lost\" chat=%s fence=%d reason=%s\n", key("a"), told[0].Fence, reason)
	if len(logged) != 1 || !strings.HasSuffix(logged[0], line) {
		t.Errorf("got %q logged, want one line %q", logged, line)
	}
}

// SPEC: H11 T12. That a turn was lost may be found out when it is released, with all done: it
// is told like any other loss.
func TestATurnThatIsFoundLostAtItsReleaseIsTold(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var told list[botmesh.TurnLost]
		var logged lines
		w.start(func(c *dispatcher.Config) {
			c.Runner = bereft{c.Runner, &told, func() {}}
			c.Coordinator = taken{c.Coordinator, w, &sync.Once{}}
			c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		})
		w.post("a", "x")
		w.settled(10 * time.Minute)
		w.judge("a", 1, false)
		time.Sleep(time.Hour) // virtual: until the turn is given back
		tellsOf(t, botmesh.LossSuperseded, told.all(), logged.all())
	})
}

// SPEC: H11 T12. A turn that was lost, or cut off, is told with its reason, once, and
// neither an observer's panic nor one that hangs keeps the chat from going on.
func TestALostTurnIsTold(t *testing.T) {
	t.Parallel()
	for reason, lose := range lostTurns {
		for name, suffer := range map[string]func(){
			"panic": func() { panic("no harm") },
			"hang":  func() { time.Sleep(time.Hour) },
		} {
			t.Run(string(reason)+"/"+name, func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					var told list[botmesh.TurnLost]
					var logged lines
					lose(w)
					w.start(func(c *dispatcher.Config) {
						c.Runner, c.Logger = bereft{c.Runner, &told, suffer}, slog.New(slog.NewTextHandler(&logged, nil))
					})
					w.post("a", "x")
					w.settled(10 * time.Minute)
					w.judge("a", 1, false)
					tellsOf(t, reason, told.all(), logged.all())
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}
