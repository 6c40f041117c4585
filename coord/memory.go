package coord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord/internal/cooloff"
	"github.com/botmesh-go/botmesh/coord/internal/identity"
)

// Config configures a [MemoryCoordinator]. The zero value is usable.
type Config struct {
	// Replica is the replica's id, unique among running replicas: 1 to 253
	// letters, digits and "._:-". Default: a random UUID.
	Replica string
	// Lease is how long a turn, a ticket and the heartbeat outlive the replica.
	// Default 15s.
	Lease time.Duration
	// TurnWait bounds how long Take waits. Default 2m.
	TurnWait time.Duration
}

// MemoryCoordinator is the in-process reference of [Coordinator], [Elector],
// [Locker], [Viewer] and [Breaker]. The coordinators of one [MemoryHub] coordinate like
// replicas that share Redis.
//
// Leases of a live coordinator never run out: it shares its hub's process, and
// the two stand still together. It runs inside testing/synctest.
type MemoryCoordinator struct {
	hub         *MemoryHub
	replica     string
	incarnation string
	lease       time.Duration
	turnWait    time.Duration
	done        chan struct{} // closed by Close and Crash
	takes       sync.WaitGroup
	numbers     atomic.Uint64 // of locks
	cool        cooloff.Names // not to be led again yet

	// guarded by hub.mu
	gone    bool            // closed or crashed
	tickets []*memoryTicket // in the order in which they came
	hear    func(string)    // takes in calls
	watch   *time.Timer     // looks every third of a lease whether the tickets are still known
}

var (
	_ Coordinator = (*MemoryCoordinator)(nil)
	_ Elector     = (*MemoryCoordinator)(nil)
	_ Locker      = (*MemoryCoordinator)(nil)
	_ Viewer      = (*MemoryCoordinator)(nil)
	_ Breaker     = (*MemoryCoordinator)(nil)
	_ Caller      = (*MemoryCoordinator)(nil)
)

// NewMemory returns a coordinator on a hub; nil is a hub of its own.
func NewMemory(hub *MemoryHub, cfg Config) (*MemoryCoordinator, error) {
	replica, err := identity.Replica(cfg.Replica)
	if err != nil {
		err = fmt.Errorf("coord: %w", err)
	}
	if cfg.Lease < 0 {
		err = errors.Join(err, fmt.Errorf("coord: Lease %s: want more than 0", cfg.Lease))
	}
	if cfg.TurnWait < 0 {
		err = errors.Join(err, fmt.Errorf("coord: TurnWait %s: want more than 0", cfg.TurnWait))
	}
	if err != nil {
		return nil, err
	}
	if hub == nil {
		hub = &MemoryHub{}
	}
	c := &MemoryCoordinator{
		hub:         hub,
		replica:     replica,
		incarnation: identity.Incarnation(replica),
		lease:       cmp.Or(cfg.Lease, 15*time.Second),
		turnWait:    cmp.Or(cfg.TurnWait, 2*time.Minute),
		done:        make(chan struct{}),
	}
	hub.mu.Lock()
	hub.init()
	hub.alive[c.incarnation] = c
	hub.mu.Unlock()
	return c, nil
}

// Replica implements [Coordinator].
func (c *MemoryCoordinator) Replica() string { return c.replica }

// Incarnation implements [Coordinator].
func (c *MemoryCoordinator) Incarnation() string { return c.incarnation }

// Alive implements [Coordinator].
func (c *MemoryCoordinator) Alive(_ context.Context, incarnation string) (bool, error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	_, ok := c.hub.alive[incarnation]
	return ok, nil
}

// Call implements [Caller].
func (c *MemoryCoordinator) Call(_ context.Context, incarnation, message string) error {
	if err := CheckCall(message); err != nil {
		return err
	}
	c.hub.mu.Lock()
	var hear func(string)
	if to := c.hub.alive[incarnation]; to != nil {
		hear = to.hear
	}
	c.hub.mu.Unlock()
	if hear != nil {
		hear(message)
	}
	return nil
}

// Heed implements [Caller].
func (c *MemoryCoordinator) Heed(hear func(message string)) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hear = hear
}

// Take implements [Coordinator].
func (c *MemoryCoordinator) Take(ctx context.Context, r Request) (Turn, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	turn, err := c.stand(ctx, memorySlot{KindTurn, r.Key}, r, c.turnWait)
	if err != nil {
		return nil, err
	}
	return turn, nil
}

