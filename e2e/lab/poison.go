package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

const (
	poisonLease   = 2 * time.Second
	poisonHealthy = 100 // chats that say nothing wrong
	poisonTexts   = 6   // of each
	poisonKillers = 2   // chats with a record that kills its process
	poisonTime    = 2 * time.Minute
)

// poison runs records that kill their process among many that do not. Workers are
// started again as often as they die.
func poison(ctx context.Context, cfg sceneConfig) (check.Evidence, check.Verdict, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, poisonTime, errors.New("the records that kill were not set aside in time"))
	defer cancel()
	cfg.bot, cfg.lease, cfg.workers, cfg.ingress = "poison", poisonLease, 3, 1
	cfg.env = map[string]string{"BOTMESH_DEMO_CRASH": "1"}
	s, err := newScene(ctx, cfg)
	if err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	defer s.close()
	if err := s.start(ctx); err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	keeping, stop := context.WithCancel(ctx)
	var keepers sync.WaitGroup
	for _, w := range s.fleet.Workers {
		keepers.Go(func() { s.keep(keeping, w) })
	}
	defer keepers.Wait()
	defer stop()

	u := &users{scene: s}
	var talking sync.WaitGroup
	for chat := range int64(poisonHealthy + poisonKillers) {
		talking.Go(func() {
			for n := range poisonTexts {
				text := fmt.Sprintf("text %d of %d", n, chat)
				if n == 2 && chat >= poisonHealthy {
					text = "/crash"
				}
				if n == 1 {
					text = fmt.Sprintf("/remind 1s the tea of %d", chat)
				}
				u.tell(ctx, chat+1, text, false)
				wait(ctx, time.Second)
			}
		})
	}
	talking.Wait()
	s.log.Note(history.Event{Kind: history.Healed})
	s.drain(ctx, poisonTime)
	fmt.Printf("\npoison: workers died %d times\n", s.deaths())
	e, v, err := s.judge(ctx, check.Evidence{IdleWithin: poisonTime, Want: check.Want{Webhooks: (poisonHealthy + poisonKillers) * poisonTexts}})
	if err != nil {
		return e, v, err
	}
	dead, err := check.Restore(dumpFile(s.cfg.dir, journal.DeadStream(cfg.bot)), history.All)
	return e, v, errors.Join(err, convicted(dead))
}

// keep starts a worker again each time that it dies.
func (s *scene) keep(ctx context.Context, w *fleet.Replica) {
	for {
		select {
		case <-w.Child().Exited():
			if wait(ctx, 200*time.Millisecond) && s.launch(w) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// deaths is how often workers died so far.
func (s *scene) deaths() int {
	return s.follow.count(0, func(e history.Event) bool { return e.Kind == history.Exited })
}

// convicted says whether exactly the records that kill were set aside.
func convicted(dead []jet.Stored) error {
	killers := map[string]bool{}
	for chat := range int64(poisonKillers) {
		killers[history.Telegram(poisonHealthy+chat+1)] = false
	}
	var errs []error
	for _, d := range dead {
		chat := buried(d.Subject)
		if set, ok := killers[chat]; !ok || set {
			errs = append(errs, fmt.Errorf("lab: %s was set aside, want the records that kill alone", d.Subject))
			continue
		}
		killers[chat] = true
	}
	for chat, set := range killers {
		if !set {
			errs = append(errs, fmt.Errorf("lab: chat %s: the record that kills was not set aside", chat))
		}
	}
	return errors.Join(errs...)
}

// buried is the key of the chat whose dead letter has a subject:
// bot.dead.<bot>.<provider>.<token>.<what>.
func buried(subject string) string {
	words := strings.Split(subject, ".")
	if len(words) != 6 {
		return ""
	}
	return words[3] + "." + words[4]
}
