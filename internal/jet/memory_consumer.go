package jet

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
)

// defaultAckWait is the server's.
const defaultAckWait = 30 * time.Second

// memoryConsumer hands out the messages of a stream. The server's lock guards it.
type memoryConsumer struct {
	stream    *MemoryStream
	cfg       ConsumerConfig
	next      uint64 // sequence from which nothing was delivered yet
	delivered uint64 // highest sequence delivered
	pending   map[uint64]*memoryPending
	due       dueHeap // the same ones, the next to be delivered again first
	gone      bool
}

type memoryPending struct {
	seq        uint64
	deliveries uint64
	at         time.Time // when it is delivered again
	index      int       // in due
}

// Consumer returns the durable consumer of that name, made if absent.
func (s *MemoryStream) Consumer(ctx context.Context, cfg ConsumerConfig) (Consumer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := s.lock(); err != nil {
		return nil, fmt.Errorf("jet: consumer %s: %w", cfg.Name, err)
	}
	defer s.server.mu.Unlock()
	if cfg.AckWait == 0 {
		cfg.AckWait = defaultAckWait
	}
	if err := cfg.sameStream(s.cfg.Metadata); err != nil {
		return nil, fmt.Errorf("jet: consumer %s: %w", cfg.Name, err)
	}
	if _, ok := s.consumers[cfg.Name]; cfg.Look && !ok {
		return nil, fmt.Errorf("jet: consumer %s: %w", cfg.Name, botmesh.ErrNotFound)
	}
	h := &memoryHandle{stream: s, cfg: cfg}
	h.open()
	return h, nil
}

// DeleteConsumer removes a consumer with its marks, as an operator may.
func (s *MemoryStream) DeleteConsumer(name string) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if c, ok := s.consumers[name]; ok {
		c.gone = true
		delete(s.consumers, name)
		s.server.wake()
	}
}

// memoryHandle is one client's hold of a consumer. It makes the consumer again,
// at its floor, if it was deleted.
type memoryHandle struct {
	stream *MemoryStream
	cfg    ConsumerConfig
	c      *memoryConsumer
	floor  uint64
}

// open finds or makes the consumer. It is called with the lock held.
func (h *memoryHandle) open() *memoryConsumer {
	if h.c != nil {
		if !h.c.gone {
			return h.c
		}
		h.floor = max(h.floor, h.c.floor())
	}
	c, ok := h.stream.consumers[h.cfg.Name]
	if !ok {
		start := max(h.cfg.StartSeq, h.floor+1, 1)
		c = &memoryConsumer{stream: h.stream, cfg: h.cfg, next: start, delivered: start - 1, pending: map[uint64]*memoryPending{}}
		h.stream.consumers[h.cfg.Name] = c
	}
	h.c = c
	return c
}

func (h *memoryHandle) Pull(ctx context.Context, limit int, wait time.Duration, each func(Delivery)) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for limit > 0 && ctx.Err() == nil {
		now, err := h.stream.lock()
		if err != nil {
			return fmt.Errorf("jet: pull %s: %w", h.cfg.Name, err)
		}
		c := h.open()
		d, ok := c.take(now)
		changed, again := h.stream.server.changed, c.untilDue(now)
		h.stream.server.mu.Unlock()
		if ok {
			limit--
			each(d)
			continue
		}
		if !waitFor(ctx, timer.C, changed, again) {
			return nil
		}
	}
	return nil
}

// waitFor reports whether it is worth to look again: something changed, or the
// time until the next redelivery passed.
func waitFor(ctx context.Context, end <-chan time.Time, changed <-chan struct{}, again time.Duration) bool {
	var due <-chan time.Time
	if again > 0 {
		t := time.NewTimer(again)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-end:
		return false
	case <-changed:
	case <-due:
	}
	return true
}

func (h *memoryHandle) Floor(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if _, err := h.stream.lock(); err != nil {
		return 0, fmt.Errorf("jet: floor of %s: %w", h.cfg.Name, err)
	}
	defer h.stream.server.mu.Unlock()
	return h.open().floor(), nil
}

