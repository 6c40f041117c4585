package rediscoord_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
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

// A client that Redis does not let in any more is told so, and as soon as it is let in
// that is over.
//
// SPEC: T14 W3.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]struct {
		out, in []any
		want    string
	}{
		"password": {[]any{"acl", "setuser", "me", "resetpass", ">other"}, []any{"acl", "setuser", "me", ">right"}, "WRONGPASS"},
		"right":    {[]any{"acl", "setuser", "me", "-evalsha"}, []any{"acl", "setuser", "me", "+evalsha"}, "NOPERM"},
		"channel":  {[]any{"acl", "setuser", "me", "resetchannels"}, []any{"acl", "setuser", "me", "&*"}, "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			look := server.Client(t)
			tell := func(args ...any) {
				if err := look.Do(t.Context(), args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			tell("acl", "setuser", "me", "on", ">right", "~*", "&*", "+@all")
			c := join(t, rediscoord.Config{Client: dialURL(t, strings.Replace(server.URL(), "redis://", "redis://me:right@", 1)), Lease: lease})
			release(t, take(t, c, coord.Request{Key: "k"}))
			if err := c.Denied(); err != nil {
				t.Fatal(err)
			}
			tell(lock.out...)
			tell("client", "kill", "user", "me")
			ctx, stop := context.WithCancel(t.Context())
			asks := make(chan struct{})
			go func() { // somebody wants a turn now and then
				defer close(asks)
				for ctx.Err() == nil {
					if turn, err := c.Take(ctx, coord.Request{Key: "k"}); err == nil {
						turn.Release(ctx, 0)
					}
				}
			}()
			eventually(t, "it says that it is denied", func() bool { err := c.Denied(); return err != nil && strings.Contains(err.Error(), lock.want) })
			tell(lock.in...)
			eventually(t, "it is let in", func() bool { return c.Denied() == nil })
			stop()
			<-asks
		})
	}
}

func replicaOf(t *testing.T, s *redistest.Server, of ...any) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), append([]any{"replicaof"}, of...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// Who only looks is not told of writing.
func TestALookWithoutAnAnswerSpeaksOfNoWriting(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := join(t, rediscoord.Config{Client: dial(t, server), Lease: time.Second})
	server.Kill()
	_, inspect := c.Inspect(t.Context(), coord.KindTurn, "k")
	_, alive := c.Alive(t.Context(), c.Incarnation())
	var list error
	for _, list = range c.List(t.Context(), coord.KindTurn) {
		break
	}
	for name, err := range map[string]error{"Inspect": inspect, "Alive": alive, "List": list} {
		if !errors.Is(err, botmesh.ErrRefused) || !strings.Contains(err.Error(), "not answered: dial tcp") || strings.Contains(err.Error(), "written") {
			t.Errorf("%s: got %v, want that it was not answered", name, err)
		}
	}
}
