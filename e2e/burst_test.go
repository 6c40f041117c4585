package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// The worker that waits for more of an answer is lost in the quiet window. Another one takes in
// what was said to it and what was said since, and gives one answer to all of it.
//
// SPEC: H3 H9 J4 C6
func TestABurstOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.how, func(t *testing.T) {
			t.Parallel()
			s := talking(t, way.env)
			if err := s.Workers[1].Start(s.within(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			chat := handed{
				row:   "burst, " + way.how,
				first: []said{{"/list", "What?"}},
				next:  []said{{"milk", ""}, {"tea", ""}},
				again: []said{{"rice", "noted milk, tea, rice"}, {"/hello", "hello"}},
			}
			chats := []handed{chat}
			s.each(chats, func(h handed) []said { return h.first })
			s.idle(20 * time.Second)
			s.each(chats, func(h handed) []said { return h.next })
			first := s.runner("telegram/1")
			if err := way.lose(s, first, 1); err != nil {
				t.Fatal(err)
			}
			s.each(chats, func(h handed) []said { return h.again[:1] })
			if err := s.back(first); err != nil {
				t.Fatal(err)
			}
			s.each(chats, func(h handed) []said { return h.again[1:] })
			s.verify(told(chats))
		})
	}
}

// runner waits until a worker runs something for a chat, and returns it.
func (s *scene) runner(chat string) (w *fleet.Replica) {
	s.t.Helper()
	s.eventually(20*time.Second, "a worker runs "+chat, func(ctx context.Context) error {
		for _, w = range s.Workers {
			is, err := w.Status(ctx)
			if err != nil {
				return err
			}
			if slices.Contains(is.Lanes, fleet.Lane{Chat: chat, Phase: "running"}) {
				return nil
			}
		}
		return fmt.Errorf("none does")
	})
	return w
}
