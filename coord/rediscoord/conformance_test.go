package rediscoord_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/coordtest"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// SPEC: T1 T5 T6 T9 T10 T11 T12 T14 T15 D4 L3 L4 L6 L7. DESIGN N4 N10.
func TestConformance(t *testing.T) {
	t.Parallel()
	coordtest.Run(t, func(t *testing.T) coordtest.Fleet {
		server := redistest.Start(t)
		return fleet(server.URL(), "test", time.Second)
	})
}

// SPEC: T13.
func TestConformanceCluster(t *testing.T) { // not beside other tests: it takes all of the machine
	cluster := redistest.StartCluster(t)
	var n atomic.Int32
	coordtest.Run(t, func(t *testing.T) coordtest.Fleet {
		return fleet(cluster.URL(), fmt.Sprint("test-", n.Add(1)), 3*time.Second)
	})
}

// fleet are replicas that share a prefix.
func fleet(url, prefix string, lease time.Duration) coordtest.Fleet {
	return coordtest.Fleet{
		Lease: lease,
		Join: func(t testing.TB, cfg coord.Config) coord.Coordinator {
			return join(t, rediscoord.Config{
				Client: dialURL(t, url), Prefix: prefix, Replica: cfg.Replica, TurnWait: cfg.TurnWait, Lease: lease,
			})
		},
		Crash:  func(c coord.Coordinator) { c.(*rediscoord.Coordinator).Crash() },
		Forget: func(t testing.TB) { forget(t, dialURL(t, url), prefix+":*") },
		Evict:  func(t testing.TB, key string) { forget(t, dialURL(t, url), prefix+":{"+key+"}:turn") },
	}
}

// forget removes all keys that a pattern matches, on every server.
func forget(t testing.TB, client redis.UniversalClient, pattern string) {
	t.Helper()
	wipe := func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, pattern).Result()
		for _, key := range keys {
			err = errors.Join(err, node.Del(ctx, key).Err())
		}
		return err
	}
	var err error
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(t.Context(), wipe)
	case *redis.Client:
		err = wipe(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
}
