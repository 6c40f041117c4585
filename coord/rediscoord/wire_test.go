package rediscoord

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// deaf is a connection that hears no answer to a script, but the end of the
// connection.
type deaf struct {
	net.Conn
	asked *atomic.Bool
}

func (d deaf) Write(p []byte) (int, error) {
	n, err := d.Conn.Write(p)
	if bytes.Contains(p, []byte("evalsha")) {
		d.asked.Store(true)
	}
	return n, err
}

func (d deaf) Read(p []byte) (int, error) {
	if d.asked.Load() {
		return 0, io.EOF
	}
	n, err := d.Conn.Read(p)
	if d.asked.Load() { // it had begun before
		return 0, io.EOF
	}
	return n, err
}

// A script whose answer is lost is not run again by the client, whatever client it
// is: what became of it is unknown, and the caller's to settle.
func TestCallOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	script := newScript("return {redis.call('INCR', KEYS[1])}")
	if err := look.ScriptLoad(t.Context(), script.source).Err(); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := net.Dial(network, addr)
		return deaf{conn, new(atomic.Bool)}, err
	}
	for name, client := range map[string]redis.UniversalClient{
		"single": redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: dial}),
		"cluster": redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{server.Addr()}, Dialer: dial,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: server.Addr()}}}}, nil
			},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			defer client.Close()
			for _, calls := range []int{1, 3} { // alone, and in a pipeline
				c := newWires(Config{Client: client, Lease: time.Minute})
				batch := make([]*call, calls)
				for i := range batch {
					batch[i] = &call{script: script, key: name, done: make(chan struct{})}
				}
				look.Del(t.Context(), name)
				c.of(name).send(batch)
				for _, call := range batch {
					if _, err := call.wait(t.Context()); !errors.Is(err, botmesh.ErrUnknown) {
						t.Errorf("got %v, want ErrUnknown", err)
					}
				}
				if got := look.Get(t.Context(), name).Val(); got != string(rune('0'+calls)) {
					t.Errorf("%d scripts ran %s times", calls, got)
				}
			}
		})
	}
}
