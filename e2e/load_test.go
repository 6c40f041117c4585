package e2e

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/platform"
)

// load is chats that say /count.
type load struct {
	chats    int
	messages int           // of each chat, at least
	pause    time.Duration // of each chat, between two messages
	// twice, if set, delivers an update itself, instead of once to any ingress.
	twice func(ctx context.Context, u platform.Update, n int) error
}

// firstChat keeps the chats of a load apart from those that a test names itself.
const firstChat = 1000

// traffic is a load on its way.
type traffic struct {
	load
	s     *scene
	group sync.WaitGroup
	ended chan struct{} // closed when no chat need say more than it has to

	mu     sync.Mutex
	posted map[string][]time.Duration // by chat, when its messages were posted first
	errs   []error
}

// begin posts the load, each chat's messages strictly in order: the next one when
// the last one was taken.
func (l load) begin(ctx context.Context, s *scene) *traffic {
	t := &traffic{load: l, s: s, ended: make(chan struct{}), posted: map[string][]time.Duration{}}
	for i := range l.chats {
		t.group.Go(func() {
			posted, err := t.chat(ctx, int64(firstChat+i))
			t.mu.Lock()
			defer t.mu.Unlock()
			t.posted[strconv.Itoa(firstChat+i)] = posted
			t.errs = append(t.errs, err)
		})
	}
	return t
}

// end waits until every chat has said what it has to and has its last reply, and
// returns what the chats are to have got.
func (t *traffic) end() (map[string][]string, error) {
	close(t.ended)
	t.group.Wait()
	want := map[string][]string{}
	for chat, posted := range t.posted {
		want[chat] = check.Counts(len(posted))
	}
	return want, errors.Join(t.errs...)
}

// waits are how long users waited for their replies, from a message's first post to
// the call that answers it, of those posted in a span of the run, shortest first. The
// load has ended.
func (t *traffic) waits(from, to time.Duration) (waits []time.Duration) {
	answered := map[string]map[string]time.Duration{}
	for _, c := range t.s.Calls() {
		if answered[c.Chat] == nil {
			answered[c.Chat] = map[string]time.Duration{}
		}
		if _, again := answered[c.Chat][c.Text]; !again {
			answered[c.Chat][c.Text] = c.At
		}
	}
	for chat, posted := range t.posted {
		for i, text := range check.Counts(len(posted)) {
			if at, ok := answered[chat][text]; ok && posted[i] >= from && posted[i] < to {
				waits = append(waits, at-posted[i])
			}
		}
	}
	slices.Sort(waits)
	return waits
}

// run is begin and end.
func (l load) run(ctx context.Context, s *scene) (map[string][]string, error) {
	return l.begin(ctx, s).end()
}

// chat says what one chat has to, and more until the end, and returns when.
func (t *traffic) chat(ctx context.Context, id int64) (posted []time.Duration, err error) {
	for n := 0; n < t.messages || !closed(t.ended); n++ {
		if n > 0 && t.pause > 0 {
			select {
			case <-time.After(t.pause):
			case <-ctx.Done():
				return posted, context.Cause(ctx)
			}
		}
		u, at := t.s.Message(id, "/count"), t.s.Now()
		if t.twice != nil {
			err = t.twice(ctx, u, n)
		} else {
			err = t.s.Deliver(ctx, t.s.URLs(), u)
		}
		if err != nil {
			return posted, err
		}
		posted = append(posted, at)
	}
	return posted, t.s.AwaitText(ctx, id, "count: "+strconv.Itoa(len(posted)))
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
