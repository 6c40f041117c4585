package coordtest_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/coordtest"
)

// A coordinator of one's own passes the suite, or says where it differs. This is
// the body of a test.
func ExampleRun() {
	_ = func(t *testing.T) {
		coordtest.Run(t, func(t *testing.T) coordtest.Fleet {
			const lease = time.Second
			hub := &coord.MemoryHub{} // what the replicas of one test share
			return coordtest.Fleet{
				Lease: lease,
				Join: func(t testing.TB, cfg coord.Config) coord.Coordinator {
					cfg.Lease = lease
					c, err := coord.NewMemory(hub, cfg)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close(t.Context()) })
					return c
				},
				Crash:  func(c coord.Coordinator) { c.(*coord.MemoryCoordinator).Crash() },
				Forget: func(testing.TB) { hub.Forget() },
				Evict:  func(_ testing.TB, key string) { hub.Forget(key) },
			}
		})
	}
}
