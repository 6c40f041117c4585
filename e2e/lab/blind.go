package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

const (
	blindLease = 2 * time.Second
	blindGone  = 10 * time.Second // how long Redis is away
	blindTime  = 2 * time.Minute
)

func runBlind(ctx context.Context, o options, programs proc.Programs) error {
	dir := filepath.Join(o.out, "blind")
	engines, stop, err := single(ctx, programs, dir)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	e, v, err := blind(ctx, sceneConfig{programs: programs, engines: engines, dir: dir}, Load{Seed: o.seed, Chats: o.chats, Rate: o.rate})
	report(os.Stdout, fmt.Sprintf("blind: %v", time.Since(began).Round(time.Second)), dir, e, v)
	return errors.Join(err, failed("blind", v))
}

// blind takes Redis away from workers that are told to go on without it. They serve
// the same chats then, and of two that do so at once one is refused.
func blind(ctx context.Context, cfg sceneConfig, load Load) (check.Evidence, check.Verdict, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, blindTime, errors.New("the chats did not come to rest in time"))
	defer cancel()
	cfg.bot, cfg.lease, cfg.workers, cfg.ingress = "blind", blindLease, 3, 2
	cfg.env = map[string]string{"BOTMESH_REDIS_DOWN": "optimistic"}
	s, err := newScene(ctx, cfg)
	if err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	defer s.close()
	if err := s.start(ctx); err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	u := &users{scene: s, load: load}
	talking, enough := context.WithCancel(ctx)
	defer enough()
	talked := make(chan error, 1)
	go func() { talked <- u.run(ctx, talking) }()
	wait(ctx, calm)
	err = s.withoutRedis(ctx)
	s.log.Note(history.Event{Kind: history.Healed})
	wait(ctx, calm)
	enough()
	if err := errors.Join(err, <-talked); err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	s.drain(ctx, rest)
	return s.judge(ctx, check.Evidence{IdleWithin: rest, Want: check.Want{Webhooks: int(load.Rate), Conflicts: 1}})
}

// withoutRedis kills Redis for a while. It fails if nobody went on: not as many turns were
// taken in the second half of it as there are workers.
func (s *scene) withoutRedis(ctx context.Context) error {
	fault := history.Event{Kind: history.Fault, ID: "redis killed, workers go on", Target: "redis"}
	n := s.log.Begin(fault)
	s.fleet.Redis.Kill()
	wait(ctx, blindGone/2)
	half := history.Now()
	wait(ctx, blindGone/2)
	turns := s.follow.count(half, granted)
	fault.Effect = fmt.Sprintf("%d turns taken without it", turns)
	s.log.End(n, fault)
	if err := s.fleet.Redis.Start(ctx); err != nil {
		return err
	}
	if turns < s.cfg.workers {
		return fmt.Errorf("lab: blind: got %d turns while Redis was away, want service to go on", turns)
	}
	return nil
}
