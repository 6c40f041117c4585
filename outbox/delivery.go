package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/botmesh-go/botmesh"
)

// errClosed is why a tenure ends when it is closed.
var errClosed = errors.New("outbox: the delivery is closed")

// Delivery is the delivery of one chat's letters during one turn of the chat. It
// calls the platform from one goroutine, which starts with the first Put or Wait
// and ends with Close.
//
// The turn makes it likely that nobody else delivers the chat; that nobody does is
// the chain's doing. So a Delivery whose turn is lost does no harm.
type Delivery struct {
	o    *Outbox
	c    *chain
	soft context.Context // ends when nothing new is to be claimed or called
	stop context.CancelCauseFunc
	hard context.Context // ends when the stream is to be waited for no more
	quit context.CancelCauseFunc
	kick chan struct{} // has a token when there is something new to do
	done chan struct{} // closed when the goroutine ended

	mu       sync.Mutex
	begun    bool
	closed   bool
	put      []place
	goal     uint64 // the highest letter that is to be settled
	waiters  []waiter
	standing Standing
	growing  map[string]string // the messages that can be edited, as of position; not changed
	signed   moment            // when a sign was given last

	t tenure // the goroutine's
}

// place is a letter in its place, and the place of the chat's letter before it.
type place struct {
	seq     uint64
	prev    uint64
	follows bool // prev is known
	letter  botmesh.Letter
}

type waiter struct {
	upTo uint64
	tell chan waited
}

// waited is what a wait comes to.
type waited struct {
	Standing
	err error
}

// Deliver begins a tenure: the caller holds the chat's turn and does so until
// Close has returned. When ctx ends nothing new is called or claimed; Close is to
// be called all the same. The chat's provider must have a sender.
func (o *Outbox) Deliver(ctx context.Context, chat botmesh.ChatKey) *Delivery {
	d := &Delivery{o: o, c: o.use(chat), kick: make(chan struct{}, 1), done: make(chan struct{})}
	d.soft, d.stop = context.WithCancelCause(ctx)
	d.hard, d.quit = context.WithCancelCause(context.WithoutCancel(ctx))
	return d
}

// Put hands over a letter that this process just appended at seq, to be delivered
// from memory. The chat's letters before it that are not settled are read from the
// stream and go first. It does not wait.
func (d *Delivery) Put(seq uint64, l botmesh.Letter) {
	prev, follows := d.o.before(d.c, seq)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if n := len(d.put); n == 0 || d.put[n-1].seq < seq {
		d.put = append(d.put, place{seq, prev, follows, l})
	}
	d.goal = max(d.goal, seq)
	d.beginLocked()
}

// Wait returns when all letters of the chat up to sequence upTo are settled, or
// are put off: then Settled is below upTo and NotBefore is set, and another Wait
// is of use only then. It waits for another replica that owns the chat's delivery,
// at most Config.Hold if that one is dead.
//
// It fails with the cause of ctx if that ends first, with [ErrNewerFormat], or if a
// letter can not be delivered by this process; delivery goes on in the first case.
func (d *Delivery) Wait(ctx context.Context, upTo uint64) (Standing, error) {
	d.mu.Lock()
	if d.standing.Settled >= upTo {
		defer d.mu.Unlock()
		return d.standing, nil
	}
	if d.closed {
		defer d.mu.Unlock()
		return d.standing, errClosed
	}
	w := waiter{upTo, make(chan waited, 1)}
	d.waiters = append(d.waiters, w)
	d.goal = max(d.goal, upTo)
	d.beginLocked()
	d.mu.Unlock()
	var err error
	select {
	case is := <-w.tell:
		return is.Standing, is.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.done:
		err = context.Cause(d.soft)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.standing.Settled >= upTo {
		err = nil
	}
	return d.standing, err
}

func (d *Delivery) beginLocked() {
	if !d.begun {
		d.begun = true
		go d.run()
	}
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// Close ends the tenure: it waits for the call in flight and its receipt, marks
// the chain as free, and for the goroutine to end. When ctx ends it still waits
// for the call, at most a third of Config.Hold, and for a moment for its receipt.
//
// An error says that a receipt or the mark may be missing. This process writes
// them with the chat's next tenure; another replica waits, and finds the part in
// doubt. The Standing is zero if nothing was put or waited for.
func (d *Delivery) Close(ctx context.Context) (Standing, error) {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	begun := d.begun
	d.mu.Unlock()
	d.stop(errClosed)
	if begun {
		defer context.AfterFunc(ctx, func() { d.quit(context.Cause(ctx)) })()
		<-d.done
	}
	if first {
		defer d.o.release(d.c)
	}
	defer d.quit(errClosed)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.standing, d.t.left
}

// target is the highest letter to be settled.
func (d *Delivery) target() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.goal
}

// report takes the standing down, and tells those whose letters are settled. With
// the end of a round it tells the others too, unless something new came.
func (d *Delivery) report(s Standing, ended bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.standing, d.growing = s, d.c.last.Growing
	d.put = slices.DeleteFunc(d.put, func(p place) bool { return p.seq <= s.Settled })
	d.waiters = slices.DeleteFunc(d.waiters, func(w waiter) bool {
		over := w.upTo <= s.Settled || ended && (err != nil || !s.NotBefore.IsZero())
		if over {
			w.tell <- waited{s, err}
		}
		return over
	})
}

// fromMemory is the first letter after sequence through, if it was put and surely
// is the first.
func (d *Delivery) fromMemory(through uint64) (place, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.put {
		if p.seq > through {
			return p, p.follows && p.prev <= through
		}
	}
	return place{}, false
}

// remember keeps a letter that was read from the stream, the first after through.
func (d *Delivery) remember(p place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, found := slices.BinarySearchFunc(d.put, p.seq, func(q place, seq uint64) int {
		switch {
		case q.seq < seq:
			return -1
		case q.seq > seq:
			return 1
		}
		return 0
	})
	if found {
		d.put[i] = p
	} else {
		d.put = slices.Insert(d.put, i, p)
	}
}