// stand puts a ticket in line and waits for its turn, for as long as wait unless
// that is zero.
func (c *MemoryCoordinator) stand(ctx context.Context, at memorySlot, r Request, wait time.Duration) (*memoryTurn, error) {
	t, err := c.queue(at, r)
	if err != nil {
		return nil, err
	}
	defer c.takes.Done()
	select {
	case <-t.settled:
		return t.turn, t.err
	default:
	}
	if r.Waiting != nil {
		r.Waiting()
	}
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.settled:
		return t.turn, t.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late:
		err = unavailable(r.Key, "no turn within "+wait.String())
	case <-c.done:
		err = unavailable(r.Key, "the coordinator is closed")
	}
	c.withdraw(t)
	return nil, err
}

// queue puts a ticket in line, and counts the Take it is for.
func (c *MemoryCoordinator) queue(at memorySlot, r Request) (*memoryTicket, error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.gone {
		return nil, unavailable(r.Key, "the coordinator is closed")
	}
	c.takes.Add(1)
	return c.join(at, r), nil
}

// join puts a ticket in line.
func (c *MemoryCoordinator) join(at memorySlot, r Request) *memoryTicket {
	t := &memoryTicket{owner: c, at: at, place: r.Place, floor: r.Floor, settled: make(chan struct{})}
	c.tickets = append(c.tickets, t)
	if c.watch == nil {
		c.watch = time.AfterFunc(c.lease/3, c.look)
	}
	c.hub.join(t)
	return t
}

// withdraw takes back a ticket that nobody waits for any more. If its turn came
// in the same moment, the turn is released unused.
func (c *MemoryCoordinator) withdraw(t *memoryTicket) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.gone && c.hub.crashed(c) {
		return // a dead process withdraws nothing
	}
	c.drop(t)
	c.hub.leave(t, 0, false)
}

// drop forgets a ticket. Whoever goes through the tickets meanwhile is not disturbed.
func (c *MemoryCoordinator) drop(t *memoryTicket) {
	c.tickets = slices.DeleteFunc(slices.Clone(c.tickets), func(o *memoryTicket) bool { return o == t })
}

// look does what a renewal does: it finds out which tickets and turns the hub no
// longer knows. Tickets go back in line. A turn goes on if nobody had the key
// since, else it is lost.
func (c *MemoryCoordinator) look() {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.gone {
		return
	}
	for _, t := range c.tickets {
		if t.turn != nil {
			t.check()
		} else if known, _ := c.hub.find(t); !known {
			c.hub.join(t)
		}
	}
	c.watch = nil
	if len(c.tickets) > 0 {
		c.watch = time.AfterFunc(c.lease/3, c.look)
	}
}

// Crash simulates the death of the replica: nothing is released, its heartbeat,
// tickets and leases run out after Lease, its turns' contexts end with
// LossUnavailable, and every later call fails.
func (c *MemoryCoordinator) Crash() {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.stop() {
		c.hub.bury(c)
		for _, t := range c.tickets {
			t.lose(botmesh.LossUnavailable)
		}
	}
}

// Close implements [Coordinator].
func (c *MemoryCoordinator) Close(ctx context.Context) error {
	c.hub.mu.Lock()
	if c.stop() {
		for _, t := range c.tickets {
			if t.turn == nil { // first, so that no turn goes to a ticket of our own
				c.hub.leave(t, 0, false)
			}
		}
		for _, t := range c.tickets {
			t.lose(botmesh.LossReleased)
			c.hub.leave(t, 0, true)
		}
		delete(c.hub.alive, c.incarnation)
	}
	c.hub.mu.Unlock()

	idle := make(chan struct{})
	go func() { c.takes.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("coord: closing: %w", context.Cause(ctx))
	}
}

// stop reports whether this call is the one that ends the coordinator.
func (c *MemoryCoordinator) stop() bool {
	if c.gone {
		return false
	}
	c.gone = true
	close(c.done)
	if c.watch != nil {
		c.watch.Stop()
	}
	return true
}

// unavailable is the error of a wait that was in vain.
func unavailable(key, why string) error {
	return fmt.Errorf("coord: taking %s: %s: %w", key, why, botmesh.ErrCoordinationUnavailable)
}
