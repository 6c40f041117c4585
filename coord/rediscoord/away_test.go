package rediscoord_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// Whatever keeps Redis from granting turns, a coordinator that nobody asks anything
// knows that it is away, and that it is back. Until then turns are taken without it,
// with fences between those that it gives.
//
// SPEC: T9 T14.
func TestAway(t *testing.T) {
	t.Parallel()
	for name, be := range map[string]struct {
		away, back func(*testing.T, *redistest.Server)
	}{
		"killed": {
			func(_ *testing.T, s *redistest.Server) { s.Kill() },
			func(t *testing.T, s *redistest.Server) {
				if err := s.Restart(); err != nil {
					t.Fatal(err)
				}
			},
		},
		"frozen": {
			func(_ *testing.T, s *redistest.Server) { s.Stop() },
			func(_ *testing.T, s *redistest.Server) { s.Continue() },
		},
		"read only": {
			func(t *testing.T, s *redistest.Server) { replicaOf(t, s, "127.0.0.1", "1") },
			func(t *testing.T, s *redistest.Server) { replicaOf(t, s, "no", "one") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			c := join(t, rediscoord.Config{Client: dial(t, server), Lease: time.Second})
			o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: c})
			if err != nil {
				t.Fatal(err)
			}
			first := take(t, o, coord.Request{Key: "k"})
			release(t, first)
			be.away(t, server)
			eventually(t, "it is away", func() bool { return !c.AwaySince().IsZero() && c.Away("k") })
			second := take(t, o, coord.Request{Key: "k"})
			if got, want := second.Previous(), (coord.Previous{Blind: true}); got != want {
				t.Errorf("previous holder: got %+v, want %+v", got, want)
			}
			be.back(t, server)
			eventually(t, "it is back", func() bool { return c.AwaySince().IsZero() && !c.Away("k") })
			third := take(t, o, coord.Request{Key: "k"})
			if third.Previous().Blind || first.Fence() >= second.Fence() || second.Fence() >= third.Fence() {
				t.Errorf("got fences %d, %d, %d and then a holder before who was %+v; want them to grow, and the last of Redis",
					first.Fence(), second.Fence(), third.Fence(), third.Previous())
			}
			if err := second.Release(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func replicaOf(t *testing.T, s *redistest.Server, of ...any) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), append([]any{"replicaof"}, of...)...).Err(); err != nil {
		t.Fatal(err)
	}
}
