package rediscoord

import (
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
		if err != nil {
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

// beat renews the heartbeat and the turns.
func (c *Coordinator) beat() error {
	if err := c.heartbeat(); err != nil {
		c.renew(func(t *turn) { t.lease.Fail() })
		return err
	}
	select {
	case <-c.ready:
	default:
		close(c.ready)
		c.checkEviction()
	}
	sent := lease.Now()
	calls := map[*turn]*call{}
	c.renew(func(t *turn) {
		calls[t] = t.renewal()
		c.calls.start(calls[t])
	})
	var failed error
	for t, call := range calls {
		r, err := call.wait(c.ended)
		if err != nil {
			t.unanswered(err)
			failed = err
			continue
		}
		t.renewed(r, sent)
	}
	return failed
}

// renew calls each for every turn that is still held.
func (c *Coordinator) renew(each func(*turn)) {
	c.mu.Lock()
	turns := make([]*turn, 0, len(c.turns))
	for _, t := range c.turns {
		turns = append(turns, t)
	}
	c.mu.Unlock()
	for _, t := range turns {
		if t.lease.Err() != nil {
			c.drop(t.id)
			continue
		}
		each(t)
	}
}

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
	info, err := c.cfg.Client.Info(ctx, "memory").Result()
	if err != nil {
		return
	}
	said := map[string]string{}
	for line := range strings.SplitSeq(info, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		said[name] = value
	}
	if policy := said["maxmemory_policy"]; said["maxmemory"] != "0" && policy != "noeviction" {
		c.cfg.Logger.Warn("redis may evict leases: set maxmemory-policy noeviction", "policy", policy)
	}
}
