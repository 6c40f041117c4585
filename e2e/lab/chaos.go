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
	"github.com/botmesh-go/botmesh/e2e/netproxy"
	"github.com/botmesh-go/botmesh/e2e/proc"
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

// begin starts the fleet.
func (c *chaos) begin(ctx context.Context) (err error) {
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("not ready in time"))
	defer cancel()
	if err := c.start(starting); err != nil {
		return err
	}
	c.before, err = c.usage(ctx)
	c.phases.next("starting")
	return err
}

// run does what is planned, and takes it back. A fault that could not be done is in the
// history and no error here: the run goes on, comes to rest and is judged as any other.
// The error is of the lab.
func (c *chaos) run(ctx context.Context) error {
	c.users = &users{scene: c.scene, load: c.plan.Load}
	posting, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	talking, enough := context.WithCancel(posting)
	talked := make(chan error, 1)
	go func() { talked <- c.users.run(posting, talking) }()

	failure := errors.Join(c.faults(ctx), c.heal(ctx))
	c.phases.next("faults")
	wait(ctx, calm)
	var left backlog
	behind := insist(ctx, startTime, func(ctx context.Context) (err error) {
		left, err = c.waiting(ctx)
		return err
	})
	c.rest = rest + time.Duration(left.all())*pace
	enough()
	last := time.AfterFunc(c.rest, func() { cut(errors.New("nobody took what users still said")) })
	defer last.Stop()
	return errors.Join(failure, behind, <-talked, c.follow.failed())
}

// faults does the faults of all tracks.
func (c *chaos) faults(ctx context.Context) error {
	if !wait(ctx, calm/2) { // so that faults meet work
		return ctx.Err()
	}
	ctx, stop := context.WithTimeoutCause(ctx, 2*c.plan.Length+2*time.Minute, errors.New("the faults took too long"))
	defer stop()
	var running sync.WaitGroup
	end := time.Now().Add(c.plan.Length)
	for _, name := range tracks() {
		running.Go(func() {
			for i, f := range c.plan.Tracks[name] {
				if i >= round(name) && time.Now().After(end) || !wait(ctx, f.Pause) {
					return
				}
				c.fault(ctx, f)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// fault does one fault and notes it.
func (c *chaos) fault(ctx context.Context, f Fault) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Length+faultTime, errors.New("it took too long"))
	defer cancel()
	var n uint64
	done := history.Event{Kind: history.Fault, ID: f.Kind}
	begin := func(target string) {
		done.Target = target
		n = c.log.Begin(done)
	}
	effect, err := kindOf(f.Kind).inject(ctx, c, f, begin)
	if n == 0 {
		begin("nobody")
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	if done.Effect = effect; err != nil {
		done.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	c.log.End(n, done)
}

// heal takes back what may be left of any fault: one that failed may have ended in its
// midst. The error says what is not well again.
func (c *chaos) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, faultTime, errors.New("not healed in time"))
	defer cancel()
	c.platform.Weather(nil)
	c.users.twice.Store(false)
	for _, l := range c.fleet.Links() {
		l.Set(netproxy.Rules{})
	}
	var errs []error
	for _, s := range c.fleet.Engines.Servers() {
		if ended(s.Child()) {
			errs = append(errs, s.Start(ctx))
		}
	}
	for _, r := range c.fleet.Replicas() {
		if r.Child().Thaw(); ended(r.Child()) {
			errs = append(errs, c.launch(r))
		}
	}
	errs = append(errs, c.whole(ctx))
	c.log.Note(history.Event{Kind: history.Healed})
	return errors.Join(errs...)
}

func ended(c *proc.Child) bool {
	select {
	case <-c.Exited():
		return true
	default:
		return false
	}
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
	if err := c.begin(ctx); err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	failure := c.run(ctx)
	s.drain(ctx, c.rest)
	c.phases.next("coming to rest")
	usage, err := s.grown(ctx, c.before)
	failure = errors.Join(failure, err)
	defer c.phases.next("judging")
	e, v, err := s.judge(ctx, check.Evidence{IdleWithin: c.rest, Usage: usage, Want: check.Want{
		Webhooks: int(plan.Load.Rate * plan.Length.Seconds() / 4), Duplicates: 10,
		Orders: 10, OrdersAgain: 5, Timers: 10, Disarmed: 3,
		Conflicts: 1, Unknowns: 1, TakeOvers: 2, Repeats: 1,
	}})
	return e, v, errors.Join(failure, err)
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
