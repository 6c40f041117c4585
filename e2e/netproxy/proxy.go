package netproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Rules are what a network does. The zero value passes everything on at once.
type Rules struct {
	// Cut resets every connection, those that are made meanwhile too.
	Cut bool
	// HoldRequests and HoldAnswers keep back what comes from the side that
	// connected, and what comes from the target. A connection that is made
	// meanwhile stands, and nothing is heard on it. What was held goes on with the
	// next rules that let it, late.
	HoldRequests bool
	HoldAnswers  bool
	// Lose resets the connections on which anything was held when these rules end:
	// what was held never arrives.
	Lose bool
	// Delay is how much later everything arrives.
	Delay time.Duration
}

func (r Rules) holds(d direction) bool {
	return d == requests && r.HoldRequests || d == answers && r.HoldAnswers
}

// with is the rules with others beside them.
func (r Rules) with(o Rules) Rules {
	return Rules{
		Cut: r.Cut || o.Cut, HoldRequests: r.HoldRequests || o.HoldRequests, HoldAnswers: r.HoldAnswers || o.HoldAnswers,
		Lose: r.Lose || o.Lose, Delay: max(r.Delay, o.Delay),
	}
}

// Stats count what a proxy did since it began.
type Stats struct {
	Connections int // taken
	Cut         int // reset by rules, on arrival or later
	Held        int // pieces held back, of either direction
	Lost        int // connections that were reset for what was held on them
	Delayed     int // pieces that arrived late
}

// Sub are the counts since an earlier reading.
func (s Stats) Sub(before Stats) Stats {
	return Stats{s.Connections - before.Connections, s.Cut - before.Cut, s.Held - before.Held, s.Lost - before.Lost, s.Delayed - before.Delayed}
}

// Touched counts everything that was not passed on as it came.
func (s Stats) Touched() int { return s.Cut + s.Held + s.Delayed }

// Proxy passes the connections to one address on to another. Safe for concurrent
// use.
type Proxy struct {
	addr, target string
	listener     net.Listener
	done         sync.WaitGroup

	mu      sync.Mutex
	rules   Rules         // all that are there, as one
	each    []*Rules      // one by one
	changed chan struct{} // closed and replaced with the rules
	stats   Stats
	links   map[*link]struct{}
	closed  bool
}

// Listen begins to pass connections on to target, from a loopback address that
// [Proxy.Addr] tells. Nobody need listen at target yet. The caller closes it.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netproxy: %w", err)
	}
	p := &Proxy{addr: l.Addr().String(), target: target, listener: l, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.addr }

// Set makes these the rules from now on, in place of all before.
func (p *Proxy) Set(r Rules) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change([]*Rules{&r}, p.rules.Lose)
}

// Add puts rules beside those that are there, until end is called or [Proxy.Set].
func (p *Proxy) Add(r Rules) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := &r
	p.change(append(slices.Clone(p.each), added), false)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if i := slices.Index(p.each, added); i >= 0 {
			p.change(slices.Delete(slices.Clone(p.each), i, i+1), r.Lose)
		}
	}
}

// change puts rules in place of those that were there; lose says that one of those ends
// which loses what it held. It is called with the lock held.
func (p *Proxy) change(each []*Rules, lose bool) {
	p.each, p.rules = each, Rules{}
	for _, r := range each {
		p.rules = p.rules.with(*r)
	}
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.links {
		switch {
		case p.rules.Cut:
			p.stats.Cut++
			l.reset()
		case lose && l.held:
			p.stats.Lost++
			l.reset()
		}
	}
}

// Stats are the counts so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close ends all connections and waits for what the proxy began.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the one who connected is gone again
		}
		p.done.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(conn net.Conn) {
	l := &link{near: conn.(*net.TCPConn), gone: make(chan struct{})}
	if !p.enter(l) {
		l.reset()
		return
	}
	defer p.leave(l)
	far, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil || !l.join(far.(*net.TCPConn)) {
		l.reset()
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(l, requests) })
	pumps.Go(func() { p.pump(l, answers) })
	pumps.Wait()
	l.end()
}

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Connections++
	if p.rules.Cut {
		p.stats.Cut++
	}
	if p.closed || p.rules.Cut {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// pump carries one direction of a link until its end, which it passes on.
func (p *Proxy) pump(l *link, d direction) {
	from, to := l.near, l.far
	if d == answers {
		from, to = l.far, l.near
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && (!p.pass(l, d) || !write(to, buf[:n])) {
			l.reset()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite()
			return
		case err != nil:
			l.reset()
			return
		}
	}
}

func write(to net.Conn, b []byte) bool {
	_, err := to.Write(b)
	return err == nil
}

// pass waits until the rules let a piece of l go on. It is false if l is gone.
func (p *Proxy) pass(l *link, d direction) bool {
	for first := true; ; first = false {
		p.mu.Lock()
		rules, changed := p.rules, p.changed
		hold := rules.holds(d)
		if hold {
			l.held = true
		}
		switch {
		case hold && first:
			p.stats.Held++
		case !hold && rules.Delay > 0:
			p.stats.Delayed++
		}
		p.mu.Unlock()
		if !hold {
			return rules.Delay == 0 || l.wait(rules.Delay)
		}
		select {
		case <-changed:
		case <-l.gone:
			return false
		}
	}
}
