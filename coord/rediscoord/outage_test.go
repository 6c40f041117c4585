package rediscoord_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

const (
	lease = time.Second
	slack = time.Second // for a busy machine
)

// SPEC: T7 T12. A replica cut off the network gives its turn up before another is
// granted it, without a word from Redis.
func TestCutOff(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link := newLink(t, server)
	a := join(t, rediscoord.Config{Client: dialURL(t, link.url()), Lease: lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	turn := take(t, a, coord.Request{Key: "k"})
	waits := queue(t, b, server.Client(t), coord.Request{Key: "k"})
	gaveUp := make(chan time.Time, 1)
	context.AfterFunc(turn.Context(), func() { gaveUp <- time.Now() })
	link.cut()
	next := granted(t, waits)
	taken := time.Now()
	select {
	case at := <-gaveUp:
		if !at.Before(taken) {
			t.Errorf("gave up %s after the turn was granted again", at.Sub(taken))
		}
	default:
		t.Error("still believes to hold a turn that was granted again")
	}
	if got := lost(t, turn); got != botmesh.LossUnavailable {
		t.Errorf("got reason %s, want unavailable", got)
	}
	link.mend()
	release(t, next)
	release(t, take(t, a, coord.Request{Key: "k"}))
}

// SPEC: T7. A turn that was granted by a push lasts no longer than the waiter was
// last heard of by Redis.
func TestPushedThenCutOff(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	link := newLink(t, server)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	b := join(t, rediscoord.Config{Client: dialURL(t, link.url()), Lease: lease})
	subscribed(t, look, b) // it looks no more often than it must
	first := take(t, a, coord.Request{Key: "k"})
	pushed := queue(t, b, look, coord.Request{Key: "k"})
	heard := time.Now()
	<-time.After(lease / 4)
	release(t, first)
	turn := granted(t, pushed)
	link.cut()
	until, _ := strconv.ParseInt(hash(t, look, "k")["until"], 10, 64)
	if got, want := time.UnixMilli(until).Sub(heard), lease+lease/8; got > want {
		t.Errorf("the turn lasts %s from when its waiter was heard of, want a lease of %s", got, lease)
	}
	gaveUp := make(chan time.Time, 1)
	context.AfterFunc(turn.Context(), func() { gaveUp <- time.Now() })
	take(t, a, coord.Request{Key: "k"})
	taken := time.Now()
	select {
	case at := <-gaveUp:
		if !at.Before(taken) {
			t.Errorf("gave up %s after the turn was granted again", at.Sub(taken))
		}
	default:
		t.Error("still believes to hold a turn that was granted again")
	}
	link.mend()
}

// SPEC: T6. A waiter looks when the lease of a dead holder ends, not at its next
// round.
func TestTakeOverAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	release(t, take(t, b, coord.Request{Key: "warm"}))
	take(t, a, coord.Request{Key: "k"})
	a.Crash()
	<-time.After(lease / 2) // between two rounds of the waiter
	until, _ := strconv.ParseInt(hash(t, look, "k")["until"], 10, 64)
	take(t, b, coord.Request{Key: "k"})
	if got, want := time.Since(time.UnixMilli(until)), lease/4; got > want {
		t.Errorf("taken over %s after the lease ended, want within %s", got, want)
	}
}

// A take whose answer is lost is made again and finds its own turn.
func TestTakeAnswerLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link := newLink(t, server)
	a := join(t, rediscoord.Config{Client: dialURL(t, link.url()), Lease: 3 * lease})
	release(t, take(t, a, coord.Request{Key: "warm"}))
	link.mute()
	began := time.Now()
	turn := take(t, a, coord.Request{Key: "k"})
	if got, want := time.Since(began), 5*lease/2; got > want {
		t.Errorf("granted after %s, want before the first try's lease ends", got)
	}
	if got := turn.Previous(); got != (coord.Previous{}) {
		t.Errorf("got previous %+v, want none", got)
	}
	release(t, turn)
}

