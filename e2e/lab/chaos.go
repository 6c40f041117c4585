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
)

// chaos is a run of faults under load.
type chaos struct {
	*scene
	plan   Plan
	users  *users
	before []check.Usage
	rest   time.Duration
	phases phases
}

// injector does a fault, takes it back and says what was seen of it. Of one without
// an effect nothing was proved. The error is of a fault that could not be done.
type injector func(ctx context.Context, c *chaos, f Fault, target func(string)) (effect string, err error)

const (
	// calm is how long the load goes on when all is healed.
	calm = 3 * time.Second
	// startTime bounds how long servers and replicas may take to begin, faultTime how
	// much longer than planned a fault may take to show.
	startTime = time.Minute
	faultTime = 90 * time.Second
	// rest bounds how long chats may take to come to rest when all is healed: two
	// leases and the tries of what fails, and pace for each record that waits by then,
	// as if all were in one chat, on a slow machine.
	rest = 45 * time.Second
	pace = 150 * time.Millisecond
)

// run does what is planned. The error is of the lab, not of what it tests.
func (c *chaos) run(ctx context.Context) error {
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("not ready in time"))
	defer cancel()
	err := c.start(starting)
	if err != nil {
		return err
	}
	if c.before, err = c.usage(ctx); err != nil {
		return err
	}
	c.phases.next("starting")
	c.users = &users{scene: c.scene, load: c.plan.Load}
	talking, enough := context.WithCancel(ctx)
	talked := make(chan error, 1)
	go func() { talked <- c.users.run(ctx, talking) }()

	err = c.faults(ctx)
	c.phases.next("faults")
	c.heal()
	if err == nil {
		wait(ctx, calm)
	}
	left, behind := c.waiting(ctx)
	c.rest = rest + time.Duration(left.all())*pace
	enough()
	return errors.Join(err, behind, <-talked, c.follow.failed())
}

// faults does the faults of all tracks.
func (c *chaos) faults(ctx context.Context) error {
	if !wait(ctx, calm/2) { // so that faults meet work
		return ctx.Err()
	}
	ctx, stop := context.WithTimeoutCause(ctx, 2*c.plan.Length+2*time.Minute, errors.New("the faults took too long"))
	defer stop()
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	end := time.Now().Add(c.plan.Length)
	for _, name := range tracks() {
		running.Go(func() {
			for i, f := range c.plan.Tracks[name] {
				if i >= round(name) && time.Now().After(end) || !wait(ctx, f.Pause) {
					return
				}
				if err := c.fault(ctx, f); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("fault %s: %w", f.Kind, err))
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	if err := c.whole(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 && ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(errs...)
}

// fault does one fault and notes it.
func (c *chaos) fault(ctx context.Context, f Fault) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Length+faultTime, errors.New("it took too long"))
	defer cancel()
	var n uint64
	var at string
	begin := func(target string) {
		at = target
		n = c.log.Begin(history.Event{Kind: history.Fault, ID: f.Kind, Target: target})
	}
	effect, err := kindOf(f.Kind).inject(ctx, c, f, begin)
	if n == 0 {
		begin("nobody")
	}
	c.log.End(n, history.Event{Kind: history.Fault, ID: f.Kind, Target: at, Effect: effect})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return err
}

// heal makes sure that nothing of any fault is left. All that are done healed
// themselves.
func (c *chaos) heal() {
	c.platform.Weather(nil)
	c.users.twice.Store(false)
	c.log.Note(history.Event{Kind: history.Healed})
}

// worker is the one that a fault befalls.
func (c *chaos) worker(f Fault) *fleet.Replica {
	return c.fleet.Workers[f.Pick%uint64(len(c.fleet.Workers))]
}

func (c *chaos) ingress(f Fault) *fleet.Replica {
	return c.fleet.Ingress[f.Pick%uint64(len(c.fleet.Ingress))]
}

// unrest runs a plan against a scene, lets it come to rest and judges it.
func unrest(ctx context.Context, cfg sceneConfig, plan Plan) (check.Evidence, check.Verdict, error) {
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the streams could not be made in time"))
	defer cancel()
	s, err := newScene(starting, cfg)
	if err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	defer s.close()
	c := &chaos{scene: s, plan: plan, phases: phases{last: time.Now()}}
	defer c.phases.print()
	if err := c.run(ctx); err != nil {
		e, v, blind := s.judge(ctx, check.Evidence{IdleWithin: c.rest}) // as far as it went
		return e, v, errors.Join(err, blind)
	}
	s.drain(ctx, c.rest)
	c.phases.next("coming to rest")
	usage, err := s.grown(ctx, c.before)
	if err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	defer c.phases.next("judging")
	return s.judge(ctx, check.Evidence{IdleWithin: c.rest, Usage: usage, Want: check.Want{
		Webhooks: int(plan.Load.Rate * plan.Length.Seconds() / 4), Duplicates: 10,
		Orders: 10, OrdersAgain: 5, Timers: 10, Disarmed: 3,
		Conflicts: 1, Unknowns: 1, TakeOvers: 2, Repeats: 1,
	}})
}

// phases are how long the parts of a run took.
type phases struct {
	last time.Time
	told []string
}

func (p *phases) next(name string) {
	p.told = append(p.told, fmt.Sprintf("%s %v", name, time.Since(p.last).Round(100*time.Millisecond)))
	p.last = time.Now()
}

func (p *phases) print() { fmt.Printf("\nchaos: %s\n", strings.Join(p.told, ", ")) }
