package replay

import (
	"fmt"
	"slices"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// passedOver reports whether an operator wants a record to have no effect. A timer stays
// armed then.
func (c *Chat) passedOver(r botmesh.Record) bool {
	switch r.Type {
	case botmesh.TypeMessage, botmesh.TypeCallback, botmesh.TypeTimer:
		return c.cfg.PassesOver != nil && c.cfg.PassesOver(r)
	}
	return false
}

// timer is the timer of an id, the zero one if it is not armed.
func (c *Chat) timer(id string) botmesh.Timer {
	for _, t := range c.scratch.Timers {
		if t.ID == id {
			return t.Timer
		}
	}
	return botmesh.Timer{}
}

func (c *Chat) armed(id string) bool {
	return slices.ContainsFunc(c.scratch.Timers, func(t checkpoint.Armed) bool { return t.ID == id })
}

// setTimers changes the armed timers as a record and its run did, under the ids that a
// worker gives them.
func (c *Chat) setTimers(r botmesh.Record, o botmesh.Outcome) {
	drop := func(gone func(checkpoint.Armed) bool) { c.scratch.Timers = slices.DeleteFunc(c.scratch.Timers, gone) }
	drop(func(t checkpoint.Armed) bool { return r.Timer != "" && t.ID == r.Timer })
	if p := r.Resume; p != nil {
		for i, t := range c.scratch.Timers {
			c.scratch.Timers[i].At = p.Resumed.Add(max(0, t.At.Sub(p.Paused)))
		}
	}
	for _, name := range o.Disarm {
		drop(func(t checkpoint.Armed) bool { return t.Name == name })
	}
	for i, timer := range o.Arm {
		drop(func(t checkpoint.Armed) bool { return t.Name == timer.Name })
		c.scratch.Timers = append(c.scratch.Timers, checkpoint.Armed{ID: fmt.Sprintf("%s-%d-t%d", r.Epoch, r.Seq, i), Timer: timer})
	}
}

// heard notes where the last record is that the chat's user sent.
func (c *Chat) heard(r botmesh.Record) {
	switch r.Type {
	case botmesh.TypeTimer, botmesh.TypeCommand, botmesh.TypeEvent:
		return
	}
	if r.User != "" {
		c.scratch.Heard = fmt.Sprintf("%s.%d", r.Epoch, r.Seq)
	}
}