// SPEC: T8. A take that arrives when its ticket is done with holds nobody up.
func TestTakeLate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	link := newLink(t, server)
	a := join(t, rediscoord.Config{Client: dialURL(t, link.url()), Lease: 3 * lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	release(t, take(t, a, coord.Request{Key: "warm"}))
	link.hold()
	turn := take(t, a, coord.Request{Key: "k"}) // by a second try
	release(t, turn)
	link.mend()
	eventually(t, "the first try was run", func() bool {
		return hash(t, look, "k")["fence"] != strconv.FormatUint(turn.Fence(), 10)
	})
	began := time.Now()
	turn = take(t, b, coord.Request{Key: "k"})
	if got, want := time.Since(began), lease; got > want {
		t.Errorf("a late take held the key up for %s, want at most %s", got, want)
	}
	if got, want := turn.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
}

// SPEC: T14 T5. With Redis frozen a Take waits, then says so; when Redis goes on
// so does the chat, though a call without an answer runs late.
func TestRedisFrozen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease, TurnWait: lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	release(t, take(t, a, coord.Request{Key: "k"}))
	release(t, take(t, b, coord.Request{Key: "k"}))
	server.Stop()
	began := time.Now()
	_, err := a.Take(t.Context(), coord.Request{Key: "k"})
	if !errors.Is(err, botmesh.ErrCoordinationUnavailable) {
		t.Errorf("got %v, want ErrCoordinationUnavailable", err)
	}
	if got := time.Since(began); got < lease || got > 2*lease+slack {
		t.Errorf("gave up after %s, want about %s", got, lease)
	}
	server.Continue()
	began = time.Now()
	turn := take(t, b, coord.Request{Key: "k"})
	if got := time.Since(began); got > lease/2+slack/4 {
		t.Errorf("a late call held the key up for %s", got)
	}
	<-time.After(lease) // repairs must not take the turn away
	if err := turn.Context().Err(); err != nil {
		t.Errorf("a repair ended the turn: %v", context.Cause(turn.Context()))
	}
	release(t, turn)
}

// SPEC: T8. A release that gets no answer is made again, with what it passed,
// long before the lease would end.
func TestReleaseUnanswered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	link := newLink(t, server)
	a := join(t, rediscoord.Config{Client: dialURL(t, link.url()), Lease: 3 * lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	passed := queue(t, b, look, coord.Request{Key: "k", Place: 2})
	waits := queue(t, b, look, coord.Request{Key: "k", Place: 3})
	link.hold()
	ctx, cancel := context.WithTimeout(t.Context(), lease/10)
	defer cancel()
	began := time.Now()
	if err := turn.Release(ctx, 2); !errors.Is(err, botmesh.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	if got := lost(t, turn); got != botmesh.LossReleased {
		t.Errorf("got reason %s, want released", got)
	}
	next := granted(t, waits)
	if got, want := time.Since(began), 2*lease; got > want { // a third of the lease is the call's
		t.Errorf("repaired after %s, want within %s", got, want)
	}
	if got, want := next.Previous(), (coord.Previous{Incarnation: a.Incarnation(), Released: true, Passed: 2}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	var p *coord.PassedError
	if got := <-passed; !errors.As(got.err, &p) || p.Passed != 2 {
		t.Errorf("got %+v, want passed 2", got)
	}
}

// SPEC: T14. Redis is killed and comes back empty: who held goes on or finds out, who
// waits is granted, and fences grow.
func TestRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	held := take(t, a, coord.Request{Key: "k"})
	alone := take(t, a, coord.Request{Key: "alone"})
	look := server.Client(t)
	waits := queue(t, b, look, coord.Request{Key: "k"})
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.Context().Done(): // the waiter was heard of first
	case <-time.After(lease):
		held.Release(t.Context(), 0)
	}
	began := time.Now()
	next := granted(t, waits)
	if got := time.Since(began); got > lease+slack {
		t.Errorf("granted after %s, want within a lease", got)
	}
	if next.Fence() <= held.Fence() {
		t.Errorf("got fence %d, want more than %d", next.Fence(), held.Fence())
	}
	if got := lost(t, held); got == botmesh.LossStalled {
		t.Errorf("got reason %s of a turn that Redis forgot", got)
	}
	eventually(t, "what nobody took goes on or is over", func() bool {
		return alone.Context().Err() != nil || hash(t, look, "alone")["fence"] == strconv.FormatUint(alone.Fence(), 10)
	})
	if err := alone.Release(t.Context(), 0); err != nil && !errors.Is(err, botmesh.ErrLeaseLost) {
		t.Errorf("releasing a turn that Redis forgot: %v", err)
	}
	release(t, next)
	release(t, take(t, a, coord.Request{Key: "alone"}))
}

// SPEC: T9. Redis comes back from old data: the turn that it remembers goes on,
// and fences do not repeat though the counter went back.
func TestRedisRestartsFromData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	held := take(t, a, coord.Request{Key: "held"})
	old := take(t, a, coord.Request{Key: "k"})
	release(t, old)
	state, err := look.Dump(t.Context(), turnKey("k")).Result()
	if err != nil {
		t.Fatal(err)
	}
	newer := take(t, a, coord.Request{Key: "k"})
	release(t, newer)
	if err := look.RestoreReplace(t.Context(), turnKey("k"), 0, state).Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := take(t, a, coord.Request{Key: "k"}).Fence(); got <= newer.Fence() {
		t.Errorf("got fence %d from an older counter, want more than %d", got, newer.Fence())
	}
	<-time.After(6 * lease / 5) // a renewal
	if held.Context().Err() != nil {
		t.Errorf("a turn that Redis kept was lost: %v", context.Cause(held.Context()))
	}
	release(t, held)
}

