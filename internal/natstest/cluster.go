package natstest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Group is a cluster.
type Group struct{ Nodes []*Node }

// Cluster runs a cluster of n servers until the test ends. It is ready when a
// stream with n replicas can be made.
func Cluster(t testing.TB, n int) *Group {
	t.Helper()
	ports := freePorts(t, 2*n)
	var routes []string
	for _, port := range ports[n:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	g := &Group{}
	for i := range n {
		node := newNode(t, fmt.Sprintf("n%d", i+1), ports[i],
			"--cluster_name", "test", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		node.Start(t)
		g.Nodes = append(g.Nodes, node)
	}
	waitReady(t, g.URL(), n)
	return g
}

// URL is the addresses of all nodes, for clients.
func (g *Group) URL() string {
	var urls []string
	for _, n := range g.Nodes {
		urls = append(urls, n.URL)
	}
	return strings.Join(urls, ",")
}

// Node returns the node of that name.
func (g *Group) Node(t testing.TB, name string) *Node {
	t.Helper()
	for _, n := range g.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no node is called %q", name)
	return nil
}

// waitReady waits until a stream can be made, for half a minute at most.
func waitReady(t testing.TB, url string, replicas int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := tryStream(ctx, js, replicas)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the servers did not become ready: %v", err)
		}
	}
}

// tryStream makes a stream and removes it again. Servers that have no leader yet
// do not answer, so it waits for a short time only.
func tryStream(ctx context.Context, js jetstream.JetStream, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "READY", Replicas: replicas})
	if err != nil {
		return err
	}
	return js.DeleteStream(ctx, "READY")
}
