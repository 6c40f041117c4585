package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// way is one to lose a worker.
type way struct {
	how string
	env map[string]string // of the fleet, beside what all have
	// lose does it, when handlers stand still in that many chats, while another worker is
	// there.
	lose func(s *scene, w *fleet.Replica, standing int) error
}

// ways are those to lose a worker. A stop gives its runs no more than a second.
var ways = []way{
	{how: "killed", lose: func(s *scene, w *fleet.Replica, _ int) error { s.Kill(s.t.Context(), w); return nil }},
	{how: "stopped", lose: func(s *scene, w *fleet.Replica, _ int) error { return stopped(s, w) }},
	// For as long as it takes the other one to answer.
	{how: "frozen", lose: func(s *scene, w *fleet.Replica, _ int) error { s.Freeze(s.t.Context(), w); return nil }},
	{how: "settled", lose: settled, env: map[string]string{"BOTMESH_SETTLE": "2s"}},
}

// stopped asks a worker to end.
func stopped(s *scene, w *fleet.Replica) error {
	code, err := w.Term(s.within(20 * time.Second))
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: got exit code %d, want 0", w.Name, code)
	}
	return err
}

// settled waits until the runs that stand still were cut, and stops the worker, in which
// they are tried again in vain.
func settled(s *scene, w *fleet.Replica, standing int) error {
	err := s.polled(30*time.Second, "runs are cut", func(ctx context.Context) error {
		m, err := w.Metrics(ctx)
		if cut := m.Sum("bot_lease_lost_total", `reason="settled"`); err == nil && cut < float64(standing) {
			err = fmt.Errorf("%g of %d are", cut, standing)
		}
		return err
	})
	if err != nil {
		return err
	}
	return stopped(s, w)
}

// talking is a fleet of two workers with the bot of package talk, of which one runs.
func talking(t *testing.T, env map[string]string) *scene {
	t.Helper()
	s := talkers(t, env)
	if err := s.startFirst(s.within(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return s
}

// talkers is talking, not started.
func talkers(t *testing.T, env map[string]string, but ...func(*fleet.Config)) *scene {
	t.Helper()
	all := map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_DRAIN": "1s", "TALK_PATIENCE": patience.String()}
	maps.Copy(all, env)
	return described(t, all, append(but, func(c *fleet.Config) { c.Programs.Worker, c.Workers = talker, 2 })...)
}

// startFirst starts all but the second worker.
func (s *scene) startFirst(ctx context.Context) error {
	both := s.Workers
	s.Workers = both[:1]
	defer func() { s.Workers = both }()
	return s.Start(ctx)
}

// handedOver waits until a worker has counted the flows that came to it. The user may
// have the answer before.
func (s *scene) handedOver(w *fleet.Replica, outcome string, flows int) error {
	return s.polled(20*time.Second, "flows counted as handed over", func(ctx context.Context) error {
		m, err := w.Metrics(ctx)
		if err != nil {
			return err
		}
		of, all := m.Sum("bot_handovers_total", fmt.Sprintf("outcome=%q", outcome)), m.Sum("bot_handovers_total")
		if of != float64(flows) || all != of {
			return fmt.Errorf("got %g %s of %g, want all %d", of, outcome, all, flows)
		}
		return nil
	})
}

// back has a worker go on, or start again if it is gone.
func (s *scene) back(w *fleet.Replica) error {
	w.Child().Thaw()
	select {
	case <-w.Child().Exited():
		if err := w.Launch(); err != nil {
			return err
		}
	default:
	}
	return w.AwaitReady(s.within(30 * time.Second))
}

// each has a part of each conversation, all at once.
func (s *scene) each(chats []handed, part func(handed) []said) {
	s.t.Helper()
	if err := s.all(chats, part); err != nil {
		s.t.Fatal(err)
	}
}

// all is each for those who are not the test's own goroutine.
func (s *scene) all(chats []handed, part func(handed) []said) error {
	errs := make([]error, len(chats))
	var wg sync.WaitGroup
	for i, h := range chats {
		wg.Go(func() {
			if err := s.converse(int64(i+1), part(h)); err != nil {
				errs[i] = fmt.Errorf("%s: %w", h.row, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lostAndBack has all conversations, of which the first worker is lost in a way, and after
// its return the second one is stopped.
func (s *scene) lostAndBack(way way, chats []handed, standing int, outcome string, flows int) error {
	first, second := s.Workers[0], s.Workers[1]
	if err := s.startFirst(s.within(30 * time.Second)); err != nil {
		return err
	}
	if err := s.all(chats, func(h handed) []said { return h.first }); err != nil {
		return err
	}
	if err := second.Start(s.within(20 * time.Second)); err != nil {
		return err
	}
	if err := way.lose(s, first, standing); err != nil {
		return err
	}
	if err := s.all(chats, func(h handed) []said { return h.next }); err != nil {
		return err
	}
	if err := s.handedOver(second, outcome, flows); err != nil {
		return err
	}
	if err := s.back(first); err != nil {
		return err
	}
	if err := stopped(s, second); err != nil {
		return err
	}
	s.Workers = s.Workers[:1]
	return s.all(chats, func(h handed) []said { return h.again })
}

// converse is a part of one conversation, in which the bot says nothing twice.
func (s *scene) converse(chat int64, part []said) error {
	ctx, cancel := context.WithTimeoutCause(s.t.Context(), 40*time.Second, fmt.Errorf("not within 40s"))
	defer cancel()
	for _, x := range part {
		if x.user != "" {
			if err := s.Say(ctx, s.URLs(), chat, x.user); err != nil {
				return err
			}
		}
		if x.bot == "" {
			continue
		}
		if err := s.awaitOnceMore(ctx, chat, x.bot); err != nil {
			return fmt.Errorf("after %q: waiting for %q: %w", x.user, x.bot, err)
		}
	}
	return nil
}

// awaitOnceMore waits until a chat got a text once more than was waited for before.
func (s *scene) awaitOnceMore(ctx context.Context, chat int64, text string) error {
	s.mu.Lock()
	if s.awaited == nil {
		s.awaited = map[int64][]string{}
	}
	s.awaited[chat] = append(s.awaited[chat], text)
	want := count(s.awaited[chat], text)
	s.mu.Unlock()
	return s.Await(ctx, chat, func(texts []string) bool { return count(texts, text) >= want })
}

func count(texts []string, text string) (n int) {
	for _, t := range texts {
		if t == text {
			n++
		}
	}
	return n
}

// told is what each chat is to be told, once and in this order.
func told(chats []handed) map[string][]string {
	want := map[string][]string{}
	for i, h := range chats {
		var texts []string
		for _, part := range [][]said{h.first, h.next, h.again} {
			for _, x := range part {
				if x.bot != "" {
					texts = append(texts, x.bot)
				}
			}
		}
		want[strconv.Itoa(i+1)] = texts
	}
	return want
}
