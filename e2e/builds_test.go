package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// builtChats begin in an earlier build, go on in a later one, and then in the earlier one
// again, as in a deploy that is taken back.
var builtChats = []handed{
	{
		row:   "renamed step",
		first: []said{{"/post", "Which size?"}},
		next:  []said{{"L", "format L"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "another kind of answer",
		first: []said{{"/pick", "How many?"}},
		next:  []said{{"7", "Any?"}},
		again: []said{{"8", "8 picked"}},
	}, {
		row:   "step that is gone",
		first: []said{{"/book", "Which room?"}},
		next:  []said{{"blue", "no room any more, not even blue"}, {"", "Which floor?"}, {"2", "floor 2"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "flow that is gone",
		first: []said{{"/elder", "Older?"}},
		next:  []said{{"yes", ""}, {"/hello", ""}},
		again: []said{{"", "older yes"}, {"", "hello"}},
	}, {
		row:   "way out",
		first: []said{{"/elder", "Older?"}},
		next:  []said{{"yes", ""}, {"/cancel", "cancelled"}, {"/newer", "Newer?"}},
		again: []said{{"/hello", "hello"}}, // a command needs nothing of the flow
	},
}

// stranded counts those of builtChats that wait for another build, in its flow that is gone.
const stranded = 1

// A chat that waits in a flow of another build goes on in this one as far as that can be;
// else it waits, and goes on by itself where it can. No try is spent, and nothing set aside.
//
// SPEC: H3 DESIGN: §7 N8
func TestAnotherBuildGoesOn(t *testing.T) {
	t.Parallel()
	s := talkers(t, map[string]string{"BOTMESH_TURN_WAIT": "1s"})
	earlier, later := s.Workers[0], s.Workers[1]
	later.Once("TALK_LATER=1")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.startFirst(s.within(30 * time.Second)))
	s.each(builtChats, func(h handed) []said { return h.first })
	must(later.Start(s.within(20 * time.Second)))
	must(stopped(s, earlier))
	s.each(builtChats, func(h handed) []said { return h.next })
	must(s.parked(later, stranded))
	must(s.back(earlier))
	must(stopped(s, later))
	s.Workers = s.Workers[:1]
	s.each(builtChats, func(h handed) []said { return h.again })
	s.verify(told(builtChats))
	s.nothingSpent()
}

// A worker of an older deploy leaves the chat of a newer one alone, gives it back, and says
// so; the newer one goes on with it beside it. No try is spent.
//
// DESIGN: N8. HOLE: H16
func TestAnOlderDeployGivesAChatBack(t *testing.T) {
	t.Parallel()
	s := talkers(t, map[string]string{"BOTMESH_TURN_WAIT": "1s"})
	newer, older := s.Workers[0], s.Workers[1]
	newer.Once("BOTMESH_DEPLOY=2")
	if err := s.startFirst(s.within(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	chat := []handed{{
		first: []said{{"/form", "Name?"}},
		next:  []said{{"Ana", ""}},
		again: []said{{"", "Age?"}, {"7", "Ana is 7"}},
	}}
	s.each(chat, func(h handed) []said { return h.first })
	older.Once("BOTMESH_DEPLOY=1")
	if err := errors.Join(older.Start(s.within(20*time.Second)), stopped(s, newer)); err != nil {
		t.Fatal(err)
	}
	s.each(chat, func(h handed) []said { return h.next })
	if err := s.parked(older, 1); err != nil {
		t.Fatal(err)
	}
	newer.Once("BOTMESH_DEPLOY=2")
	if err := s.back(newer); err != nil {
		t.Fatal(err)
	}
	s.each(chat, func(h handed) []said { return h.again })
	s.verify(told(chat))
	s.nothingSpent()
}

// parked waits until a worker says that so many chats wait for another build.
func (s *scene) parked(w *fleet.Replica, chats int) error {
	return s.polled(30*time.Second, "chats are parked", func(ctx context.Context) error {
		m, err := w.Metrics(ctx)
		if err != nil {
			return err
		}
		if got := m.Sum("bot_chats_parked"); got != float64(chats) {
			return fmt.Errorf("got %g, want %d", got, chats)
		}
		if got := m.Sum("bot_turn_retries_total"); got != 0 {
			return fmt.Errorf("got %g tries spent, want none", got)
		}
		return nil
	})
}
