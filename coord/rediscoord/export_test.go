package rediscoord

import "github.com/botmesh-go/botmesh"

// Crash ends the coordinator as SIGKILL ends its process: nothing is released,
// nothing is said.
func (c *Coordinator) Crash() {
	c.mu.Lock()
	for id, t := range c.turns {
		t.lease.End(botmesh.LossUnavailable)
		delete(c.turns, id)
	}
	c.crashed = true
	c.stop()
	c.mu.Unlock()
	c.end()
	c.push.close()
	c.loops.Wait()
}

// Listens reports whether a push would wake a waiter.
func (c *Coordinator) Listens() bool { return c.push.live() }

// Closes reports whether Close was called.
func (c *Coordinator) Closes() bool { return c.closing.Err() != nil }
