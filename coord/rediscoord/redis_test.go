package rediscoord_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// A handled message costs two script calls, contended or not; a wait costs one
// look per third of a lease.
func TestScriptCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server)})
	b := join(t, rediscoord.Config{Client: dial(t, server)})
	subscribed(t, look, a)
	subscribed(t, look, b)
	release(t, take(t, a, coord.Request{Key: "k"}))
	turn := take(t, b, coord.Request{Key: "k"})
	began := scripts(t, look)
	const rounds = 20
	for i := range rounds {
		waits := queue(t, []coord.Coordinator{a, b}[i%2], look, coord.Request{Key: "k"})
		release(t, turn)
		turn = granted(t, waits)
	}
	if got, want := scripts(t, look)-began, 2*rounds; got != want {
		t.Errorf("%d turns cost %d script calls, want %d", rounds, got, want)
	}

	began = scripts(t, look)
	turn.Release(t.Context(), 9)
	turn = take(t, a, coord.Request{Key: "k", Place: 10})
	passed := queue(t, b, look, coord.Request{Key: "k", Place: 11})
	turn.Release(t.Context(), 11)
	if got := <-passed; got.err == nil {
		t.Error("a passed ticket was granted")
	}
	if got, want := scripts(t, look)-began, 1+2+1; got != want {
		t.Errorf("a release, a turn and a passed ticket cost %d script calls, want %d", got, want)
	}
}

// A waiter whose holder lives looks each third of a lease, and its ticket stays.
func TestQuietWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	subscribed(t, look, b)
	turn := take(t, a, coord.Request{Key: "k"})
	waits := queue(t, b, look, coord.Request{Key: "k"})
	began := scripts(t, look)
	<-time.After(3 * lease / 2)
	// Per third of a lease one renewal and one look, and some for a busy machine.
	if got, want := scripts(t, look)-began, 2*5+6; got > want {
		t.Errorf("waiting a lease and a half cost %d script calls, want at most %d", got, want)
	}
	release(t, turn)
	release(t, granted(t, waits))
}

