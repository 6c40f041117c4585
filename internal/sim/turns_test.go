package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// turns is a process's coordinator: the one in memory, behind a line that loses
// calls, and a mouth that lies. Nothing may rest on what it says.
type turns struct{ p *process }

var _ coord.Coordinator = turns{}

func (c turns) Replica() string     { return c.p.inner.Replica() }
func (c turns) Incarnation() string { return c.p.inner.Incarnation() }

// Take implements [coord.Coordinator].
func (c turns) Take(ctx context.Context, r coord.Request) (coord.Turn, error) {
	p, s := c.p, c.p.s
	if _, err := ask(ctx, p, taking, "take "+r.Key, func() (any, error) { return nil, nil }); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("sim: %w", botmesh.ErrCoordinationUnavailable)
	}
	inner, err := p.inner.Take(ctx, r)
	if err != nil {
		if _, asked := ask(context.WithoutCancel(ctx), p, plain, "refused "+r.Key, func() (any, error) { return nil, nil }); asked != nil {
			return nil, asked
		}
		return nil, err
	}
	t := &turn{Turn: inner, p: p}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	s.mu.Lock()
	p.turns[r.Key] = t
	s.mu.Unlock()
	return ask(context.WithoutCancel(ctx), p, plain, "granted "+r.Key, func() (coord.Turn, error) {
		s.granted(t, r)
		t.stop = context.AfterFunc(inner.Context(), t.ended)
		return t, nil
	})
}

// granted decides what a turn says of itself.
func (s *sim) granted(t *turn, r coord.Request) {
	key := r.Key
	s.fences[key] = max(s.fences[key], r.Floor) + 1
	t.fence, t.before = s.fences[key], t.Turn.Previous()
	if by, ok := s.evicts[key]; ok {
		t.before = coord.Previous{Incarnation: by}
		delete(s.evicts, key)
	}
	if s.chance(s.weather.liar) {
		s.stats["liar"]++
		switch s.rng.IntN(3) {
		case 0:
			t.before = coord.Previous{}
		case 1:
			t.before = coord.Previous{Incarnation: t.p.inner.Incarnation(), Released: true, Passed: t.before.Passed}
		case 2: // a second grant of what this turn holds
			s.hub.Forget(key)
		}
	}
	if t.before.Incarnation != "" && !t.before.Released && t.before.Incarnation != t.p.inner.Incarnation() {
		s.stats["take-over"]++
	}
	s.note("fence %d, before %+v", t.fence, t.before)
}

// Alive implements [coord.Coordinator]. A heartbeat ends with a lease of silence.
func (c turns) Alive(ctx context.Context, incarnation string) (bool, error) {
	return ask(ctx, c.p, plain, "alive", func() (bool, error) {
		for _, p := range c.p.s.all {
			if p.inner.Incarnation() == incarnation && p.frozen(time.Now()) && time.Since(p.froze) > lease {
				return false, nil
			}
		}
		return c.p.inner.Alive(ctx, incarnation)
	})
}

// Close implements [coord.Coordinator].
func (c turns) Close(ctx context.Context) error { return c.p.inner.Close(ctx) }

// turn is one that a process learns the loss of only when it is told.
type turn struct {
	coord.Turn
	p      *process
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // no longer watches the turn
	fence  uint64
	before coord.Previous
	// expired says that the lease ran out.
	expired bool
}

func (t *turn) Context() context.Context { return t.ctx }
func (t *turn) Fence() uint64            { return t.fence }
func (t *turn) Previous() coord.Previous { return t.before }

// ended tells the process that the turn is over, when the scheduler lets it know.
func (t *turn) ended() {
	_, _ = ask(context.Background(), t.p, plain, "lost "+t.Key(), func() (any, error) {
		t.p.drop(t.Key(), t)
		return nil, nil
	})
	if t.expired {
		t.cancel(&botmesh.LeaseLostError{Key: t.Key(), Reason: botmesh.LossExpired})
		return
	}
	t.cancel(context.Cause(t.Turn.Context()))
}

// expire gives a turn to whoever is next. Its process does not know yet.
func (t *turn) expire() {
	t.expired = true
	t.p.drop(t.Key(), t)
	t.p.s.evicts[t.Key()] = t.p.inner.Incarnation()
	_ = t.Turn.Release(context.Background(), 0) // it may be lost already
}

func (p *process) drop(key string, t *turn) {
	if p.turns[key] == t {
		delete(p.turns, key)
	}
}

// Release implements [coord.Turn]. One that is lost on the way is made good in the
// background, within a lease.
func (t *turn) Release(ctx context.Context, passed uint64) error {
	s, key := t.p.s, t.Key()
	_, err := ask(ctx, t.p, plain, "release "+key, func() (any, error) {
		t.p.drop(key, t)
		t.stop()
		if !s.chance(s.weather.release) {
			return nil, t.Turn.Release(ctx, passed)
		}
		s.stats["release lost"]++
		s.note("lost")
		s.send(t.p, "release again "+key, time.Now().Add(s.upTo(lease)), func() {
			_ = t.Turn.Release(context.Background(), passed)
		})
		return nil, fmt.Errorf("sim: %w", botmesh.ErrUnknown)
	})
	t.cancel(&botmesh.LeaseLostError{Key: key, Reason: botmesh.LossReleased})
	return err
}
