package coord_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/coordtest"
)

// SPEC: T16.
func TestMemory(t *testing.T) {
	t.Parallel()
	coordtest.Run(t, func(t *testing.T) coordtest.Fleet {
		const lease = 600 * time.Millisecond
		hub := &coord.MemoryHub{MaxIdleKeys: 100}
		return coordtest.Fleet{
			Lease: lease,
			Join: func(t testing.TB, cfg coord.Config) coord.Coordinator {
				cfg.Lease = lease
				c := newMemory(t, hub, cfg)
				t.Cleanup(func() { c.Close(t.Context()) })
				return c
			},
			Crash:  func(c coord.Coordinator) { c.(*coord.MemoryCoordinator).Crash() },
			Forget: func(testing.TB) { hub.Forget() },
			Evict: func(t testing.TB, _ string) {
				c := newMemory(t, hub, coord.Config{})
				for i := range hub.MaxIdleKeys {
					turn, err := c.Take(t.Context(), coord.Request{Key: "filler-" + strconv.Itoa(i)})
					if err != nil {
						t.Fatal(err)
					}
					turn.Release(t.Context(), 0)
				}
			},
		}
	})
}
