package rediscoord_test

import (
	"net"
	"sync"
	"testing"

	"github.com/botmesh-go/botmesh/internal/redistest"
)

// link is a network between a client and the server that can be cut: bytes stop,
// and arrive when it is mended, though nobody may wait for them any more.
type link struct {
	listener net.Listener
	server   string
	pumps    sync.WaitGroup

	mu    sync.Mutex
	gates []gate // new connections use the last
	conns []net.Conn
}

// gate is what the bytes of some connections go through; each channel is closed
// while they flow.
type gate struct{ questions, answers chan struct{} }

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func newLink(t testing.TB, s *redistest.Server) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, server: s.Addr(), gates: []gate{{closed(), closed()}}}
	l.pumps.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		l.mend()
		l.mu.Lock()
		for _, c := range l.conns {
			c.Close()
		}
		l.mu.Unlock()
		l.pumps.Wait()
	})
	return l
}

func (l *link) url() string { return "redis://" + l.listener.Addr().String() + "/0" }

// cut stops all connections, those to come too.
func (l *link) cut() { l.shut(gate{make(chan struct{}), make(chan struct{})}) }

// hold stops the connections that are there; those to come work.
func (l *link) hold() {
	l.cut()
	l.open()
}

// mute stops the answers on the connections that are there; those to come work.
func (l *link) mute() {
	l.shut(gate{closed(), make(chan struct{})})
	l.open()
}

func (l *link) shut(g gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gates[len(l.gates)-1] = g
}

func (l *link) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gates = append(l.gates, gate{closed(), closed()})
}

// mend lets everything flow again.
func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.gates {
		for _, c := range []chan struct{}{g.questions, g.answers} {
			select {
			case <-c:
			default:
				close(c)
			}
		}
	}
}

func (l *link) gate(n int) gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gates[n]
}

func (l *link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.server)
		if err != nil {
			near.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		gate := len(l.gates) - 1
		l.mu.Unlock()
		l.pumps.Go(func() { pump(near, far, func() chan struct{} { return l.gate(gate).questions }) })
		l.pumps.Go(func() { pump(far, near, func() chan struct{} { return l.gate(gate).answers }) })
	}
}

func pump(from, to net.Conn, gate func() chan struct{}) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		<-gate()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}
