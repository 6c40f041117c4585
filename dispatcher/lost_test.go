package dispatcher_test

import (
	"context"
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
					lose(w)
					w.start(func(c *dispatcher.Config) { c.Runner = bereft{c.Runner, &told, suffer} })
					w.post("a", "x")
					w.settled(10 * time.Minute)
					w.judge("a", 1, false)
					got := told.all()
					for i := range got {
						if got[i].Fence == 0 {
							t.Error("got no fence")
						}
						got[i].Fence = 0
					}
					if diff := cmp.Diff([]botmesh.TurnLost{{Chat: key("a"), Reason: reason}}, got); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}
