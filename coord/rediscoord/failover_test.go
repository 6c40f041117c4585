package rediscoord_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// stay is a turn as its holder saw it.
type stay struct {
	fence    uint64
	asked    time.Duration // since the load began, as all
	from, to time.Duration // it held the key in between
}

// load is a crowd that takes turns at keys without a pause.
type load struct {
	t     *testing.T
	began time.Time
	keys  []string
	stop  context.CancelFunc
	crowd sync.WaitGroup

	mu    sync.Mutex
	stays map[string][]stay
}

// startLoad lets three replicas take turns at eight keys.
func startLoad(t *testing.T, url string, lease time.Duration) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{t: t, began: time.Now(), stop: stop, stays: map[string][]stay{}}
	for i := range 8 {
		l.keys = append(l.keys, "chat-"+strconv.Itoa(i))
	}
	for range 3 {
		c := join(t, rediscoord.Config{Client: dialURL(t, url), Lease: lease})
		for _, key := range l.keys {
			l.crowd.Go(func() {
				for ctx.Err() == nil {
					l.turn(ctx, c, key)
				}
			})
		}
	}
	return l
}

// turn takes one turn. That one is not granted is no fault here: the wait was long.
func (l *load) turn(ctx context.Context, c coord.Coordinator, key string) {
	asked := time.Since(l.began)
	turn, err := c.Take(ctx, coord.Request{Key: key})
	if err != nil {
		return
	}
	s := stay{fence: turn.Fence(), asked: asked, from: time.Since(l.began)}
	select {
	case <-time.After(3 * time.Millisecond):
	case <-turn.Context().Done():
	}
	s.to = time.Since(l.began)
	turn.Release(context.WithoutCancel(ctx), 0) // which may have been lost
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stays[key] = append(l.stays[key], s)
}

// goesOn waits until every key was taken again.
func (l *load) goesOn() {
	l.t.Helper()
	began := time.Since(l.began)
	eventually(l.t, "every key is taken", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range l.keys {
			s := l.stays[key]
			if len(s) == 0 || s[len(s)-1].from < began {
				return false
			}
		}
		return true
	})
}

// end stops the load and judges it. Fences grow per key whatever happens, which the
// lab's judge says; on one machine all clocks agree. Two hold one key at a time only
// while a fault may be the reason, of which the lab has no judge: nothing may rest on
// it. In the fault a holder may be late, one that an old master chose: its fence, the
// lower one, is what gives it away. Where the old master and the new one both grant for a
// while, and do so in the same microsecond, they give one fence twice: no more than that
// may happen, and only then.
func (l *load) end(from, to time.Duration) {
	l.t.Helper()
	l.stop()
	l.crowd.Wait()
	excused, twins, total := 0, 0, 0
	takes := map[string][]history.Operation{}
	for key, stays := range l.stays {
		slices.SortFunc(stays, func(a, b stay) int { return int(a.from - b.from) })
		total += len(stays)
		granted := map[uint64]stay{}
		for _, s := range stays {
			if twin, two := granted[s.fence]; two && twin.from >= from && s.from <= to && s.asked < twin.from {
				twins++
				continue
			}
			granted[s.fence] = s
			takes[key] = append(takes[key], history.Operation{
				Call:   history.Event{T: s.asked.Nanoseconds(), Kind: history.Take, Chat: key},
				Result: history.Event{T: s.from.Nanoseconds(), N: 1, Outcome: history.Granted, Fence: s.fence},
			})
		}
		for i, s := range stays[1:] {
			before := stays[i]
			switch fault := before.to >= from && s.from <= to; {
			case s.from >= before.to && s.fence > before.fence:
			case fault:
				excused++
			default:
				l.t.Errorf("%s: fence %d from %s, after fence %d that ended at %s; the fault was from %s to %s",
					key, s.fence, s.from, before.fence, before.to, from, to)
			}
		}
	}
	if err := check.Fences(takes); err != nil {
		l.t.Error(err)
	}
	l.t.Logf("%d turns, %d overlap or are late and %d have a fence of another in the fault from %s to %s", total, excused, twins, from, to)
}

