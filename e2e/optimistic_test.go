package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is killed under load, and workers that are told to go on do: chats are
// answered while it is away. Some chats say three things in one breath, so that
// several workers go for them at once and all but one are refused; a run in which that never
// happened proves nothing and fails. When Redis is back turns are asked for again.
//
// SPEC: T14 C1 C2 J4 DESIGN I2 I3 I5 I6
func TestWorkersServeChatsWithoutRedis(t *testing.T) { // alone: it loads the machine
	s := started(t, map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_REDIS_DOWN": "optimistic"})
	ctx := s.within(2 * time.Minute)
	steady := load{chats: 32, messages: 30, pause: 150 * time.Millisecond}.begin(ctx, s)
	turns := newLongTurns(s, 6, 300*time.Millisecond)
	turns.start(ctx)
	more := func(n int) {
		t.Helper()
		for chat := int64(firstChat); chat < firstChat+32; chat++ {
			had := len(s.Texts(chat))
			if err := s.Await(ctx, chat, func(texts []string) bool { return len(texts) >= had+n }); err != nil {
				t.Fatal(err)
			}
		}
	}
	more(2)
	if got := s.sum(s.Workers, "bot_turns_blind_total"); got != 0 {
		t.Errorf("got %g blind turns while Redis is there, want none", got)
	}
	before := s.sum(s.Workers, "bot_checkpoint_conflicts_total", `reason="superseded"`)
	s.Redis.Kill()
	gone := time.Now()
	s.eventually(30*time.Second, "every worker takes turns by itself", func(context.Context) error {
		for _, w := range s.Workers {
			if m, err := w.Metrics(ctx); err != nil || m.Sum("bot_turns_blind_total") == 0 {
				return fmt.Errorf("%s does not (%v)", w.Name, err)
			}
		}
		return nil
	})
	silent := time.Since(gone)
	more(5)
	blind, refused := s.sum(s.Workers, "bot_turns_blind_total"), s.sum(s.Workers, "bot_checkpoint_conflicts_total", `reason="superseded"`)-before
	if refused == 0 {
		t.Error("got no commit refused, want some: two are to have served one chat")
	}
	for _, w := range s.Workers {
		if !w.Ready(ctx) {
			t.Errorf("%s is not ready, and serves", w.Name)
		}
	}
	if err := s.Redis.Start(ctx); err != nil {
		t.Fatal(err)
	}
	s.eventually(30*time.Second, "turns are asked for again", func(ctx context.Context) error {
		return s.asked(ctx)
	})
	more(2)
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, turns.stop())
	s.idle(20 * time.Second)
	s.judge(numbered(s.Calls()), want)
	t.Logf("all took turns by themselves after %s; %g such turns, %g commits refused meanwhile", silent, blind, refused)
}

// asked says so if no turn of a chat was asked for at Redis.
func (s *scene) asked(ctx context.Context) error {
	r := redis.NewClient(&redis.Options{Addr: s.Redis.Addr})
	defer r.Close()
	keys, err := r.Keys(ctx, "*:{telegram.*}:turn").Result()
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("none was")
	}
	return err
}
