package netproxy

import (
	"net"
	"sync"
	"time"
)

type direction int

const (
	requests direction = iota // from the side that connected
	answers
)

// link is one connection and its continuation.
type link struct {
	near *net.TCPConn
	held bool // something was kept back; guarded by the proxy

	mu    sync.Mutex
	far   *net.TCPConn // nil until joined
	ended bool
	gone  chan struct{} // closed by reset
}

// join gives the link its continuation. It is false if the link is gone.
func (l *link) join(far *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		abort(far)
		return false
	}
	l.far = far
	return true
}

// reset ends both sides at once, whatever is still on its way.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	close(l.gone)
	abort(l.near)
	if l.far != nil {
		abort(l.far)
	}
}

// abort lets the other side see a reset, and lose what it has not read yet.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// end closes both sides after all that was said.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	close(l.gone)
	_ = l.near.Close()
	_ = l.far.Close()
}

// wait is false if the link is gone before d is over.
func (l *link) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.gone:
		return false
	}
}