// SPEC: T10. Without the subscription a waiter is granted by looking, and the
// subscription comes back.
func TestSubscriptionLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: 3 * lease})
	turn := take(t, a, coord.Request{Key: "k", Place: 1})
	passed := queue(t, b, look, coord.Request{Key: "k", Place: 2})
	waits := queue(t, b, look, coord.Request{Key: "k", Place: 3})
	subscribed(t, look, b)
	if err := look.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	if err := turn.Release(t.Context(), 2); err != nil { // its pushes reach nobody
		t.Fatal(err)
	}
	began := time.Now()
	turn = granted(t, waits)
	var p *coord.PassedError
	if got := <-passed; !errors.As(got.err, &p) || p.Passed != 2 {
		t.Errorf("got %+v without a push, want passed 2", got)
	}
	if got, want := time.Since(began), lease/2; got > want {
		t.Errorf("granted after %s without a push, want within %s", got, want)
	}
	subscribed(t, look, b)
	release(t, turn)
}

// strayed is a client whose first subscription is to another server.
type strayed struct {
	redis.UniversalClient
	other redis.UniversalClient
	once  atomic.Bool
}

func (s *strayed) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	if s.once.CompareAndSwap(false, true) {
		return s.other.Subscribe(ctx, channels...)
	}
	return s.UniversalClient.Subscribe(ctx, channels...)
}

// SPEC: T10. A subscription to a server that was the master once is given up,
// though the server answers.
func TestSubscriptionStrayed(t *testing.T) {
	t.Parallel()
	server, other := redistest.Start(t), redistest.Start(t)
	c := join(t, rediscoord.Config{Client: &strayed{UniversalClient: dial(t, server), other: dial(t, other)}, Lease: lease})
	subscribed(t, other.Client(t), c)
	subscribed(t, server.Client(t), c)
}

// A grant is waited for on the replica, if so wanted, but no longer than calls may
// take: one that is away delays and stops nothing.
func TestWaitReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--repl-diskless-sync-delay", "0")
	_, port, _ := strings.Cut(server.Addr(), ":")
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+port)
	look := server.Client(t)
	eventually(t, "the replica follows", func() bool { return strings.Contains(info(t, look, "replication")["slave0"], "state=online") })
	const lease = 12 * time.Second // a call has two seconds
	c := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease, WaitReplicas: 1})
	take(t, c, coord.Request{Key: "warm"})
	replica.Stop()
	began := time.Now()
	turn := take(t, c, coord.Request{Key: "k"})
	if got := time.Since(began); got < 600*time.Millisecond {
		t.Errorf("granted after %s, want two thirds of a second", got)
	}
	replica.Continue()
	if err := turn.Release(t.Context(), 0); err != nil && !errors.Is(err, botmesh.ErrUnknown) {
		t.Error(err)
	}
}

// SPEC: T14. Scripts that Redis no longer knows, and connections that it drops,
// cost nothing but time.
func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	a := join(t, rediscoord.Config{Client: dial(t, server), Lease: lease})
	for range 10 {
		turn := take(t, a, coord.Request{Key: "k"})
		if err := look.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		release(t, turn)
		if err := look.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
