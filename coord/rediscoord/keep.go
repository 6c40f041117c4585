package rediscoord

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
		if err != nil || c.troubled() {
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
	err := <-heart
	if err != nil {
		reload(c.ended, c.cfg.Client)
	}
	if err == nil || c.partly() {
		c.begin()
	}
	return cmp.Or(err, failed)
}

// begin lets work begin.
func (c *Coordinator) begin() {
	select {
	case <-c.ready:
	default:
		close(c.ready)
		c.checkEviction()
	}
}

// partly reports whether the part of a cluster is away that holds the heartbeat or
// the layout, and another answers: its chats are served meanwhile. Whether this
// incarnation lives nobody can tell then, and whether the prefix is ours to use is
// found out when the part is back.
func (c *Coordinator) partly() bool {
	return len(c.wires.all) > 1 && !c.heart.gone().IsZero() && c.heart.shut() == nil &&
		slices.ContainsFunc(c.wires.all, func(w *wire) bool { return w.reach.answers() })
}

// renewTurns renews every turn that is held.
func (c *Coordinator) renewTurns() (failed error) {
	sent := lease.Now()
	calls := map[*turn]*call{}
	for _, t := range c.held() {
		calls[t] = t.renewal()
		c.wires.start(calls[t])
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
	ctx, cancel := context.WithTimeout(c.ended, c.wires.timeout)
	defer cancel()
	p := c.cfg.Client.Pipeline()
	p.Publish(ctx, c.names.wake(c.incarnation), echo)
	p.Set(ctx, c.names.alive(c.incarnation), "1", c.cfg.Lease/2)
	p.SetNX(ctx, c.names.layout(), layout, 0)
	found := p.Get(ctx, c.names.layout())
	sent := time.Now()
	_, err := p.Exec(ctx)
	c.heart.note(sent, err)
	if found.Err() == nil { // whatever became of the rest: it may be on other servers
		c.judge(found.Val())
	}
	if err != nil {
		return fmt.Errorf("rediscoord: heartbeat: %w", err)
	}
	return nil
}

// judge says whether the prefix is ours to use, by the layout that it is used with.
func (c *Coordinator) judge(found string) {
	var refused error
	if found != layout {
		refused = fmt.Errorf("rediscoord: prefix %q is used with layout %q, this build has %q: choose another prefix or upgrade all replicas: %w",
			c.cfg.Prefix, found, layout, botmesh.ErrCoordinationUnavailable)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = refused
}

// checkEviction warns of a Redis that may drop leases and tickets under memory
// pressure. It does not matter if the server does not say.
func (c *Coordinator) checkEviction() {
	ctx, cancel := context.WithTimeout(c.ended, c.wires.timeout)
	defer cancel()
	nodes, err := c.nodes(ctx)
	if err != nil {
		return
	}
	for _, node := range nodes {
		said, err := inform(ctx, node, "memory")
		if err != nil {
			continue
		}
		if policy := said["maxmemory_policy"]; said["maxmemory"] != "0" && policy != "noeviction" {
			c.cfg.Logger.Warn("redis may evict leases: set maxmemory-policy noeviction", "policy", policy)
			return
		}
	}
}
