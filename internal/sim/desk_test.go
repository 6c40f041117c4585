package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// desk is the journal's durable consumer: it hands records out, in any order, now
// and then one that is still out, until they are acknowledged.
type desk struct {
	s       *sim
	epoch   string
	ackWait time.Duration
	fresh   []uint64
	pending map[uint64]*handed
}

// handed is a record that is out.
type handed struct {
	times uint64
	due   time.Time // when it is handed out again
}

func (d *desk) sorted() []uint64 { return slices.Sorted(maps.Keys(d.pending)) }

// any reports whether a record may be handed out now.
func (d *desk) any(now time.Time) bool {
	if d.epoch != d.s.epochs[inbox] {
		return false
	}
	for _, h := range d.pending {
		if !now.Before(h.due) {
			return true
		}
	}
	return len(d.fresh) > 0
}

// due is when the next record is handed out again.
func (d *desk) due(now time.Time) (next time.Time) {
	for _, h := range d.pending {
		if h.due.After(now) && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// waiting are the records that may be handed out now.
func (d *desk) waiting(now time.Time) (of []uint64) {
	for _, seq := range d.sorted() {
		if !now.Before(d.pending[seq].due) {
			of = append(of, seq)
		}
	}
	if len(d.fresh) > 0 {
		of = append(of, d.fresh[0])
	}
	return of
}

var errGone = fmt.Errorf("sim: the stream is gone: %w", botmesh.ErrRefused)

// hand hands one record out.
func (d *desk) hand(p *process) (jet.Delivery, error) {
	if d.epoch != d.s.epochs[inbox] {
		return jet.Delivery{}, errGone
	}
	now := time.Now()
	of := d.waiting(now)
	if again := d.sorted(); len(again) > 0 && d.s.chance(d.s.weather.again) {
		of = again
	}
	if len(of) == 0 {
		return jet.Delivery{}, botmesh.ErrNotFound
	}
	seq := of[d.s.rng.IntN(len(of))]
	d.fresh = slices.DeleteFunc(d.fresh, func(f uint64) bool { return f == seq })
	m, err := d.s.stream(inbox).Get(d.s.t.Context(), seq)
	if err != nil { // removed
		delete(d.pending, seq)
		return jet.Delivery{}, err
	}
	h := d.pending[seq]
	if h == nil {
		h = &handed{}
		d.pending[seq] = h
	}
	h.times++
	h.due = now.Add(d.ackWait)
	if h.times > 1 {
		d.s.stats["redelivery"]++
	}
	d.s.note("%s gets %d, time %d", p.name, seq, h.times)
	m.Data = nil
	return d.delivery(p, m, h.times), nil
}

func (d *desk) delivery(p *process, m jet.Stored, times uint64) jet.Delivery {
	mark := func(what string, do func(h *handed)) error {
		d.s.send(p, fmt.Sprint(what, " ", d.epoch, " ", m.Seq), time.Time{}, func() {
			if d.s.chance(d.s.weather.lostMark) {
				d.s.stats["mark lost"]++
				d.s.note("lost")
				return
			}
			if h := d.pending[m.Seq]; h != nil && d.epoch == d.s.epochs[inbox] { // else it went with its stream
				do(h)
			}
		})
		return nil
	}
	return jet.Delivery{
		Stored: m, Delivered: times,
		Ack: func() error {
			return mark("ack", func(*handed) {
				d.s.judge.acknowledged(p, d.epoch, m.Seq)
				delete(d.pending, m.Seq)
			})
		},
		Nak: func(after time.Duration) error {
			return mark("nak", func(h *handed) { h.due = time.Now().Add(after) })
		},
		Progress: func() error {
			return mark("progress", func(h *handed) { h.due = time.Now().Add(d.ackWait) })
		},
	}
}

// Consumer implements [jet.Stream]: a desk, made if absent, that holds what is in
// the stream.
func (l line) Consumer(ctx context.Context, c jet.ConsumerConfig) (jet.Consumer, error) {
	return ask(ctx, l.p, reading, "consumer", func() (jet.Consumer, error) {
		s := l.p.s
		epoch := c.Metadata["botmesh.epoch"]
		if epoch != s.epochs[inbox] {
			return nil, fmt.Errorf("sim: no such stream: %w", botmesh.ErrRefused)
		}
		d := s.desks[c.Name]
		if d == nil {
			d = &desk{s: s, epoch: epoch, ackWait: c.AckWait, pending: map[uint64]*handed{}}
			of, err := s.stream(inbox).Range(context.Background(), c.Subject, 1, 1000)
			if err != nil {
				return nil, err
			}
			for _, m := range of {
				d.fresh = append(d.fresh, m.Seq)
			}
			s.desks[c.Name] = d
		}
		return puller{d, l.p}, nil
	})
}

// puller is a process's hold of a desk.
type puller struct {
	*desk
	p *process
}

// Pull implements [jet.Consumer].
func (c puller) Pull(ctx context.Context, limit int, wait time.Duration, each func(jet.Delivery)) error {
	until := time.Now().Add(wait)
	for limit > 0 && ctx.Err() == nil {
		k := &call{
			by: c.p, key: "pull", ctx: ctx, until: until,
			ready: func() bool { return c.any(time.Now()) || c.epoch != c.s.epochs[inbox] },
			real:  func() (any, error) { return c.hand(c.p) },
		}
		switch {
		case c.s.park(k) == gone:
			return fmt.Errorf("sim: %w", botmesh.ErrRefused)
		case errors.Is(k.err, errGone):
			return errGone
		case k.err != nil:
			if !time.Now().Before(until) {
				return nil
			}
			continue
		}
		limit--
		each(k.value.(jet.Delivery))
	}
	return nil
}

// Floor implements [jet.Consumer]. Nobody asks.
func (c puller) Floor(context.Context) (uint64, error) { return 0, botmesh.ErrRefused }

// Pending implements [jet.Consumer]. Nobody asks.
func (c puller) Pending(context.Context) (uint64, uint64, error) { return 0, 0, botmesh.ErrRefused }
