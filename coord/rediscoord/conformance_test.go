package rediscoord_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/coordtest"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// SPEC: T1 T5 T6 T9 T10 T11 T12 T14 T15 D4. DESIGN N4 N10.
func TestConformance(t *testing.T) {
	t.Parallel()
	coordtest.Run(t, func(t *testing.T) coordtest.Fleet {
		const lease = time.Second
		server := redistest.Start(t)
		look := server.Client(t)
		return coordtest.Fleet{
			Lease: lease,
			Join: func(t testing.TB, cfg coord.Config) coord.Coordinator {
				return join(t, rediscoord.Config{
					Client: dial(t, server), Prefix: "test", Replica: cfg.Replica, TurnWait: cfg.TurnWait, Lease: lease,
				})
			},
			Crash: func(c coord.Coordinator) { c.(*rediscoord.Coordinator).Crash() },
			Forget: func(t testing.TB) {
				if err := look.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			},
			Evict: func(t testing.TB, key string) {
				if err := look.Del(t.Context(), "test:{"+key+"}:turn").Err(); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
