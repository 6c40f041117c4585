package bot_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// SPEC: H5. Nothing can make a live conversation begin an answer anew: neither what its bot says
// of handlers, hooks among them, nor what it says itself.
func TestALiveConversationIsNotInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		itself bool
		policy flow.Policy
	}{"by a hook": {policy: flow.Interrupt}, "by itself": {itself: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lives := flow.NewLives(nil)
				b := bot.New().Meanwhile(c.policy).Flow(flow.NewLive("double", func(l *flow.Live) error {
					for {
						n, err := flow.Wait(l, ask.Int(), "How many?")
						if err != nil {
							return err
						}
						if c.itself {
							l.Meanwhile(flow.Interrupt)
						}
						l.Sayf("%d", 2*n)
					}
				}, flow.Trigger("/double"))).AfterTurn(func(c *bot.Context) error {
					synctest.Wait() // for what comes meanwhile
					return context.Cause(c.Context())
				})
				m := &talker{coming: make(chan botmesh.Record, 1)}
				run := func(text string, state []byte) botmesh.Outcome {
					ctx, cut := context.WithCancelCause(t.Context())
					defer cut(nil)
					m.cut = cut
					o, err := b.TurnIn(ctx, lives, botmesh.Run{Now: time.Now(), Record: wrote(1, text), State: state}, m)
					if err != nil {
						t.Fatalf("%s: got error %v, want none", text, err)
					}
					return o
				}
				o := run("/double", nil)
				m.coming <- wrote(3, "3")
				if o = run("2", o.State); o.Sends[0].Text != "4" || o.Through != 0 {
					t.Errorf("got %q through %d, want 4 and that the next message waits", o.Sends[0].Text, o.Through)
				}
				if err := lives.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
