package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/internal/cooloff"
	"github.com/botmesh-go/botmesh/coord/internal/identity"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// Coordinator hands out turns, leadership and locks through Redis. It implements
// [coord.Coordinator], [coord.Elector], [coord.Locker], [coord.Viewer] and
// [coord.Reacher].
type Coordinator struct {
	cfg         Config
	names       names
	incarnation string
	wires       *wires
	numbers     atomic.Uint64 // of tickets
	cool        cooloff.Names // not to be led again yet

	heart   reach         // of the heartbeat
	ready   chan struct{} // closed at the first heartbeat; on a cluster see partly
	closing context.Context
	stop    context.CancelFunc // ends closing: no new ticket, waits end
	ended   context.Context
	end     context.CancelFunc // ends ended: the loops stop
	busy    sync.WaitGroup     // calls that run and may leave a repair
	loops   sync.WaitGroup     // goroutines that run
	beatNow chan struct{}      // asks for a heartbeat at once
	mend    mender
	push    push

	mu      sync.Mutex
	refused error              // the prefix is not ours to use
	tickets map[string]*ticket // in line, by id
	turns   map[string]*turn   // held and renewed, by ticket id
	hear    func(string)       // takes in calls
	crashed bool               // tests only: gone without a word
}

var (
	_ coord.Reachable = (*Coordinator)(nil)
	_ coord.Elector   = (*Coordinator)(nil)
	_ coord.Locker    = (*Coordinator)(nil)
	_ coord.Viewer    = (*Coordinator)(nil)
	_ coord.Breaker   = (*Coordinator)(nil)
	_ coord.Caller    = (*Coordinator)(nil)
)

// New returns a coordinator, a new incarnation of the replica. It does not wait
// for Redis: takes do, within TurnWait.
func New(cfg Config) (*Coordinator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg:         cfg,
		names:       names{cfg.Prefix},
		incarnation: identity.Incarnation(cfg.Replica),
		wires:       newWires(cfg),
		ready:       make(chan struct{}),
		beatNow:     make(chan struct{}, 1),
		tickets:     map[string]*ticket{},
		turns:       map[string]*turn{},
	}
	c.closing, c.stop = context.WithCancel(context.Background())
	c.ended, c.end = context.WithCancel(context.Background())
	c.heart.after = cfg.Lease / 3
	c.mend.wake = make(chan struct{}, 1)
	c.push.changed = make(chan struct{})
	c.loops.Go(c.keep)
	c.loops.Go(c.watch)
	c.loops.Go(c.repair)
	c.loops.Go(c.listen)
	return c, nil
}

// callTimeout bounds one exchange with Redis: far longer than any takes, and short
// enough for a renewal without an answer to be sent again.
func callTimeout(lease time.Duration) time.Duration {
	return min(lease/6, 2*time.Second)
}

// usable is how long a turn may be used from the moment its renewal was sent: the
// rest of the lease is a margin for clocks that run apart and timers that are late.
func (c *Coordinator) usable() time.Duration { return c.cfg.Lease - c.cfg.Lease/10 }

// Replica implements [coord.Coordinator].
func (c *Coordinator) Replica() string { return c.cfg.Replica }

// Incarnation implements [coord.Coordinator].
func (c *Coordinator) Incarnation() string { return c.incarnation }

// Alive implements [coord.Coordinator]. It fails with botmesh.ErrRefused if Redis
// does not answer.
func (c *Coordinator) Alive(ctx context.Context, incarnation string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.wires.timeout)
	defer cancel()
	n, err := c.cfg.Client.Exists(ctx, c.names.alive(incarnation)).Result()
	if err != nil {
		return false, fmt.Errorf("rediscoord: looking for %s: %w", incarnation, unread(err))
	}
	return n > 0, nil
}

// newTicket returns the id of a ticket, unique to this incarnation.
func (c *Coordinator) newTicket() string {
	return c.incarnation + "/" + strconv.FormatUint(c.numbers.Add(1), 10)
}

// lineCall is a run of a script on a ticket's key.
func (c *Coordinator) lineCall(s *script, key, ticket string, args ...any) *call {
	all := append([]any{ticket, c.names.wake(""), c.cfg.Idle.Milliseconds(), c.keepFor().Milliseconds()}, args...)
	return &call{script: s, key: key, args: all}
}

// keepFor is how long Redis keeps a key whose holder did not release it.
func (c *Coordinator) keepFor() time.Duration { return max(24*time.Hour, c.cfg.Idle) }

// enter counts a call that Close waits for, as it may leave a repair. It fails if
// the coordinator is closed.
func (c *Coordinator) enter(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return closedError(key)
	}
	c.busy.Add(1)
	return nil
}

// Close implements [coord.Coordinator]. Tickets and turns that could not be given
// back in time are reported; they run out with their lease.
func (c *Coordinator) Close(ctx context.Context) error {
	c.mu.Lock()
	c.stop() // under mu: what was let in is counted
	crashed := c.crashed
	c.mu.Unlock()
	if crashed {
		return nil
	}
	var errs []error
	if err := wait(ctx, &c.busy); err != nil {
		errs = append(errs, err)
	}
	if err := c.releaseAll(ctx); err != nil {
		errs = append(errs, err)
	}
	c.end()
	c.push.close()
	if err := wait(ctx, &c.loops); err != nil {
		errs = append(errs, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.wires.timeout)
	defer cancel()
	if err := c.cfg.Client.Del(ctx, c.names.alive(c.incarnation)).Err(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rediscoord: closing: %w", err)
	}
	return nil
}

// releaseAll gives back every turn, and every ticket whose return is still to be
// repaired.
func (c *Coordinator) releaseAll(ctx context.Context) error {
	repairs := c.mend.drain()
	c.mu.Lock()
	for _, t := range c.turns {
		if t.lease.End(botmesh.LossReleased) {
			repairs = append(repairs, t.givenUp(0))
		}
	}
	clear(c.turns)
	c.mu.Unlock()
	calls := make([]*call, len(repairs))
	for i, r := range repairs {
		calls[i] = c.repairCall(r)
		c.wires.start(calls[i])
	}
	var errs []error
	for _, call := range calls {
		if _, err := call.wait(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func wait(ctx context.Context, group *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hold registers a turn for renewal, in place of its ticket.
func (c *Coordinator) hold(t *ticket, g grant, from lease.Instant) *turn {
	turn := &turn{
		coordinator: c, id: t.id, at: t.at, key: t.key, place: t.place,
		fence: g.fence, previous: g.previous, waiting: g.waiting,
		lease: lease.Begin(t.key, c.usable(), from),
	}
	turn.doubt.Store(t.doubt)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tickets, t.id)
	c.turns[t.id] = turn
	return turn
}

// drop forgets a turn: it is renewed no more. It reports whether it was known.
func (c *Coordinator) drop(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.turns[id]
	delete(c.turns, id)
	return ok
}

// refusal says why the prefix can not be used, or nil.
func (c *Coordinator) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}
