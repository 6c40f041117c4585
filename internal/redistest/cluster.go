package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// slots is how many slots the keys of a cluster are in.
const slots = 16384

// Cluster is a Redis Cluster of three masters, each with a replica that takes its
// place when it is gone for a second.
type Cluster struct {
	Servers []*Server // the first three begin as masters
}

// StartCluster runs a cluster until the test ends. It returns when all of its
// servers agree that it is whole.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 6 {
		c.Servers = append(c.Servers, c.join(t))
	}
	ctx := t.Context()
	first := c.Servers[0]
	for i, s := range c.Servers {
		client := s.Client(t)
		must(t, client.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		if i < 3 {
			must(t, client.Do(ctx, "cluster", "addslotsrange", i*slots/3, (i+1)*slots/3-1).Err())
		}
		must(t, client.Do(ctx, "cluster", "meet", "127.0.0.1", first.port, first.bus(t)).Err())
	}
	c.wait(t, "cluster_known_nodes:6")
	for i, s := range c.Servers[3:] {
		id := c.Servers[i].Client(t).Do(ctx, "cluster", "myid").Val()
		wait(t, "a replica has a master", func(ctx context.Context) bool {
			return s.Client(t).Do(ctx, "cluster", "replicate", id).Err() == nil
		})
		wait(t, "a replica follows", func(ctx context.Context) bool {
			return infoHas(ctx, s.Client(t), "replication", "master_link_status:up")
		})
	}
	c.wait(t, "cluster_state:ok")
	return c
}

// join starts a server of the cluster.
func (c *Cluster) join(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	buses := map[int]int{} // by port, the same after a restart
	return start(t, func(port int) []string {
		if buses[port] == 0 {
			bus, err := freePort()
			if err != nil {
				t.Error(err)
			}
			buses[port] = bus
		}
		return inMemory(dir, []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(buses[port]),
			"--cluster-config-file", "nodes-" + strconv.Itoa(port) + ".conf", "--cluster-node-timeout", "1000",
			"--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
			"--repl-diskless-sync-delay", "0"})(port)
	})
}

// bus is the port where the servers of a cluster talk to each other.
func (s *Server) bus(t testing.TB) string {
	t.Helper()
	got, err := s.Client(t).ConfigGet(t.Context(), "cluster-port").Result()
	must(t, err)
	return got["cluster-port"]
}

// wait waits until every server says a word about the cluster.
func (c *Cluster) wait(t testing.TB, word string) {
	t.Helper()
	for _, s := range c.Servers {
		client := s.Client(t)
		wait(t, word, func(ctx context.Context) bool {
			info, err := client.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, word)
		})
	}
}

// URL is the address of the cluster as redis+cluster://….
func (c *Cluster) URL() string { return "redis+cluster://" + addrs(c.Servers) }

// MasterOf is the server that has a key now, as those that run see it.
func (c *Cluster) MasterOf(t testing.TB, key string) *Server {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Servers[0].Addr(), c.Servers[1].Addr(), c.Servers[2].Addr()}})
	defer client.Close()
	node, err := client.MasterForKey(t.Context(), key)
	must(t, err)
	return byAddr(c.Servers, node.Options().Addr)
}

// ReplicaOf is the server that takes over from one of the masters that the cluster
// began with.
func (c *Cluster) ReplicaOf(t testing.TB, master *Server) *Server {
	t.Helper()
	i := slices.Index(c.Servers[:3], master)
	if i < 0 {
		t.Fatalf("%s was no master in the beginning", master.Addr())
	}
	return c.Servers[3+i]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
