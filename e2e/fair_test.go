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
	"github.com/botmesh-go/botmesh/e2e/fleet"
)

const (
	flood = 10_000 // records that wait in one chat
	hot   = int64(1)
	slow  = int64(2)
)

// One chat has ten thousand records waiting behind a slow one, another is in a turn
// that takes most of a minute: the others wait no longer for that. Then the first
// one works its records off as fast as it can, for which it takes its share of the
// processors: that the others may notice, within bounds.
//
// SPEC: T2 O4 DESIGN N1 HOLE H7
func TestHotAndSlowChatsDelayNoOther(t *testing.T) { // alone: it measures time
	s := started(t, nil)
	s.Delay(0) // so that the hot chat is as hot as can be
	others := load{chats: 64, messages: 16, pause: 300 * time.Millisecond}
	calm := others.p99(s, firstChat)

	s.say(slow, "/slow 55")
	s.say(hot, "/slow 12")
	s.hears(hot, eager, 20*time.Second)
	s.flood(hot, flood)
	js := s.jetStream()
	s.eventually(10*time.Second, "more than 1 000 nudges are not acknowledged", func(ctx context.Context) error {
		if pending, n, err := fleet.Backlog(ctx, js, fleet.Bot); err != nil || n <= 1000 {
			return fmt.Errorf("%d are, %d wait (%v)", n, pending, err)
		}
		return nil
	})
	stuck := others.p99(s, firstChat+100)
	s.hears(hot, "done after 12s", 30*time.Second)
	before := len(s.Texts(hot))
	busy := others.p99(s, firstChat+200)
	done := len(s.Texts(hot)) - before
	if left := flood - len(s.Texts(hot)); done < 100 || left <= 0 {
		t.Errorf("got %d records of the hot chat worked off while measuring and %d left, want many and some", done, left)
	}
	if slices.Contains(s.Texts(slow), "done after 55s") {
		t.Error("the slow turn ended before the measurement did")
	}
	t.Logf("p99 %v calm, %v beside chats that wait, %v beside one that works off %d records", calm, stuck, busy, done)
	const scheduling = 20 * time.Millisecond // what the machine itself adds now and then
	if bound := calm*3/2 + scheduling; stuck > bound {
		t.Errorf("got p99 %v beside chats that wait, want at most %v", stuck, bound)
	}
	if bound := calm*3 + scheduling; busy > bound {
		t.Errorf("got p99 %v beside a chat that works off its records, want at most %v", busy, bound)
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

// p99 runs the load on chats from first on, each with at most one message
// unanswered, and returns the 99th percentile of the times from post to reply: the
// median of those of five stretches, so that one hiccup of the machine does not
// decide.
func (l load) p99(s *scene, first int64) time.Duration {
	s.t.Helper()
	began := s.Now()
	stretch := l.pause * time.Duration(l.messages) / 5
	times := make([][]time.Duration, 5)
	ctx := s.within(2 * time.Minute)
	var group errgroup.Group
	var mu sync.Mutex
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
				at := posted[c.Text]
				n := min(int((at-began)/stretch), len(times)-1)
				times[n] = append(times[n], c.At-at)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
	var p99s []time.Duration
	for _, t := range times {
		slices.Sort(t)
		p99s = append(p99s, t[(len(t)-1)*99/100])
	}
	slices.Sort(p99s)
	return p99s[len(p99s)/2]
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
