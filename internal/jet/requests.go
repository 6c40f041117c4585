package jet

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// requests sends questions on one connection and brings each its answers, one or
// several. All answers come through one subscription. A lost connection fails
// every question that is out, at once: no answer may come any more.
type requests struct {
	nc     *nats.Conn
	prefix string // of the reply subjects, ends in a dot

	mu   sync.Mutex
	last uint64
	out  map[string]*call
	lost chan struct{} // closed and replaced when the connection is lost
}

// call is one question that is out.
type call struct {
	id      string
	answers chan *nats.Msg // nil says that the connection was lost
}

// open subscribes to the answers.
func (r *requests) open(nc *nats.Conn) error {
	r.mu.Lock()
	r.nc, r.prefix = nc, nc.NewInbox()+"."
	r.out, r.lost = map[string]*call{}, make(chan struct{})
	r.mu.Unlock()
	sub, err := nc.Subscribe(r.prefix+"*", r.answer)
	if err != nil {
		return fmt.Errorf("subscribe to answers: %w", err)
	}
	// answer never waits, so nothing piles up; a dropped answer would be an unknown.
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("subscribe to answers: %w", err)
	}
	return nil
}

// send asks. Room is how many answers may come. The caller must call done.
func (r *requests) send(m *nats.Msg, room int) (*call, error) {
	c := &call{answers: make(chan *nats.Msg, room+1)}
	r.mu.Lock()
	r.last++
	c.id = strconv.FormatUint(r.last, 36)
	r.out[c.id] = c
	r.mu.Unlock()
	m.Reply = r.prefix + c.id
	if err := r.nc.PublishMsg(m); err != nil {
		r.done(c)
		return nil, err
	}
	return c, nil
}

func (r *requests) done(c *call) {
	r.mu.Lock()
	delete(r.out, c.id)
	r.mu.Unlock()
}

// one asks and waits for one answer.
func (r *requests) one(ctx context.Context, m *nats.Msg, timeout time.Duration) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := r.send(m, 1)
	if err != nil {
		return nil, err
	}
	defer r.done(c)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	return c.next(ctx, timer.C)
}

// next waits for the next answer. That nobody listens is nats.ErrNoResponders.
func (c *call) next(ctx context.Context, timeout <-chan time.Time) (*nats.Msg, error) {
	select {
	case m := <-c.answers:
		switch {
		case m == nil:
			return nil, errLost
		case status(m) == statusNoResponders:
			return nil, nats.ErrNoResponders
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout:
		return nil, errTimeout
	}
}

func (r *requests) answer(m *nats.Msg) {
	id := m.Subject[len(r.prefix):]
	r.mu.Lock()
	c := r.out[id]
	r.mu.Unlock()
	if c != nil {
		c.put(m)
	}
}

// fail ends every question that is out, because the connection was lost.
func (r *requests) fail() {
	r.mu.Lock()
	out := r.out
	r.out = map[string]*call{}
	if r.lost != nil {
		close(r.lost)
		r.lost = make(chan struct{})
	}
	r.mu.Unlock()
	for _, c := range out {
		c.put(nil)
	}
}

// untilLost returns a channel that is closed when the connection is lost.
func (r *requests) untilLost() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// put never waits: more answers than there is room for are not of interest.
func (c *call) put(m *nats.Msg) {
	select {
	case c.answers <- m:
	default:
	}
}

// The statuses of answers without a body.
const (
	statusNoResponders = "503"
	statusNotFound     = "404"
	statusEnd          = "204"
	statusHeartbeat    = "100"
	statusTimeout      = "408"
	statusConflict     = "409"
)

// status is the status of an answer that is not a message, else empty.
func status(m *nats.Msg) string {
	if len(m.Data) > 0 || len(m.Header) == 0 {
		return ""
	}
	return m.Header.Get("Status")
}
