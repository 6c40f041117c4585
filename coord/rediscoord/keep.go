package rediscoord

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// keep renews the heartbeat and every turn, each third of a lease, and more often
// while Redis does not answer.
func (c *Coordinator) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-timer.C:
		case <-c.beatNow:
		case <-c.ended.Done():
			return
		}
		began, pause := lease.Now(), c.cfg.Lease/3
		err := c.beat()
		if c.ended.Err() != nil {
			return
		}
		if c.knock(err != nil); err != nil || c.calls.troubled() {
			pause = c.cfg.Lease / 12
		}
		if failing != (err != nil) {
			c.report(err)
		}
		failing = err != nil
		timer.Reset(max(pause-began.Elapsed(), 0))
	}
}

func (c *Coordinator) report(err error) {
	if err != nil {
		c.cfg.Logger.Warn("coordination is away", "incarnation", c.incarnation, "err", err)
		return
	}
	c.cfg.Logger.Info("coordination is back", "incarnation", c.incarnation)
}

// beat renews the heartbeat and the turns, at once: on a cluster one may fail and
// the others not.
func (c *Coordinator) beat() error {
	heart := make(chan error, 1)
	go func() { heart <- c.heartbeat() }()
	failed := c.renewTurns()
	if err := <-heart; err != nil {
		reload(c.ended, c.cfg.Client)
		return err
	}
	select {
	case <-c.ready:
	default:
		close(c.ready)
		c.checkEviction()
	}
	return failed
}

// renewTurns renews every turn that is held.
func (c *Coordinator) renewTurns() (failed error) {
	sent := lease.Now()
	calls := map[*turn]*call{}
	for _, t := range c.held() {
		calls[t] = t.renewal()
		c.calls.start(calls[t])
	}
	for t, call := range calls {
		r, err := call.wait(c.ended)
		if err == nil {
			err = t.renewed(r, sent)
		} else {
			t.unanswered(err)
		}
		failed = cmp.Or(err, failed)
	}
	return failed
}

// held are the turns that are held; those whose lease ended are forgotten.
func (c *Coordinator) held() []*turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make([]*turn, 0, len(c.turns))
	for id, t := range c.turns {
		if t.lease.Err() != nil {
			delete(c.turns, id)
			continue
		}
		held = append(held, t)
	}
	return held
}

// echo is what a replica says to itself, to hear whether pushes arrive.
const echo = "echo"

// heartbeat says that this incarnation lives, and looks whether the prefix is
// used with these names.
//
// It lasts half a lease. A turn or a ticket was renewed at most a third of a lease
// before its replica died, and so ends after the heartbeat: whoever is granted
// the turn of a dead replica finds it dead.
func (c *Coordinator) heartbeat() error {
	ctx, cancel := context.WithTimeout(c.ended, c.calls.timeout)
	defer cancel()
	p := c.cfg.Client.Pipeline()
	p.Publish(ctx, c.names.wake(c.incarnation), echo)
	p.Set(ctx, c.names.alive(c.incarnation), "1", c.cfg.Lease/2)
	p.SetNX(ctx, c.names.layout(), layout, 0)
	found := p.Get(ctx, c.names.layout())
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("rediscoord: heartbeat: %w", err)
	}
	var refused error
	if found.Val() != layout {
		refused = fmt.Errorf("rediscoord: prefix %q is used with layout %q, this build has %q: choose another prefix or upgrade all replicas: %w",
			c.cfg.Prefix, found.Val(), layout, botmesh.ErrCoordinationUnavailable)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = refused
	return nil
}

// checkEviction warns of a Redis that may drop leases and tickets under memory
// pressure. It does not matter if the server does not say.
func (c *Coordinator) checkEviction() {
	ctx, cancel := context.WithTimeout(c.ended, c.calls.timeout)
	defer cancel()
	nodes, err := c.nodes(ctx)
	if err != nil {
		return
	}
	for _, node := range nodes {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			continue
		}
		said := map[string]string{}
		for line := range strings.SplitSeq(info, "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			said[name] = value
		}
		if policy := said["maxmemory_policy"]; said["maxmemory"] != "0" && policy != "noeviction" {
			c.cfg.Logger.Warn("redis may evict leases: set maxmemory-policy noeviction", "policy", policy)
			return
		}
	}
}