// SPEC: T15. Keys of idle chats expire, those of a holder that did not release
// after a day; a withdrawn ticket leaves nothing.
func TestExpiry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease, Idle: time.Hour})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease, Idle: time.Hour})
	near := func(key string, want time.Duration) {
		t.Helper()
		got, err := look.PTTL(t.Context(), turnKey(key)).Result()
		if err != nil || got > want || got < want-time.Minute {
			t.Errorf("%s expires in %s, %v, want %s", key, got, err, want)
		}
	}
	turn := take(t, a, coord.Request{Key: "k"})
	near("k", 24*time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.Take(ctx, coord.Request{Key: "k"})
		done <- err
	}()
	eventually(t, "the ticket is in line", func() bool { return tickets(hash(t, look, "k")) == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	if got := tickets(hash(t, look, "k")); got != 0 {
		t.Errorf("a withdrawn ticket left %d fields", got)
	}
	release(t, turn)
	near("k", time.Hour)
	if got, want := len(hash(t, look, "k")), 9; got != want {
		t.Errorf("an idle key has %d fields, want %d", got, want)
	}

	take(t, a, coord.Request{Key: "crashed"})
	a.Crash()
	turn = take(t, b, coord.Request{Key: "crashed"})
	release(t, turn)
	near("crashed", time.Hour)

	// Who waited for the dead and left: the death is still to be seen.
	c := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	take(t, c, coord.Request{Key: "left"})
	c.Crash()
	eventually(t, "the lease has run out", func() bool {
		until, _ := strconv.ParseInt(hash(t, look, "left")["until"], 10, 64)
		return time.Now().UnixMilli() > until
	})
	near("left", 24*time.Hour)
}

func tickets(fields map[string]string) int {
	n := 0
	for name := range fields {
		if strings.HasPrefix(name, "t:") || strings.HasPrefix(name, "x:") {
			n++
		}
	}
	return n
}

// A deadline that was set before Redis' clock went back ends a lease from now all
// the same, that of a turn and that of a ticket.
func TestClockWentBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	far := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	look.HSet(t.Context(), turnKey("k"), "fence", "5", "holder", "gone/00/1", "until", far, "lease", "2000",
		"t:gone/00/2", "1 1 1 0 "+far+" 2000")
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	began := time.Now()
	turn := take(t, a, coord.Request{Key: "k", Place: 2})
	if got, want := time.Since(began), 2*lease; got < want || got > want+slack { // not one after the other
		t.Errorf("granted after %s, want %s", got, want)
	}
	if got, want := turn.Previous(), (coord.Previous{Incarnation: "gone/00"}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// SPEC: T13. Another layout under the prefix is refused by name, and used once it
// is gone.
func TestOtherLayout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	look.Set(t.Context(), "botmesh:layout", "7", 0)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	_, err := a.Take(t.Context(), coord.Request{Key: "k"})
	if !errors.Is(err, botmesh.ErrCoordinationUnavailable) || !strings.Contains(err.Error(), `layout "7"`) {
		t.Errorf("got %v, want a refusal that names the layout", err)
	}
	if n := look.Exists(t.Context(), turnKey("k")).Val(); n != 0 {
		t.Error("wrote under a prefix of another layout")
	}
	look.Del(t.Context(), "botmesh:layout")
	eventually(t, "the prefix is used", func() bool {
		turn, err := a.Take(t.Context(), coord.Request{Key: "k"})
		return err == nil && turn.Release(t.Context(), 0) == nil
	})
	if got := look.Get(t.Context(), "botmesh:layout").Val(); got != "1" {
		t.Errorf("got layout %q, want 1", got)
	}
}

// SPEC: T9. A turn that was granted to a ticket nobody waits for is given back at
// once, unused.
func TestUnwantedTurn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	release(t, take(t, b, coord.Request{Key: "warm"}))
	till := strconv.FormatInt(time.Now().Add(3*lease).UnixMilli(), 10)
	look.HSet(t.Context(), turnKey("k"), "t:"+b.Incarnation()+"/99", "2 1 2 0 "+till+" 3000")
	began := time.Now()
	release(t, turn)
	turn = take(t, a, coord.Request{Key: "k", Place: 3})
	if got := time.Since(began); got > lease {
		t.Errorf("an unwanted turn held the key up for %s", got)
	}
	// Nothing was done under it: a's copy of the chat is current.
	if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// SPEC: T9 T14. Redis is emptied again and again under load: every Take is granted,
// and no fence comes twice.
func TestFlushStorm(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	ctx, stop := context.WithCancel(t.Context())
	var storm, crowd sync.WaitGroup
	flushes := 0
	storm.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if look.FlushAll(ctx).Err() == nil {
				flushes++
			}
		}
	})
	var mu sync.Mutex
	turns := map[string]map[uint64]bool{} // by fence
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, key := range keys {
		turns[key] = map[uint64]bool{}
	}
	for range 3 {
		c := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
		for _, key := range keys {
			crowd.Go(func() {
				for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
					turn, err := c.Take(t.Context(), coord.Request{Key: key})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if turns[key][turn.Fence()] {
						t.Errorf("%s: fence %d twice", key, turn.Fence())
					}
					turns[key][turn.Fence()] = true
					mu.Unlock()
					turn.Release(t.Context(), 0) // which may have been lost
				}
			})
		}
	}
	crowd.Wait()
	stop()
	storm.Wait()
	if flushes < 20 {
		t.Errorf("only %d flushes", flushes)
	}
	for key, fences := range turns {
		if len(fences) < 6 {
			t.Errorf("%s had only %d turns", key, len(fences))
		}
	}
}

// Close leaves no heartbeat, no ticket and no held turn.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	take(t, a, coord.Request{Key: "k"})
	queue(t, a, look, coord.Request{Key: "k"})
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := look.Keys(t.Context(), "*").Val()
	want := []string{"botmesh:layout", turnKey("k")}
	if diff := cmp.Diff(want, keys, cmp.Transformer("sort", sorted)); diff != "" {
		t.Errorf("keys after Close (-want +got):\n%s", diff)
	}
	if got := hash(t, look, "k"); got["holder"] != "" || tickets(got) != 0 || got["clean"] != "1" {
		t.Errorf("after Close: %v", got)
	}
}

// A Redis that may evict leases is reported, once; one that may not is not.
func TestEvictionPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{"allkeys-lru": 1, "noeviction": 0} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", policy)
			var log lockedBuffer
			a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			release(t, take(t, a, coord.Request{Key: "k"}))
			a.Close(t.Context())
			if got := strings.Count(log.String(), "maxmemory-policy"); got != want {
				t.Errorf("reported %d times, want %d: %s", got, want, log.String())
			}
		})
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
