package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

const (
	// crashLease is short, since most of a case is the wait for it.
	crashLease = 1500 * time.Millisecond
	// crashTime bounds one case, from when all is ready.
	crashTime = 40 * time.Second
	// crashesAtOnce is how many cases run beside each other.
	crashesAtOnce = 5
	// crashChats talk in a case, and say crashTexts free texts each time.
	crashChats = 6
	crashTexts = 2
)

// crash is one case of the sweep: a point at which one process of a fleet dies or
// stops.
type crash struct {
	point  probe.CrashPoint
	action probe.Action
}

func (c crash) String() string { return fmt.Sprintf("%s:%s", c.point.Name, c.action) }

// crashes are the cases that a word begins, all for none. At every point a process
// dies. It stops there, too, where messages come by anyhow, and everywhere if all:
// the other cases wait for retries and take long.
func crashes(only string, all bool) (cases []crash) {
	for _, p := range probe.Points() {
		for _, a := range []probe.Action{probe.Kill, probe.Stop} {
			if c := (crash{p, a}); strings.HasPrefix(c.String(), only) &&
				(all || only != "" || a == probe.Kill || p.Needs == probe.Nothing || p.Needs == probe.Eager) {
				cases = append(cases, c)
			}
		}
	}
	// Those that wait for more than a lease begin first.
	slices.SortStableFunc(cases, func(a, b crash) int { return waits(b) - waits(a) })
	return cases
}

func waits(c crash) int {
	if c.point.Needs == probe.Nothing {
		return 0
	}
	return 1
}

// outcome is what a case came to.
type outcome struct {
	crash
	dir      string // of its evidence
	took     time.Duration
	evidence check.Evidence
	verdict  check.Verdict
	err      error // of the lab
}

func (o outcome) Err() error { return errors.Join(o.err, o.verdict.Err()) }

// sweep runs the cases on one set of servers and tells each as it ends.
func sweep(ctx context.Context, programs proc.Programs, engines *fleet.Engines, dir string, cases []crash, tell func(outcome)) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(crashesAtOnce)
	for i, c := range cases {
		g.Go(func() error {
			o := outcome{crash: c, dir: filepath.Join(dir, strings.ReplaceAll(c.String(), ":", "-"))}
			began := time.Now()
			o.evidence, o.verdict, o.err = c.run(ctx, sceneConfig{
				programs: programs, engines: engines, lease: crashLease, workers: 2, ingress: 2,
				bot: "crash-" + strconv.Itoa(i), dir: o.dir, env: c.env(),
			})
			o.took = time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			tell(o)
			return nil
		})
	}
	_ = g.Wait() // each told its own
}

func (c crash) env() map[string]string {
	env := map[string]string{"BOTMESH_TRIES": "2"}
	if c.point.Needs == probe.Hold {
		env["BOTMESH_TELEGRAM_IN_DOUBT"] = "hold"
	}
	return env
}

func (c crash) run(ctx context.Context, cfg sceneConfig) (check.Evidence, check.Verdict, error) {
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("not ready in time"))
	defer cancel()
	s, err := newScene(starting, cfg)
	if err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	defer s.close()
	victim := c.arm(s)
	if err := s.start(starting); err != nil {
		return check.Evidence{}, check.Verdict{}, err
	}
	ctx, cancel = context.WithTimeoutCause(ctx, crashTime, errors.New("the case took too long"))
	defer cancel()
	name := victim.Process()
	if c.point.Needs == probe.Refusal {
		s.platform.Weather(refuseEvery(7))
	}
	u := &users{scene: s}
	talking, enough := context.WithCancel(ctx)
	said := make(chan struct{})
	go func() {
		defer close(said)
		c.talk(ctx, talking, u)
	}()
	c.meet(ctx, s, victim, name)
	enough()
	<-said
	u.posting.Wait()
	s.platform.Weather(nil)
	s.log.Note(history.Event{Kind: history.Healed})
	s.drain(ctx, 15*time.Second)
	return s.judge(ctx, check.Evidence{IdleWithin: 15 * time.Second, Want: check.Want{Webhooks: crashChats, Points: []string{c.point.Name}}})
}