// SPEC: T1 T9 T13 T14. HOLE H25. With grants in flight the master is replaced: all
// goes on by itself, fences grow, and two hold a key only while that lasts.
func TestFailover(t *testing.T) { // not beside other tests: it takes all of the machine
	const lease = 2 * time.Second
	for name, start := range map[string]func(t *testing.T) (url string, master func(key string) *redistest.Server){
		"sentinel": func(t *testing.T) (string, func(string) *redistest.Server) {
			s := redistest.StartSentinels(t)
			return s.URL(), func(string) *redistest.Server { return s.Master(t) }
		},
		"cluster": func(t *testing.T) (string, func(string) *redistest.Server) {
			c := redistest.StartCluster(t)
			return c.URL(), func(key string) *redistest.Server { return c.MasterOf(t, key) }
		},
	} {
		for how, does := range map[string]struct{ fault, heal func(*redistest.Server) }{
			"killed": {(*redistest.Server).Kill, func(s *redistest.Server) {
				if err := s.Restart(); err != nil {
					t.Error(err)
				}
			}},
			"frozen": {(*redistest.Server).Stop, (*redistest.Server).Continue},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				url, master := start(t)
				l := startLoad(t, url, lease)
				l.goesOn()
				old := master(turnKey(l.keys[0]))
				from := time.Since(l.began)
				does.fault(old)
				l.goesOn()
				took := time.Since(l.began) - from
				// Who is asked may not have heard of it yet.
				eventually(t, "the master is replaced", func() bool { return master(turnKey(l.keys[0])) != old })
				does.heal(old)
				l.goesOn()
				l.goesOn()
				to := time.Since(l.began) + lease // whoever held in the fault ends within a lease
				<-time.After(lease)
				l.goesOn()
				l.end(from, to)
				t.Logf("every key was taken again after %s", took)
			})
		}
	}
}

// SPEC: T13 T14. A server of a cluster that hangs holds up its own keys alone.
func TestHungServer(t *testing.T) { // not beside other tests: a cluster takes all of the machine
	cluster := redistest.StartCluster(t)
	c := join(t, rediscoord.Config{Client: dialURL(t, cluster.URL()), Lease: 20 * time.Second}) // a call has two seconds
	hung := cluster.MasterOf(t, turnKey("hung"))
	var keys []string
	for i := 0; len(keys) < 20; i++ {
		key := "key-" + strconv.Itoa(i)
		if cluster.MasterOf(t, turnKey(key)) != hung {
			keys = append(keys, key)
		}
	}
	for _, key := range keys { // connections are made
		release(t, take(t, c, coord.Request{Key: key}))
	}
	hung.Stop()
	defer hung.Continue()
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		if turn, err := c.Take(t.Context(), coord.Request{Key: "hung"}); err == nil {
			turn.Release(t.Context(), 0)
		}
	}()
	longest := time.Duration(0)
	for _, key := range keys {
		began := time.Now()
		release(t, take(t, c, coord.Request{Key: key}))
		longest = max(longest, time.Since(began))
	}
	if longest > 1500*time.Millisecond {
		t.Errorf("a key on another server took %s, as long as the call to the hung one", longest)
	}
	<-waits // granted by the replica that takes over
}

// A worker that starts while a part of a cluster is away, the one that says whether
// the prefix is ours to use, serves the chats of the others. What that part says is
// heeded when it is back.
//
// SPEC: T13 T14.
func TestStartWhileAPartIsAway(t *testing.T) { // not beside other tests: a cluster takes all of the machine
	cluster := redistest.StartCluster(t)
	const layout = "botmesh:layout"
	client := dialURL(t, cluster.URL())
	if err := client.Set(t.Context(), layout, "another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	gone := cluster.MasterOf(t, layout)
	healthy := 0
	for cluster.MasterOf(t, turnKey(strconv.Itoa(healthy))) == gone {
		healthy++
	}
	part := []*redistest.Server{gone, cluster.ReplicaOf(t, gone)} // no other takes over
	for _, s := range part {
		s.Stop()
	}
	c := join(t, rediscoord.Config{Client: dialURL(t, cluster.URL()), Lease: lease})
	release(t, take(t, c, coord.Request{Key: strconv.Itoa(healthy)}))
	for _, s := range part {
		s.Continue()
	}
	eventually(t, "the other layout is found", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), lease)
		defer cancel()
		turn, err := c.Take(ctx, coord.Request{Key: strconv.Itoa(healthy)})
		if err == nil {
			release(t, turn)
		}
		return err != nil && strings.Contains(err.Error(), `layout "another"`)
	})
}
