package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// A worker is frozen in some turns for longer than its lease. The others are
// granted them, answer, and answer the next message too; the first one, thawed,
// finds each of them lost, and nothing of what it still does counts: a state as old
// as its own must not replace the newer one.
//
// FAULT: 20 https://github.com/microsoft/Agents-for-net/issues/1012
// SPEC: T7 T12 C2 C3 J5 DESIGN I5
func TestFrozenWorkersTurnGoesToAnotherAndItsOwnCommitIsRefused(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	const chats = 9
	want := map[string][]string{}
	for chat := int64(1); chat <= chats; chat++ {
		s.say(chat, "/slow 1")
		want[strconv.FormatInt(chat, 10)] = []string{eager, "done after 1s", "count: 1", "count: 2"}
	}
	s.eventually(10*time.Second, "all work", func(context.Context) error {
		if n := len(s.Calls()); n < chats {
			return fmt.Errorf("%d do", n)
		}
		return nil
	})
	frozen, turns := s.busiest()
	s.Freeze(t.Context(), frozen)
	for chat := int64(1); chat <= chats; chat++ {
		s.hears(chat, "done after 1s", 10*lease)
		s.say(chat, "/count")
	}
	for chat := int64(1); chat <= chats; chat++ {
		s.hears(chat, "count: 1", 20*time.Second)
	}
	frozen.Child().Thaw()
	s.eventually(20*time.Second, "each thawed turn is counted as lost, and a commit as refused", func(ctx context.Context) error {
		m, err := frozen.Metrics(ctx)
		if err != nil {
			return err
		}
		if lost := m.Sum("bot_lease_lost_total"); lost < float64(turns) {
			return fmt.Errorf("%g of %d are", lost, turns)
		}
		if m.Sum("bot_checkpoint_conflicts_total", `reason="lease_lost"`) == 0 {
			return fmt.Errorf("no commit was refused")
		}
		return nil
	})
	for chat := int64(1); chat <= chats; chat++ {
		s.say(chat, "/count")
		s.hears(chat, "count: 2", 20*time.Second)
	}
	s.verify(want)
	for _, c := range s.Calls() {
		if c.By == frozen.Process() && c.Text != eager && c.Text != "count: 2" {
			t.Errorf("got an answer in chat %s from the frozen %s", c.Chat, frozen.Name)
		}
	}
}

// busiest is the worker that is in most turns, as the platform saw it: it said
// that it works and not yet that it is done.
func (s *scene) busiest() (most *fleet.Replica, turns int) {
	s.t.Helper()
	calls := s.Calls()
	for _, w := range s.Workers {
		n := 0
		for _, c := range calls {
			ended := func(later check.Call) bool { return later.Chat == c.Chat && later.Text != eager }
			if c.By == w.Process() && c.Text == eager && !slices.ContainsFunc(calls, ended) {
				n++
			}
		}
		if n > turns {
			most, turns = w, n
		}
	}
	if most == nil {
		s.t.Fatal("got no worker in a turn")
	}
	return most, turns
}
