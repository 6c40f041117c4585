package e2e

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A worker is frozen in a turn for longer than its lease. Another is granted the
// turn and answers; the first one, thawed, finds that it is too late.
//
// SPEC: T7 C2 C3 J5 DESIGN I5
func TestFrozenWorkersTurnGoesToAnotherAndItsOwnCommitIsRefused(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	const chat = 1
	s.say(chat, "/slow 1")
	s.hears(chat, eager, 20*time.Second)
	frozen := s.lastCaller(chat)
	s.Freeze(t.Context(), frozen)
	s.hears(chat, "done after 1s", 10*lease)
	if w := s.lastCaller(chat); w == frozen {
		t.Fatalf("got the answer from the frozen %s", w.Name)
	}
	frozen.Child().Thaw()
	s.eventually(20*time.Second, "the thawed turn was refused", func(ctx context.Context) error {
		m, err := frozen.Metrics(ctx)
		if err != nil {
			return err
		}
		if m.Sum("bot_checkpoint_conflicts_total")+m.Sum("bot_lease_lost_total") == 0 {
			return errors.New("nothing was counted")
		}
		return nil
	})
	s.say(chat, "/count")
	s.hears(chat, "count: 1", 20*time.Second)
	s.verify(map[string][]string{"1": {eager, "done after 1s", "count: 1"}})
}
