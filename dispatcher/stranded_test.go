package dispatcher_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
)

// held is a coordinator whose next release is held up, before it is made or before
// its answer comes.
type held struct {
	coord.Coordinator
	before, after chan struct{} // the release goes on when closed; nil is no hold-up
	reached       chan struct{} // closed when it is held up
}

func (h *held) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	t, err := h.Coordinator.Take(ctx, r)
	if err != nil {
		return nil, err
	}
	return heldTurn{t, h}, nil
}

type heldTurn struct {
	coord.Turn
	h *held
}

func (t heldTurn) Release(ctx context.Context, passed uint64) error {
	t.h.stop(&t.h.before)
	defer t.h.stop(&t.h.after)
	return t.Turn.Release(ctx, passed)
}

// stop holds the release up, once. Only one chat's lane is here.
func (h *held) stop(at *chan struct{}) {
	if gate := *at; gate != nil {
		*at = nil
		close(h.reached)
		<-gate
	}
}

// A message that came when the holder had found its queue empty and had not let go
// of the chat yet was put in the queue, and nobody looked there until another one
// came. Here the release is held up, one message comes, and nothing after it.
//
// FAULT: 2 https://github.com/vercel/chat/issues/928
// SPEC: T8 T10 DESIGN N4
func TestAMessageThatMeetsTheReleaseIsNotStranded(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		for _, where := range []string{"before the release", "before its answer"} {
			t.Run(fmt.Sprintf("%s, %d replicas", where, replicas), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					gate, h := make(chan struct{}), &held{reached: make(chan struct{})}
					h.before, h.after = gate, nil
					if where == "before its answer" {
						h.before, h.after = nil, gate
					}
					w.start(func(cfg *dispatcher.Config) {
						h.Coordinator = cfg.Coordinator
						cfg.Coordinator = h
					})
					w.post("a", "one")
					<-h.reached
					for range replicas - 1 {
						w.start()
					}
					w.post("a", "two")
					synctest.Wait() // it was handed out
					time.Sleep(time.Second)
					close(gate)
					resumed := time.Now()
					w.waitFor(func() bool { return len(w.platform.texts("a")) == 2 })
					if took := time.Since(resumed); took > time.Second {
						t.Errorf("got the second answer %v after the release, want it at once", took)
					}
					w.settled(time.Minute)
					w.judge("a", 2, false)
				})
			})
		}
	}
}