func (h *memoryHandle) Pending(ctx context.Context) (waiting, unacknowledged uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	if _, err := h.stream.lock(); err != nil {
		return 0, 0, fmt.Errorf("jet: pending of %s: %w", h.cfg.Name, err)
	}
	defer h.stream.server.mu.Unlock()
	c := h.open()
	c.forget()
	for m := c.stream.log.next(c.cfg.Subject, c.next); m != nil; m = c.stream.log.next(c.cfg.Subject, m.Seq+1) {
		waiting++
	}
	return waiting, uint64(len(c.pending)), nil
}

// take marks the next message as delivered: one that is due again, else a new one.
func (c *memoryConsumer) take(now time.Time) (Delivery, bool) {
	for len(c.due) > 0 && !now.Before(c.due[0].at) {
		p := c.due[0]
		m := c.stream.log.get(p.seq)
		if m == nil { // removed meanwhile
			c.settle(p.seq)
			continue
		}
		p.deliveries++
		c.put(p, now.Add(c.cfg.AckWait))
		return c.delivery(m, p), true
	}
	m := c.stream.log.next(c.cfg.Subject, c.next)
	if m == nil {
		return Delivery{}, false
	}
	c.next, c.delivered = m.Seq+1, m.Seq
	p := &memoryPending{seq: m.Seq, deliveries: 1, at: now.Add(c.cfg.AckWait)}
	c.pending[m.Seq] = p
	heap.Push(&c.due, p)
	return c.delivery(m, p), true
}

func (c *memoryConsumer) delivery(m *memoryMsg, p *memoryPending) Delivery {
	d := Delivery{Stored: m.out(), Delivered: p.deliveries}
	if c.cfg.HeadersOnly {
		d.Data = nil
	}
	seq := m.Seq
	d.Ack = func() error { return c.mark(func(time.Time) { c.settle(seq) }) }
	d.Nak = func(after time.Duration) error { return c.postpone(seq, after) }
	d.Progress = func() error { return c.postpone(seq, c.cfg.AckWait) }
	return d
}

// mark runs a change under the lock and wakes who pulls.
func (c *memoryConsumer) mark(change func(now time.Time)) error {
	server := c.stream.server
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.closed {
		return fmt.Errorf("jet: mark: %w: %w", botmesh.ErrRefused, ErrClosed)
	}
	change(time.Now())
	server.wake()
	return nil
}

func (c *memoryConsumer) postpone(seq uint64, after time.Duration) error {
	return c.mark(func(now time.Time) {
		if p, ok := c.pending[seq]; ok {
			c.put(p, now.Add(max(after, 0)))
		}
	})
}

func (c *memoryConsumer) put(p *memoryPending, at time.Time) {
	p.at = at
	heap.Fix(&c.due, p.index)
}

func (c *memoryConsumer) settle(seq uint64) {
	if p, ok := c.pending[seq]; ok {
		delete(c.pending, seq)
		heap.Remove(&c.due, p.index)
	}
}

func (c *memoryConsumer) floor() uint64 {
	c.forget()
	floor := c.delivered
	for seq := range c.pending {
		floor = min(floor, seq-1)
	}
	return floor
}

// forget settles what is no longer there to be delivered again.
func (c *memoryConsumer) forget() {
	for seq := range c.pending {
		if c.stream.log.get(seq) == nil {
			c.settle(seq)
		}
	}
}

// untilDue is how long it is until the next redelivery, zero if none is pending.
func (c *memoryConsumer) untilDue(now time.Time) time.Duration {
	if len(c.due) == 0 {
		return 0
	}
	return max(c.due[0].at.Sub(now), 1)
}

// dueHeap orders what was delivered by when it is delivered again.
type dueHeap []*memoryPending

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop are for container/heap.
func (h *dueHeap) Push(x any) {
	p := x.(*memoryPending)
	p.index = len(*h)
	*h = append(*h, p)
}

// Pop removes the last one.
func (h *dueHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	*h = old[:len(old)-1]
	return p
}
