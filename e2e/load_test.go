package e2e

import (
	"context"
	"errors"
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
	posted map[string]int // by chat
	errs   []error
}

// begin posts the load, each chat's messages strictly in order: the next one when
// the last one was taken.
func (l load) begin(ctx context.Context, s *scene) *traffic {
	t := &traffic{load: l, s: s, ended: make(chan struct{}), posted: map[string]int{}}
	for i := range l.chats {
		t.group.Go(func() {
			n, err := t.chat(ctx, int64(firstChat+i))
			t.mu.Lock()
			defer t.mu.Unlock()
			t.posted[strconv.Itoa(firstChat+i)] = n
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
	for chat, n := range t.posted {
		want[chat] = check.Counts(n)
	}
	return want, errors.Join(t.errs...)
}

// run is begin and end.
func (l load) run(ctx context.Context, s *scene) (map[string][]string, error) {
	return l.begin(ctx, s).end()
}

// chat says what one chat has to, and more until the end, and returns how often.
func (t *traffic) chat(ctx context.Context, id int64) (n int, err error) {
	for ; n < t.messages || !closed(t.ended); n++ {
		if n > 0 && t.pause > 0 {
			select {
			case <-time.After(t.pause):
			case <-ctx.Done():
				return n, context.Cause(ctx)
			}
		}
		u := t.s.Message(id, "/count")
		if t.twice != nil {
			err = t.twice(ctx, u, n)
		} else {
			err = t.s.Deliver(ctx, t.s.URLs(), u)
		}
		if err != nil {
			return n, err
		}
	}
	return n, t.s.AwaitText(ctx, id, "count: "+strconv.Itoa(n))
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
