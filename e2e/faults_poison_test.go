package e2e

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
)

// A failure was counted where the handler's error was caught, so that a record that
// took the whole process with it was never counted: it came again for ever, and
// stopped everybody. Here one record kills each worker that runs it, among chats in
// short and in long turns, which die with it and are not to blame.
//
// FAULT: 17 https://github.com/pipeshub-ai/pipeshub-ai/pull/3037
// SPEC: J8 T2 DESIGN N6 HOLE H8
func TestARecordThatKillsItsWorkerIsConvictedAndNoOther(t *testing.T) { // alone: it loads the machine
	s := started(t, map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_DEMO_CRASH": "1"})
	ctx := s.within(2 * time.Minute)
	revived := s.revive(ctx)
	steady := load{chats: 24, messages: 40, pause: 250 * time.Millisecond}.begin(ctx, s)
	turns := newLongTurns(s, 3, 500*time.Millisecond)
	turns.start(ctx)
	if err := s.Await(ctx, firstChat, func(texts []string) bool { return len(texts) >= 3 }); err != nil {
		t.Fatal(err)
	}
	s.say(1, "/crash")
	s.say(1, "/count")
	began := s.Now()
	s.hears(1, "count: 1", 90*time.Second)
	took := s.Now() - began
	want := turns.stop()
	told, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, told)
	want["1"] = []string{"count: 1"}
	s.idle(30 * time.Second)
	deaths := revived()
	s.judge(numbered(s.Calls()), want, deaths...)
	t.Logf("convicted after %d deaths, in %v", len(deaths), took)
	if len(deaths) < 2 || len(deaths) > 8 {
		t.Errorf("got %d deaths, want a few: one is no proof, and each of them takes others along", len(deaths))
	}
	if got := s.stored(dead); got != 1 {
		t.Errorf("got %d dead letters, want that of the guilty record", got)
	}
}

// revive starts each worker again that ended by itself, and reads their counters
// meanwhile, since nobody is asked before such a death. The function it returns ends
// that and gives the deaths.
func (s *scene) revive(ctx context.Context) (end func() []check.Fault) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var mu sync.Mutex
	var deaths []check.Fault
	for _, w := range s.Workers {
		group.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-w.Child().Exited():
					mu.Lock()
					deaths = append(deaths, check.Fault{By: w.Process(), At: s.Now()})
					mu.Unlock()
					if err := w.Launch(); err != nil {
						s.t.Error(err)
						return
					}
				case <-tick.C:
					s.ReadDoubt(ctx, w)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() []check.Fault {
		cancel()
		group.Wait()
		return deaths
	}
}
