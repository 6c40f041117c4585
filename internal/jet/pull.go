package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// errGone says that a consumer was not there to answer a pull request.
var errGone = Unread(errors.New("the consumer is not there"))

// After one was deleted a server of a cluster may say for a moment that it is there
// while none answers for it: a pull looks for it so often, and waits longer each time.
const (
	maxGone   = 5
	gonePause = 100 * time.Millisecond
)

// puller is one subscription for the answers to pull requests, one request at a
// time. It is used again only when its last request is known to have ended, so
// that no message of an old request comes to a new one.
type puller struct {
	sub   *nats.Subscription
	inbox string
	msgs  chan *nats.Msg
}

// pullRequest is what the server reads.
type pullRequest struct {
	Batch     int           `json:"batch"`
	Expires   time.Duration `json:"expires,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
}

// newPullRequest asks for heartbeats if the wait is long enough for the server to
// allow them, so that a server which forgot the request is noticed.
func newPullRequest(limit int, wait time.Duration) pullRequest {
	r := pullRequest{Batch: limit, Expires: max(wait, 0), NoWait: wait <= 0}
	if wait >= time.Second {
		r.Heartbeat = min(wait/4, 2*time.Second)
	}
	return r
}

// answers bounds how many messages and statuses the server sends for the request.
func (r pullRequest) answers() int {
	n := r.Batch + 2
	if r.Heartbeat > 0 {
		n += int(r.Expires/r.Heartbeat) + 1
	}
	return n
}

// silence is how long the server may be silent before the request counts as lost.
func (r pullRequest) silence(timeout time.Duration) time.Duration {
	if r.Heartbeat > 0 {
		return 2*r.Heartbeat + timeout/2
	}
	return r.Expires + timeout
}

// Pull makes one request to the server. Messages that come after ctx ended are
// given back, so that another replica gets them soon; leaving takes a fraction of a
// second.
func (c *consumer) Pull(ctx context.Context, limit int, wait time.Duration, each func(Delivery)) error {
	c.remember(ctx)
	end := time.Now().Add(wait)
	count := func(d Delivery) {
		limit--
		each(d)
	}
	for tries := 1; limit > 0 && ctx.Err() == nil; tries++ {
		err := c.request(ctx, newPullRequest(limit, time.Until(end)), count)
		if err == nil {
			return nil
		}
		if errors.Is(err, errGone) && tries < maxGone {
			if err = c.ensure(ctx); err == nil {
				pause := time.Duration(tries-1) * gonePause
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
				continue
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("jet: pull %s: %w", c.cfg.Name, err)
	}
	return nil
}

// request asks once, and hands out what comes.
func (c *consumer) request(ctx context.Context, r pullRequest, each func(Delivery)) error {
	conn := c.stream.conn
	question, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p, err := c.puller(r.answers())
	if err != nil {
		return Unread(err)
	}
	lost := conn.requests.untilLost()
	var ended bool
	if err = conn.nc.PublishRequest(c.next, p.inbox, question); err != nil {
		ended, err = notSent(err), Unread(err)
	} else {
		ended, err = c.receive(ctx, p, r, lost, each)
	}
	if ended {
		c.keep(p)
	} else {
		c.abandon(p)
	}
	return err
}

// receive hands out what comes. Ended says that the server is done with the request.
func (c *consumer) receive(ctx context.Context, p *puller, r pullRequest, lost <-chan struct{}, each func(Delivery)) (ended bool, err error) {
	silence := r.silence(c.stream.conn.cfg.Timeout)
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for left := r.Batch; left > 0; {
		if ctx.Err() != nil {
			return false, nil
		}
		var m *nats.Msg
		select {
		case m = <-p.msgs:
		case <-ctx.Done():
			return false, nil
		case <-lost:
			return false, Unread(errLost)
		case <-timer.C:
			return false, Unread(errTimeout)
		}
		timer.Reset(silence)
		if m.Subject != p.inbox {
			d, err := c.delivery(m)
			if err != nil {
				return false, err
			}
			left--
			each(d)
			continue
		}
		switch code, text := m.Header.Get("Status"), m.Header.Get("Description"); {
		case code == statusHeartbeat:
		case code == statusNotFound, code == statusTimeout:
			return true, nil
		case code == statusNoResponders, code == statusConflict && text == "Consumer Deleted":
			return true, errGone
		default:
			return false, Unread(fmt.Errorf("%s %s", code, text))
		}
	}
	return true, nil
}

// puller takes one that is not in use, or makes one.
func (c *consumer) puller(room int) (*puller, error) {
	c.mu.Lock()
	for n := len(c.pullers); n > 0; n = len(c.pullers) {
		p := c.pullers[n-1]
		if c.pullers = c.pullers[:n-1]; cap(p.msgs) >= room {
			c.mu.Unlock()
			return p, nil
		}
		defer p.sub.Unsubscribe() //nolint:errcheck // it fails only when closed
	}
	c.mu.Unlock()
	nc := c.stream.conn.nc
	p := &puller{inbox: nc.NewInbox(), msgs: make(chan *nats.Msg, room)}
	var err error
	if p.sub, err = nc.ChanSubscribe(p.inbox, p.msgs); err != nil {
		return nil, err
	}
	return p, nil
}

func (c *consumer) keep(p *puller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pullers = append(c.pullers, p)
}

// How a pull request is left that the server may still answer. A message that it
// sends while the subscription ends waits for its acknowledgement wait; so one is
// left only when nothing came for leaveQuiet, after leaveWithin at the latest. What
// comes meanwhile is given back for when that is over, lest the same request takes
// it again.
const (
	leaveQuiet  = 50 * time.Millisecond
	leaveWithin = 200 * time.Millisecond
	leaveNak    = `-NAK {"delay": 250000000}`
)

// abandon ends a subscription whose request may still be open at the server, and
// gives back the messages that were on their way.
func (c *consumer) abandon(p *puller) {
	nc := c.stream.conn.nc
	giveBack := func(m *nats.Msg) {
		if m.Subject != p.inbox {
			_ = nc.Publish(m.Reply, []byte(leaveNak))
		}
	}
	over := time.NewTimer(leaveWithin)
	defer over.Stop()
	for busy := nc.IsConnected(); busy; {
		select {
		case m := <-p.msgs:
			giveBack(m)
		case <-time.After(leaveQuiet):
			busy = false
		case <-over.C:
			busy = false
		}
	}
	if err := p.sub.Drain(); err != nil {
		return // closed
	}
	// All that this server sent before it read the end of the subscription comes
	// before the answer to this flush.
	_ = nc.FlushTimeout(c.stream.conn.cfg.Timeout / 4)
	for {
		select {
		case m := <-p.msgs:
			giveBack(m)
		default:
			return
		}
	}
}

func (c *consumer) delivery(m *nats.Msg) (Delivery, error) {
	d := Delivery{Stored: Stored{Msg: Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}}}
	if err := d.place(m.Reply); err != nil {
		return d, err
	}
	mark := func(payload string) error {
		if err := c.stream.conn.nc.Publish(m.Reply, []byte(payload)); err != nil {
			return fmt.Errorf("jet: mark message %d: %w", d.Seq, writeFailed(err))
		}
		return nil
	}
	d.Ack = func() error { return mark("+ACK") }
	d.Progress = func() error { return mark("+WPI") }
	d.Nak = func(after time.Duration) error {
		if after <= 0 {
			return mark("-NAK")
		}
		return mark(`-NAK {"delay": ` + strconv.FormatInt(int64(after), 10) + `}`)
	}
	return d, nil
}

// place reads sequence, time and number of the delivery from the subject on which
// it is acknowledged: $JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<sequence
// of the consumer>.<time>.<waiting>, in a newer form with two more tokens in front
// of the stream and perhaps one at the end.
func (d *Delivery) place(reply string) error {
	tokens := strings.Split(reply, ".")
	at := 4
	if len(tokens) >= 11 {
		at += 2
	}
	if len(tokens) < 9 || tokens[0] != "$JS" || tokens[1] != "ACK" {
		return fmt.Errorf("a delivery can not be acknowledged on %q", reply)
	}
	var err, err2, err3 error
	var nanos int64
	d.Delivered, err = strconv.ParseUint(tokens[at], 10, 64)
	d.Seq, err2 = strconv.ParseUint(tokens[at+1], 10, 64)
	nanos, err3 = strconv.ParseInt(tokens[at+3], 10, 64)
	d.Time = time.Unix(0, nanos).UTC()
	return errors.Join(err, err2, err3)
}
