package jet_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy stands between clients and a server.
type proxy struct {
	url    string
	server string // address

	mu      sync.Mutex
	held    chan struct{} // closed: answers on the connections so far are swallowed
	clients []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "nats://" + l.Addr().String(), server: strings.TrimPrefix(server, "nats://"), held: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return p
}

// hold swallows, from now on, all that the server sends on the connections there
// are. New connections work.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.held)
	p.held = make(chan struct{})
}

// cut closes the connections there are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.Close()
	}
	p.clients = nil
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	held := p.held
	p.clients = append(p.clients, client)
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-held:
			continue
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
