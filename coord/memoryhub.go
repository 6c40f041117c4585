package coord

import (
	"cmp"
	"container/list"
	"slices"
	"sync"
	"time"
)

// defaultIdleKeys is how many idle keys a hub remembers.
const defaultIdleKeys = 10_000

// MemoryHub is what the coordinators of one process share. The zero value is
// ready to use.
type MemoryHub struct {
	// MaxIdleKeys bounds the keys that are remembered while nobody holds or waits
	// for them; past it the least recently used is forgotten. Its fences go on
	// growing, its next turn reports no previous holder. Zero means 10 000. It is
	// set before the hub is used.
	MaxIdleKeys int

	mu    sync.Mutex
	keys  map[memorySlot]*memoryKey
	idle  *list.List // of *memoryKey, the most recently used first
	floor uint64     // the highest fence of the keys that were forgotten
	alive map[string]*MemoryCoordinator
	dead  map[*MemoryCoordinator]struct{} // crashed, leases not run out yet
}

// memorySlot is what a key is in the hub.
type memorySlot struct {
	kind Kind
	key  string
}

// memoryKey is what the hub knows of one key.
type memoryKey struct {
	at      memorySlot
	fence   uint64
	arrived uint64 // tickets that came, ever
	holder  *memoryTicket
	since   time.Time
	deaths  int // in a row
	before  Previous
	line    []*memoryTicket // next first
	lock    *memoryLock     // of a lock that is held
	idle    *list.Element   // nil while somebody holds or waits
}

func (h *MemoryHub) init() {
	if h.keys == nil {
		h.keys = map[memorySlot]*memoryKey{}
		h.idle = list.New()
		h.alive = map[string]*MemoryCoordinator{}
		h.dead = map[*MemoryCoordinator]struct{}{}
	}
}

// Forget drops all the hub knows of the given keys, whatever they name, or of all
// without any, as a FLUSHALL does to Redis: a turn may then be granted beside one
// that is held. Whoever holds one or waits finds out within a third of its lease.
// Fences go on growing.
func (h *MemoryHub) Forget(keys ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, k := range h.keys {
		if len(keys) == 0 || slices.Contains(keys, at.key) {
			h.drop(k)
		}
	}
}

// Len counts the keys that the hub remembers, of turns, leaders and locks.
func (h *MemoryHub) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.keys)
}

func (h *MemoryHub) drop(k *memoryKey) {
	h.floor = max(h.floor, k.fence)
	delete(h.keys, k.at)
	if k.idle != nil {
		h.idle.Remove(k.idle)
	}
	if k.lock != nil {
		k.lock.end.Stop()
	}
}

// rouse returns what the hub knows of a key that is about to be held or waited for.
func (h *MemoryHub) rouse(at memorySlot) *memoryKey {
	k := h.keys[at]
	if k == nil {
		k = &memoryKey{at: at}
		h.keys[at] = k
	}
	if k.idle != nil {
		h.idle.Remove(k.idle)
		k.idle = nil
	}
	return k
}

// rest notes that nobody holds a key or waits for it.
func (h *MemoryHub) rest(k *memoryKey) {
	if k.idle != nil {
		return
	}
	k.idle = h.idle.PushFront(k)
	for h.idle.Len() > cmp.Or(h.MaxIdleKeys, defaultIdleKeys) {
		h.drop(h.idle.Back().Value.(*memoryKey))
	}
}

// grant is the next fence of a key.
func (h *MemoryHub) grant(k *memoryKey, floor uint64) uint64 {
	k.fence, k.since = max(k.fence, floor, h.floor)+1, time.Now()
	return k.fence
}

// join puts a ticket in its key's line, and grants it at once if it is first and
// nobody holds the key.
func (h *MemoryHub) join(t *memoryTicket) {
	k := h.rouse(t.at)
	k.arrived++
	t.order, t.arrival = t.place, k.arrived
	if t.place == 0 && len(k.line) > 0 {
		t.order = k.line[len(k.line)-1].order
	}
	k.line = append(k.line, t)
	slices.SortFunc(k.line, func(a, b *memoryTicket) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.arrival, b.arrival))
	})
	h.next(k)
}

// leave removes a ticket. If it holds the key, the turn is given up: tickets at
// or below passed are dropped, and the next one is granted. Nothing was done under
// a turn that was not used: who held before still did.
func (h *MemoryHub) leave(t *memoryTicket, passed uint64, used bool) {
	k := h.keys[t.at]
	if k == nil {
		return
	}
	if k.holder == t {
		k.holder = nil
		if used {
			k.before = Previous{Incarnation: t.owner.incarnation, Released: true, Passed: max(k.before.Passed, passed)}
			k.deaths = 0
		}
		for _, w := range k.line {
			if w.place > 0 && w.place <= passed {
				w.settle(nil, &PassedError{Key: k.at.key, Passed: passed})
			}
		}
	}
	k.line = slices.DeleteFunc(k.line, func(w *memoryTicket) bool {
		return w == t || w.place > 0 && w.place <= passed
	})
	h.next(k)
}

// next grants the key to the first in line if nobody holds it, or notes that the
// key is idle.
func (h *MemoryHub) next(k *memoryKey) {
	if k.holder == nil && len(k.line) > 0 {
		t := k.line[0]
		k.line = k.line[1:]
		k.holder = t
		t.grant(h.grant(k, t.floor), k.before)
	}
	if k.holder == nil {
		h.rest(k)
	}
}

// find reports whether the hub knows a ticket, as holder or in line, and if not
// whether another holds its key.
func (h *MemoryHub) find(t *memoryTicket) (known, other bool) {
	k := h.keys[t.at]
	if k == nil {
		return false, false
	}
	return k.holder == t || slices.Contains(k.line, t), k.holder != nil
}

// revive gives a turn back to a ticket that the hub forgot, if nobody had the key
// since: whoever did has a higher fence. It reports whether it did.
func (h *MemoryHub) revive(t *memoryTicket) bool {
	if k := h.keys[t.at]; k != nil && (k.holder != nil || k.fence >= t.turn.fence) {
		return false
	}
	k := h.rouse(t.at)
	k.holder, k.fence, k.since = t, t.turn.fence, time.Now()
	return true
}

func (h *MemoryHub) waiting(t *memoryTicket) Waiting {
	w := Waiting{Highest: t.place}
	if k := h.keys[t.at]; k != nil && k.holder == t {
		w.Tickets = len(k.line)
		for _, o := range k.line {
			w.Highest = max(w.Highest, o.place)
		}
	}
	return w
}

// bury lets what a crashed coordinator left run out after its lease.
func (h *MemoryHub) bury(c *MemoryCoordinator) {
	h.dead[c] = struct{}{}
	time.AfterFunc(c.lease, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.dead, c)
		delete(h.alive, c.incarnation)
		// Two passes: no dead ticket may be granted the turn of a dead holder.
		for _, t := range c.tickets {
			if k := h.keys[t.at]; k != nil {
				k.line = slices.DeleteFunc(k.line, func(w *memoryTicket) bool { return w == t })
			}
		}
		for _, t := range c.tickets {
			if k := h.keys[t.at]; k != nil && k.holder == t {
				h.expire(k)
			}
		}
	})
}

// expire ends the lease of a key's holder, and grants the key to the next.
func (h *MemoryHub) expire(k *memoryKey) {
	k.before = Previous{Incarnation: k.holder.owner.incarnation, Passed: k.before.Passed}
	k.holder = nil
	k.deaths++
	h.next(k)
}

func (h *MemoryHub) crashed(c *MemoryCoordinator) bool {
	_, ok := h.dead[c]
	return ok
}
