package rediscoord_test

import (
	"net"
	"sync"
	"testing"

	"github.com/botmesh-go/botmesh/internal/redistest"
)

// link is a network between a client and the server that can be cut: bytes stop,
// and arrive when it is mended, if only one end is still there.
type link struct {
	listener net.Listener
	server   string
	pumps    sync.WaitGroup

	mu    sync.Mutex
	gates []chan struct{} // each closed while bytes flow; new connections use the last
	conns []net.Conn
}

func newLink(t testing.TB, s *redistest.Server) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, server: s.Addr()}
	l.newGate()
	l.mend()
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

func (l *link) newGate() { l.gates = append(l.gates, make(chan struct{})) }

// cut stops all connections, those to come too.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gates[len(l.gates)-1] = make(chan struct{})
}

// hold stops the connections that are there; those to come work.
func (l *link) hold() {
	l.cut()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newGate()
	close(l.gates[len(l.gates)-1])
}

// mend lets everything flow again.
func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, gate := range l.gates {
		select {
		case <-gate:
		default:
			close(gate)
		}
	}
}

func (l *link) gate(n int) chan struct{} {
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
		l.pumps.Go(func() { l.pump(near, far, gate) })
		l.pumps.Go(func() { l.pump(far, near, gate) })
	}
}

func (l *link) pump(from, to net.Conn, gate int) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		<-l.gate(gate)
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}
