package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/e2e/check"
)

const (
	flood = 10_000 // records that wait in one chat
	hot   = int64(1)
	slow  = int64(2)
)

// One chat has ten thousand records waiting, held back at first and then worked
// off while the others are measured; another one is in a turn that takes half a
// minute. The others wait no longer for it.
//
// SPEC: T2 O4 DESIGN N1 HOLE H7
func TestHotAndSlowChatsDelayNoOther(t *testing.T) { // alone: it measures time
	s := started(t, map[string]string{"BOTMESH_LEASE": "5s", "BOTMESH_SETTLE": "2m"})
	others := load{chats: 64, messages: 20, pause: 300 * time.Millisecond}
	calm := others.latencies(s, firstChat)

	s.say(hot, "/slow 6")
	s.hears(hot, eager, 20*time.Second)
	s.flood(hot, flood)
	s.say(slow, "/slow 30")
	js := s.jetStream()
	s.eventually(10*time.Second, "more than 1 000 nudges are not acknowledged", func(ctx context.Context) error {
		if pending, n, err := waiting(ctx, js); err != nil || n <= 1000 {
			return fmt.Errorf("%d are, %d wait (%v)", n, pending, err)
		}
		return nil
	})
	before := len(s.Texts(hot))
	busy := others.latencies(s, firstChat+int64(others.chats))
	if during := len(s.Texts(hot)) - before; during == 0 || len(s.Texts(hot)) > flood {
		t.Errorf("got %d records of the hot chat worked off while measuring, want some and not all", during)
	}
	if slices.Contains(s.Texts(slow), "done after 30s") {
		t.Error("the slow turn ended before the measurement did")
	}
	p99, bound := percentile(busy, 99), percentile(calm, 99)*3/2
	t.Logf("p99 %v calm, %v beside a hot and a slow chat; p50 %v and %v",
		percentile(calm, 99), p99, percentile(calm, 50), percentile(busy, 50))
	if p99 > bound {
		t.Errorf("got p99 %v beside a hot and a slow chat, want at most %v", p99, bound)
	}
}

// flood posts n messages of one chat, many at a time: their order is nobody's.
func (s *scene) flood(chat int64, n int) {
	s.t.Helper()
	group, ctx := errgroup.WithContext(s.within(time.Minute))
	group.SetLimit(64)
	for range n {
		group.Go(func() error { return s.Say(ctx, s.URLs(), chat, "/count") })
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

// latencies runs the load on chats from first on, each with at most one message
// unanswered, and returns the times from each post to its reply.
func (l load) latencies(s *scene, first int64) []time.Duration {
	s.t.Helper()
	ctx := s.within(2 * time.Minute)
	var group errgroup.Group
	var mu sync.Mutex
	var all []time.Duration
	for i := range l.chats {
		chat := first + int64(i)
		offset := l.pause * time.Duration(i) / time.Duration(l.chats)
		group.Go(func() error {
			posted, err := l.converse(ctx, s, chat, offset)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range s.callsOf(chat) {
				all = append(all, c.At-posted[c.Text])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// converse says /count after each reply's pause, and returns when each was posted.
func (l load) converse(ctx context.Context, s *scene, chat int64, offset time.Duration) (map[string]time.Duration, error) {
	posted := map[string]time.Duration{}
	pause := offset
	for n := range l.messages {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		text := "count: " + strconv.Itoa(n+1)
		posted[text] = s.Now()
		if err := s.Say(ctx, s.URLs(), chat, "/count"); err != nil {
			return nil, err
		}
		if err := s.AwaitText(ctx, chat, text); err != nil {
			return nil, err
		}
		pause = l.pause
	}
	return posted, nil
}

func (s *scene) callsOf(chat int64) []check.Call {
	id := strconv.FormatInt(chat, 10)
	return slices.DeleteFunc(s.Calls(), func(c check.Call) bool { return c.Chat != id })
}

func percentile(times []time.Duration, p int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*p/100]
}
