package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/probe"
)

// again asks a worker to end, as a deploy does, and starts it anew, with settings for
// this start. It returns the exit code of the process that ended.
func (c *chaos) again(ctx context.Context, w *fleet.Replica, env ...string) (code int, err error) {
	if code, err = w.Term(ctx); err != nil {
		return code, err
	}
	w.Once(env...)
	return code, c.launch(w)
}

func drainWorker(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	w, held, err := c.busy(ctx, f)
	if err != nil {
		return "", err
	}
	victim, at := w.Process(), history.Now()
	begin(victim)
	code, err := c.again(ctx, w)
	if err != nil {
		return "", err
	}
	gone := taken(held, victim)
	n := c.follow.await(ctx, meetTime, at, func(e history.Event) bool {
		return gone(e) || e.Kind == history.Release && e.Outcome == history.Done && e.Process == victim
	})
	if n == 0 {
		return "", nil
	}
	return fmt.Sprintf("had %s, handed over, ended with %d", counted(len(held), "turns"), code), nil
}

// loseCommit has a commit refused: a worker stops just before it sends one, when it has
// looked for the last time whether the turn is still its own. Redis forgets its turn,
// another takes the chat and commits, and it goes on. What it sends then comes too late.
func loseCommit(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	w := c.worker(f)
	begin(w.Name)
	for hit := 1 + f.Pick%3; ctx.Err() == nil; hit = 1 {
		if _, err := c.again(ctx, w, fmt.Sprintf("%s=commit.before@%d:%s", probe.EnvCrash, hit, probe.Stop)); err != nil {
			return "", err
		}
		effect, err := c.overtake(ctx, w)
		w.Child().Thaw() // whatever came of it
		if effect != "" || err != nil {
			return effect, err
		}
	}
	return "", nil
}

// overtake waits until a worker has stopped before a commit, lets another one make it,
// and the first go on, which does not hear from Redis meanwhile that its turn is lost. It
// says whose commit was refused, nothing if none was: the others may have been slow, and
// the first known by its own clock that its lease is over.
func (c *chaos) overtake(ctx context.Context, w *fleet.Replica) (effect string, err error) {
	victim := w.Process()
	var chat string
	var at int64
	began := history.Now()
	if c.follow.await(ctx, meetTime, began, func(e history.Event) bool {
		if e.Kind != history.Point || e.Process != victim {
			return false
		}
		chat, at = e.Target, e.T
		return true
	}) == 0 {
		return "", nil
	}
	id, err := strconv.ParseInt(strings.TrimPrefix(chat, "telegram."), 10, 64)
	if err != nil {
		return "", err
	}
	defer c.fleet.Link(w.Name, "redis").Add(silent)()
	other := func(e history.Event) bool {
		return e.Kind == history.Commit && e.Outcome == history.Done && e.Chat == chat && e.Process != victim
	}
	for end := time.Now().Add(c.plan.Lease); ; {
		if err := c.forget(ctx, chat); err == nil { // else Redis is away
			c.users.say(ctx, id, "/count") // a nudge for somebody; the one who stopped may get it
		}
		if c.follow.await(ctx, time.Second/3, at, other) > 0 {
			break
		}
		if time.Now().After(end) {
			return "", nil
		}
	}
	w.Child().Thaw()
	if c.follow.await(ctx, meetTime/10, at, func(e history.Event) bool {
		return e.Kind == history.Commit && e.Outcome == history.Conflict && e.Chat == chat && e.Process == victim
	}) == 0 {
		return "", nil
	}
	return fmt.Sprintf("its commit in %s came after another's, and was refused", chat), nil
}
