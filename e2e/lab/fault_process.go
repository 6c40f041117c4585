package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// meetTime bounds how long a fault waits for what it is to meet.
const meetTime = 30 * time.Second

// busy waits until a worker has turns: the picked one, or after a while any.
func (c *chaos) busy(ctx context.Context, f Fault) (*fleet.Replica, []string, error) {
	began := time.Now()
	for time.Since(began) < meetTime {
		for i, w := range append([]*fleet.Replica{c.worker(f)}, c.fleet.Workers...) {
			if i > 0 && time.Since(began) < meetTime/10 {
				break
			}
			if held := c.follow.held(w.Process()); len(held) > 0 {
				return w, held, nil
			}
		}
		if !wait(ctx, 10*time.Millisecond) {
			break
		}
	}
	return nil, nil, errors.New("no worker had a turn")
}

// taken matches the grants of chats to anybody but one process.
func taken(chats []string, but string) func(history.Event) bool {
	return func(e history.Event) bool {
		return e.Kind == history.Take && e.Outcome == history.Granted && e.Process != but && slices.Contains(chats, e.Chat)
	}
}

func killWorker(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	w, held, err := c.busy(ctx, f)
	if err != nil {
		return "", err
	}
	victim, at := w.Process(), history.Now()
	begin(victim)
	w.Child().Kill()
	wait(ctx, f.Length)
	if err := c.launch(w); err != nil {
		return "", err
	}
	if n := c.follow.await(ctx, meetTime, at, taken(held, victim)); n > 0 {
		return fmt.Sprintf("had %s, %d taken over", counted(len(held), "turns"), n), nil
	}
	return "", nil
}

func freezeWorker(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	w, held, err := c.busy(ctx, f)
	if err != nil {
		return "", err
	}
	victim, at := w.Process(), history.Now()
	begin(victim)
	w.Child().Freeze()
	wait(ctx, f.Length)
	w.Child().Thaw()
	stood := c.follow.await(ctx, meetTime, at, func(e history.Event) bool {
		return e.Kind == history.Stall && e.Process == victim && e.Took >= f.Length*7/10
	})
	if stood == 0 {
		return "", nil
	}
	if f.Length < c.plan.Lease {
		return fmt.Sprintf("stood still, with %s", counted(len(held), "turns")), nil
	}
	gone := taken(held, victim)
	n := c.follow.await(ctx, meetTime, at, func(e history.Event) bool {
		return gone(e) || e.Kind == history.Lost && e.Process == victim && slices.Contains(held, e.Chat)
	})
	if n == 0 {
		return "", nil
	}
	return fmt.Sprintf("had %s, %d lost or taken over", counted(len(held), "turns"), n), nil
}

// unheard matches the webhooks that a process did not take.
func unheard(process string) func(history.Event) bool {
	return func(e history.Event) bool {
		return e.Kind == history.Webhook && e.Status/100 != 2 && (process == "" || e.Target == process)
	}
}

func killIngress(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	r := c.ingress(f)
	victim, at := r.Process(), history.Now()
	begin(victim)
	r.Child().Kill()
	wait(ctx, f.Length)
	n := c.follow.await(ctx, meetTime, at, unheard(victim))
	if err := c.launch(r); err != nil {
		return "", err
	}
	return counted(n, "webhooks not taken"), nil
}

func freezeIngress(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	r := c.ingress(f)
	victim, at := r.Process(), history.Now()
	begin(victim)
	r.Child().Freeze()
	wait(ctx, f.Length)
	r.Child().Thaw()
	return counted(c.follow.await(ctx, meetTime, at, unheard(victim)), "webhooks not taken"), nil
}

// counted is the effect of a fault that was seen n times, nothing for zero.
func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	if n == 1 {
		what = strings.TrimSuffix(strings.Replace(what, "s ", " ", 1), "s")
	}
	return fmt.Sprintf("%d %s", n, what)
}
