package rediscoord

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/internal/lease"
)

// push is the state of the subscription that wakes this incarnation's waiters.
type push struct {
	mu      sync.Mutex
	up      bool
	changed chan struct{} // closed when up changes
	sub     *redis.PubSub
	heard   lease.Instant
	closed  bool
}

// live reports whether a waiter will be woken.
func (p *push) live() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// watch returns a channel that is closed when live changes.
func (p *push) watch() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *push) set(up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up != up {
		p.up = up
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// use makes sub the subscription that close ends. It reports false after close.
func (p *push) use(sub *redis.PubSub) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sub, p.heard = sub, lease.Now()
	return !p.closed
}

func (p *push) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = lease.Now()
}

func (p *push) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard.Elapsed()
}

// close ends the subscription, and with it a receive that waits for a message.
func (p *push) close() {
	p.mu.Lock()
	p.closed = true
	sub := p.sub
	p.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
}

// listen keeps a subscription to this incarnation's channel.
func (c *Coordinator) listen() {
	pause := minPoll
	for c.ended.Err() == nil {
		sub := c.cfg.Client.Subscribe(c.ended, c.names.wake(c.incarnation))
		if c.push.use(sub) {
			if c.receive(sub) {
				pause = minPoll
			}
			c.push.set(false)
		}
		sub.Close()
		select {
		case <-time.After(pause):
		case <-c.ended.Done():
		}
		pause = min(2*pause, c.cfg.Lease/12)
	}
}

// receive hands out messages until the connection is lost. It reports whether
// there was one.
func (c *Coordinator) receive(sub *redis.PubSub) bool {
	ctx, cancel := context.WithCancel(c.ended)
	var watch sync.WaitGroup
	watch.Go(func() { c.suspect(ctx, sub) })
	defer watch.Wait()
	defer cancel()
	connected := false
	for {
		got, err := sub.Receive(ctx)
		if err != nil {
			return connected
		}
		switch got := got.(type) {
		case *redis.Subscription:
			connected = true
			c.push.hear()
			c.push.set(true)
			select { // Redis may be another one, or empty
			case c.beatNow <- struct{}{}:
			default:
			}
		case *redis.Message:
			c.push.hear()
			c.deliver(got.Payload)
		}
	}
}

// suspect ends a subscription that does not hear what this replica says itself with
// each heartbeat: its connection is dead without a word, or leads to a server
// that was the master once.
func (c *Coordinator) suspect(ctx context.Context, sub *redis.PubSub) {
	tick := time.NewTicker(c.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.push.silence() > c.cfg.Lease*2/3 {
			sub.Close()
			return
		}
	}
}

// deliver hands a message to the ticket it is for:
//
//	<ticket> granted <fence> <clean> <passed> <tickets> <highest> <before> <key>
//	<ticket> passed <passed> <key>
//
//	- called <message>
//
// A turn that nobody waits for any more is given back. An echo says nothing but
// that pushes arrive.
func (c *Coordinator) deliver(message string) {
	id, rest, _ := strings.Cut(message, " ")
	kind, rest, _ := strings.Cut(rest, " ")
	c.mu.Lock()
	t, held, hear := c.tickets[id], c.turns[id] != nil, c.hear
	c.mu.Unlock()
	switch kind {
	case "called":
		if hear != nil {
			hear(rest)
		}
	case "granted":
		f := strings.SplitN(rest, " ", 7)
		switch {
		case len(f) < 7 || held:
		case t == nil:
			c.mend.add(repair{key: f[6], ticket: id}, 0)
		default:
			t.hear(answer{granted: true, grant: parseGrant(t, f)})
		}
	case "passed":
		if passed, _, ok := strings.Cut(rest, " "); ok && t != nil {
			t.hear(answer{passed: &coord.PassedError{Key: t.key, Passed: number(passed)}})
		}
	}
}

func parseGrant(t *ticket, f []string) grant {
	g := grant{
		fence:    number(f[0]),
		previous: coord.Previous{Released: f[1] == "1", Passed: number(f[2])},
		waiting:  coord.Waiting{Tickets: int(number(f[3])), Highest: max(t.place, number(f[4]))},
	}
	if f[5] != "-" {
		g.previous.Incarnation = f[5]
	}
	return g
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}