// arm has the case's process die or stop, and says which that is. Where somebody
// must have died before, the other worker does, in the middle of a run.
func (c crash) arm(s *scene) *fleet.Replica {
	victim := s.fleet.Workers[1]
	if c.point.Program == probe.Ingress {
		victim = s.fleet.Ingress[1]
	}
	victim.Once(probe.EnvCrash + "=" + c.String())
	if c.point.Needs == probe.TakeOver {
		s.fleet.Workers[0].Once(probe.EnvCrash + "=commit.before@4:kill")
	}
	return victim
}

// talk has all chats say what leads to the point, again and again until enough
// ends, each a few times at least.
func (c crash) talk(ctx, enough context.Context, u *users) {
	var talking sync.WaitGroup
	for chat := range int64(crashChats) {
		talking.Go(func() {
			u.tell(ctx, chat+1, fmt.Sprintf("/remind 300ms the tea of %d", chat), false)
			for round := 0; round == 0 || enough.Err() == nil; round++ {
				for n := range crashTexts {
					u.tell(ctx, chat+1, fmt.Sprintf("text %d.%d of %d", round, n, chat), c.point.Needs == probe.Duplicate)
				}
				if special := commands[c.point.Needs]; special != "" && round < 2 {
					u.tell(ctx, chat+1, special, false)
				}
				if c.point.Needs == probe.Order {
					u.order(ctx, chat+1, fmt.Sprintf("%d-%d", chat, round), fmt.Sprintf("news %d for %d", round, chat))
				}
				wait(enough, 300*time.Millisecond)
			}
			u.tell(ctx, chat+1, "/count", false) // the chat goes on
		})
	}
	talking.Wait()
}

// commands are what leads to points that need more than free texts.
var commands = map[probe.Need]string{
	probe.Eager:   "/slow 0.1",
	probe.Failure: "/fail 1",
	probe.Poison:  "/poison",
	probe.Timer:   "/later 2s the cake", // the second in place of the first
}

// tell posts a message until it is taken, and again if late when the journal has
// forgotten its id.
func (u *users) tell(ctx context.Context, chat int64, text string, late bool) {
	update := u.platform.Message(chat, text)
	for !u.post(ctx, chat, update) {
		if !wait(ctx, 100*time.Millisecond) {
			return // the judge finds what is missing
		}
	}
	if late {
		u.posting.Go(func() {
			wait(ctx, duplicateWindow+100*time.Millisecond)
			u.post(ctx, chat, update)
		})
	}
}

// meet waits until the point fired and lets the process go on, as a new one if it
// died.
func (c crash) meet(ctx context.Context, s *scene, victim *fleet.Replica, name string) {
	if c.point.Needs == probe.TakeOver {
		c.restart(ctx, s, s.fleet.Workers[0])
	}
	fired := s.follow.await(ctx, crashTime/2, 0, func(e history.Event) bool {
		return e.Kind == history.Point && e.Process == name
	})
	switch {
	case fired == 0: // the judge says so
	case c.action == probe.Stop:
		wait(ctx, crashLease*3/2)
		victim.Child().Thaw()
	default:
		c.restart(ctx, s, victim)
	}
}

// restart starts a replica again when it has died.
func (c crash) restart(ctx context.Context, s *scene, r *fleet.Replica) {
	select {
	case <-r.Child().Exited():
		if err := s.launch(r); err != nil {
			s.log.Note(history.Event{Kind: history.Exited, Target: r.Name, Error: err.Error()})
		}
	case <-ctx.Done():
	}
}

// refuseEvery has every n-th call refused for a second.
func refuseEvery(n int64) func(string) platform.Weather {
	var calls atomic.Int64
	return func(string) platform.Weather {
		if calls.Add(1)%n != 0 {
			return platform.Weather{}
		}
		return platform.Weather{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
	}
}
