package coord

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Inspect implements [Viewer].
func (c *MemoryCoordinator) Inspect(_ context.Context, kind Kind, key string) (View, error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if k := c.hub.keys[memorySlot{kind, key}]; k != nil {
		return k.view(), nil
	}
	return View{}, fmt.Errorf("coord: %s %s: %w", kind, key, botmesh.ErrNotFound)
}

// Break implements [Breaker].
func (c *MemoryCoordinator) Break(_ context.Context, kind Kind, key string, fence uint64) error {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	switch k := h.keys[memorySlot{kind, key}]; {
	case k == nil || k.fence != fence:
	case k.lock != nil:
		h.unlock(k, false)
	case k.holder != nil:
		h.expire(k)
	}
	return nil
}

// List implements [Viewer]. What it shows is of one moment.
func (c *MemoryCoordinator) List(_ context.Context, kind Kind) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		for _, v := range c.hub.views(kind) {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// views are those of a kind that are not idle.
func (h *MemoryHub) views(kind Kind) (views []View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, k := range h.keys {
		if v := k.view(); at.kind == kind && !v.Idle() {
			views = append(views, v)
		}
	}
	return views
}

func (k *memoryKey) view() View {
	v := View{Kind: k.at.kind, Key: k.at.key, Fence: k.fence, Previous: k.before, Deaths: k.deaths}
	if t := k.holder; t != nil {
		v.Holder, v.Since, v.Left = t.owner.incarnation, k.since, t.owner.lease
	}
	if l := k.lock; l != nil {
		v.Holder, v.Since, v.Left = l.owner(), k.since, time.Until(l.until)
	}
	for _, t := range k.line {
		v.Waiting = append(v.Waiting, Ticket{t.owner.incarnation, t.place})
	}
	return v
}
