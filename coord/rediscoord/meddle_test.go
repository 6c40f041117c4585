package rediscoord_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// meddler stands between a client and Redis: it sees each lone command before it is
// sent, and may answer it in Redis' place by reporting true.
type meddler func(ctx context.Context, cmd redis.Cmder) bool

func (m meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if m(ctx, cmd) {
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (meddler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// meddled is a client of the server that a meddler stands before.
func meddled(t testing.TB, s *redistest.Server, m meddler) redis.UniversalClient {
	t.Helper()
	client := dial(t, s)
	client.AddHook(m)
	return client
}

// scriptOn reports whether a command runs a script on a key of a kind, with as many
// arguments of its own.
func scriptOn(cmd redis.Cmder, kind string, args int) bool {
	all := cmd.Args()
	if all[0] != "evalsha" || len(all) != 4+args {
		return false
	}
	return strings.HasSuffix(all[3].(string), ":"+kind)
}

// A release that is on its way when the coordinator is closed, and then fails, is made
// again before Close returns.
//
// SPEC: T8 L7.
func TestCloseRepeatsReleases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	other := join(t, rediscoord.Config{Client: dial(t, server), Lease: time.Minute})
	for kind, test := range map[string]struct {
		args int // of the script that releases
		held func(*testing.T, *rediscoord.Coordinator) (release func() error)
		free func() error
	}{
		"lock": {4, func(t *testing.T, c *rediscoord.Coordinator) func() error {
			lock, err := c.AcquireLockFenced(t.Context(), "k", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return func() error { return c.ReleaseLock(t.Context(), "k", lock.Token) }
		}, func() error {
			_, err := other.AcquireLockFenced(t.Context(), "k", time.Hour)
			return err
		}},
		"turn": {7, func(t *testing.T, c *rediscoord.Coordinator) func() error {
			turn := take(t, c, coord.Request{Key: "k"})
			return func() error { return turn.Release(t.Context(), 0) }
		}, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a lease is longer
			defer cancel()
			_, err := other.Take(ctx, coord.Request{Key: "k"})
			return err
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onItsWay, lose := make(chan struct{}), make(chan struct{})
			var once sync.Once
			c := join(t, rediscoord.Config{Lease: time.Minute, Client: meddled(t, server, func(_ context.Context, cmd redis.Cmder) (lost bool) {
				if scriptOn(cmd, kind, test.args) && (kind == "turn" || cmd.Args()[5] == "release") {
					once.Do(func() {
						close(onItsWay)
						<-lose
						cmd.SetErr(io.EOF)
						lost = true
					})
				}
				return lost
			})})
			release := test.held(t, c)
			released, shut := make(chan error, 1), make(chan error, 1)
			go func() { released <- release() }()
			<-onItsWay
			go func() { shut <- c.Close(context.WithoutCancel(t.Context())) }()
			eventually(t, "it closes", c.Closes)
			close(lose)
			if err := <-released; !errors.Is(err, botmesh.ErrUnknown) {
				t.Errorf("got %v of a release without an answer, want ErrUnknown", err)
			}
			if err := <-shut; err != nil {
				t.Error(err)
			}
			if err := test.free(); err != nil {
				t.Errorf("it is not free: %v", err)
			}
		})
	}
}

// A script that answers what it never should is asked again in good time, not as fast
// as can be.
func TestOddAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	asked := make(chan time.Time, 100)
	c := join(t, rediscoord.Config{Client: meddled(t, server, func(_ context.Context, cmd redis.Cmder) bool {
		if !scriptOn(cmd, "turn", 8) || !strings.Contains(cmd.Args()[3].(string), "odd") {
			return false
		}
		select {
		case asked <- time.Now():
		default:
		}
		cmd.(interface{ SetVal(any) }).SetVal([]any{int64(9)})
		return true
	}), Lease: time.Minute})
	release(t, take(t, c, coord.Request{Key: "warm"}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Take(ctx, coord.Request{Key: "odd"})
		done <- err
	}()
	first := <-asked
	var last time.Time
	for range 10 {
		last = <-asked
	}
	if got, want := last.Sub(first), 300*time.Millisecond; got < want {
		t.Errorf("asked ten times more within %s, want pauses that grow: %s at least", got, want)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}

// Whoever knocks at a server that hangs holds up no heartbeat.
//
// SPEC: T6.
func TestKnockHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var hang sync.WaitGroup
	hang.Add(1)
	knocked := make(chan struct{})
	var once sync.Once
	c := join(t, rediscoord.Config{Client: meddled(t, server, func(_ context.Context, cmd redis.Cmder) bool {
		switch {
		case scriptOn(cmd, "door", 4):
			once.Do(func() { close(knocked) })
			hang.Wait()
		case scriptOn(cmd, "turn", 8) && strings.Contains(cmd.Args()[3].(string), "fails"):
			cmd.SetErr(&net.OpError{Op: "dial", Err: io.EOF})
			return true
		}
		return false
	}), Lease: lease})
	release(t, take(t, c, coord.Request{Key: "warm"}))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Take(ctx, coord.Request{Key: "fails"})
		failed <- err
	}()
	<-knocked
	look := server.Client(t)
	alive := "botmesh:alive:" + c.Incarnation()
	for range 3 {
		if err := look.Del(t.Context(), alive).Err(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a heartbeat", func() bool { return look.Exists(t.Context(), alive).Val() == 1 })
	}
	hang.Done()
	cancel()
	<-failed
}
