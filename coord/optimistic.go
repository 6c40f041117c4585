package coord

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Reacher says whether a coordinator reaches what it coordinates through. The one
// of package rediscoord implements it.
type Reacher interface {
	// Away reports whether nothing is to be had for a key: every call has failed for a
	// third of a lease, or has since, and not all were answered for as long. It asks
	// nobody.
	Away(key string) bool
	// AwaySince says since when any key is away, and the zero time if none is.
	AwaySince() time.Time
	// Denied says why it is not let in, as it was last told: a wrong password or a
	// missing right, which no waiting mends. Nil if it is. It asks nobody.
	Denied() error
}

// Reachable is a [Coordinator] that knows whether it reaches what it coordinates
// through.
type Reachable interface {
	Coordinator
	Reacher
}

// watchPause is how often a Take that waits looks whether its coordinator is away.
const watchPause = 250 * time.Millisecond

// errAway ends a wait at a coordinator that is away.
var errAway = errors.New("coord: the coordinator is away")

// OptimisticConfig configures an [Optimistic].
type OptimisticConfig struct {
	// Coordinator gives the turns while it is there. It is closed with the Optimistic.
	// Required.
	Coordinator Reachable
	// TurnWait bounds how long Take waits for another turn of this process while the
	// coordinator is away. Default 2m.
	TurnWait time.Duration
	// Logger is told when turns are given without the coordinator, and when no longer.
	// Default: discard.
	Logger *slog.Logger
}

// Optimistic is a [Coordinator] that goes on without another one while that is away.
// It then gives turns by itself, blind ones ([Previous]): one holder of a key at a
// time in this process, in the order of a line, and no word of the other processes,
// which may hold the same key, under the same fence even if they took it in the same
// microsecond. It is for work whose every effect is fenced where it
// lands, by a compare-and-set say, so that of two who do it one loses and throws
// away what it did. It is not for locks or leaders, which it does not give.
//
// A turn that is held when the coordinator goes away ends as it does without this: at the
// end of its lease. A blind turn goes on until it is released, also when the
// coordinator is back; it then says that others wait.
type Optimistic struct {
	inner Reachable
	alone *MemoryCoordinator
	log   *slog.Logger
	blind atomic.Bool // the last turn was
}

var _ Reachable = (*Optimistic)(nil)

// NewOptimistic returns a coordinator that goes on while another is away.
func NewOptimistic(cfg OptimisticConfig) (*Optimistic, error) {
	var errs []error
	if cfg.Coordinator == nil {
		errs = append(errs, errors.New("coord: OptimisticConfig.Coordinator is required"))
	}
	alone, err := NewMemory(nil, Config{TurnWait: cfg.TurnWait})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return &Optimistic{inner: cfg.Coordinator, alone: alone, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}, nil
}

// As returns a coordinator as what else it is, a [Viewer] say; an [Optimistic] is what
// the one is that it goes on without. ok is false if it is no such thing.
func As[T any](c Coordinator) (as T, ok bool) {
	if o, is := c.(*Optimistic); is {
		c = o.inner
	}
	as, ok = c.(T)
	return as, ok
}

// Replica implements [Coordinator].
func (o *Optimistic) Replica() string { return o.inner.Replica() }

// Incarnation implements [Coordinator]. It is that of the coordinator which may be away.
func (o *Optimistic) Incarnation() string { return o.inner.Incarnation() }

// Alive implements [Coordinator]. It fails while the coordinator is away: then nobody
// knows who is dead.
func (o *Optimistic) Alive(ctx context.Context, incarnation string) (bool, error) {
	return o.inner.Alive(ctx, incarnation)
}

// Away implements [Reacher].
func (o *Optimistic) Away(key string) bool { return o.inner.Away(key) }

// AwaySince implements [Reacher].
func (o *Optimistic) AwaySince() time.Time { return o.inner.AwaySince() }

// Denied implements [Reacher].
func (o *Optimistic) Denied() error { return o.inner.Denied() }

// Take implements [Coordinator]. A Take that waits when the coordinator goes away leaves
// its line, which may take as long as a call to it, and gets a blind turn.
func (o *Optimistic) Take(ctx context.Context, r Request) (Turn, error) {
	if waiting := r.Waiting; waiting != nil {
		r.Waiting = sync.OnceFunc(waiting)
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if !o.Away(r.Key) {
		turn, err := o.ask(ctx, r)
		if !errors.Is(err, errAway) {
			if err == nil && o.AwaySince().IsZero() && o.blind.Swap(false) {
				o.log.Info("coordination is back, turns are asked for again", "incarnation", o.Incarnation())
			}
			return turn, err
		}
	}
	// The clock is in the fence as it is in the coordinator's own, so that it goes on
	// above those it gave.
	r.Floor = max(r.Floor, uint64(time.Now().UnixMicro()))
	turn, err := o.alone.Take(ctx, r)
	if err != nil {
		return nil, err
	}
	if !o.blind.Swap(true) {
		o.log.Warn("coordination is away, turns are taken without asking", "incarnation", o.Incarnation())
	}
	return &blindTurn{turn, o}, nil
}

// ask takes a turn of the coordinator, and fails with errAway if that goes away
// meanwhile.
func (o *Optimistic) ask(ctx context.Context, r Request) (Turn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	waiting := r.Waiting
	r.Waiting = func() {
		watch.Go(func() { o.watch(ctx, r.Key, cancel) })
		if waiting != nil {
			waiting()
		}
	}
	return o.inner.Take(ctx, r)
}

// watch ends a wait when the coordinator is away.
func (o *Optimistic) watch(ctx context.Context, key string, cancel context.CancelCauseFunc) {
	look := time.NewTicker(watchPause)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if o.Away(key) {
			cancel(errAway)
			return
		}
	}
}

// Close implements [Coordinator].
func (o *Optimistic) Close(ctx context.Context) error {
	return errors.Join(o.alone.Close(ctx), o.inner.Close(ctx))
}

// blindTurn is a turn that nobody else knows of.
type blindTurn struct {
	Turn
	o *Optimistic
}

func (t *blindTurn) Previous() Previous { return Previous{Blind: true} }

// Waiting counts whoever may ask for the key at the coordinator that is back as one.
func (t *blindTurn) Waiting() Waiting {
	w := t.Turn.Waiting()
	if !t.o.Away(t.Key()) {
		w.Tickets++
	}
	return w
}
