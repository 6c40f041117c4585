package rediscoord

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
)

// maxBatch is the most script calls that go to Redis in one pipeline.
const maxBatch = 256

// clusterWires is how many wires share a cluster.
const clusterWires = 64

// wires run scripts on all servers. On a cluster each has a range of slots, so
// that a server that hangs holds up few calls but its own.
type wires struct {
	all     []*wire
	timeout time.Duration // of one exchange
}

func newWires(cfg Config) *wires {
	n := 1
	if _, ok := cfg.Client.(*redis.ClusterClient); ok {
		n = clusterWires
	}
	w := &wires{timeout: callTimeout(cfg.Lease)}
	for range n {
		w.all = append(w.all, &wire{
			client: cfg.Client, timeout: w.timeout, replicas: cfg.WaitReplicas, reach: reach{after: cfg.Lease / 3},
		})
	}
	return w
}

// of is the wire for a name in Redis.
func (w *wires) of(name string) *wire {
	if len(w.all) == 1 {
		return w.all[0]
	}
	return w.all[slot(name)*len(w.all)/16384]
}

// start sends a call, whatever becomes of who made it.
func (w *wires) start(call *call) { w.of(call.key).start(call) }

// do sends a call and returns its reply, as wait does. It does not look at ctx
// while it talks to Redis itself, for as long as the timeout.
func (w *wires) do(ctx context.Context, call *call) (reply, error) {
	return w.of(call.key).do(ctx, call)
}

// wire runs scripts, one exchange with Redis at a time. Calls that come while one
// is on its way go together in the next, in the order they came: with many turns
// at once that costs a third of what each alone would. A lone call is sent from
// where it is made.
type wire struct {
	client   redis.UniversalClient
	timeout  time.Duration // of one exchange
	replicas int           // that are waited for
	reach    reach

	mu    sync.Mutex
	queue []*call
	busy  bool
}

// call is one run of a script.
type call struct {
	script *script
	key    string
	args   []any
	done   chan struct{} // closed when reply and err are set
	reply  reply
	err    error
}

func (w *wire) start(call *call) {
	if w.enqueue(call) {
		go w.run()
	}
}

func (w *wire) do(ctx context.Context, call *call) (reply, error) {
	if !w.enqueue(call) {
		return call.wait(ctx)
	}
	w.send(w.next())
	if w.more() {
		go w.run()
	}
	return call.reply, call.err
}

// enqueue reports whether who calls has to see to the queue itself.
func (w *wire) enqueue(call *call) bool {
	call.done = make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, call)
	first := !w.busy
	w.busy = true
	return first
}

// next takes the next batch off the queue.
func (w *wire) next() []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), maxBatch)
	batch := w.queue[:n:n]
	w.queue = w.queue[n:]
	return batch
}

// more reports whether there is another batch. If not, nobody sees to the queue
// from here on.
func (w *wire) more() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.busy, w.queue = false, nil
	}
	return w.busy
}

// run sends batches until none is left.
func (w *wire) run() {
	for {
		w.send(w.next())
		if !w.more() {
			return
		}
	}
}

// wait returns the reply of a call that was started. An error is botmesh.ErrRefused
// if nothing happened, and botmesh.ErrUnknown if the script may have run or may
// still run.
func (c *call) wait(ctx context.Context) (reply, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		return nil, &failed{fmt.Errorf("no answer yet: %w", context.Cause(ctx)), botmesh.ErrUnknown}
	}
}

// send runs a batch by the scripts' hashes, and those that Redis does not know
// once more by their text: it is new, was restarted, or its scripts were flushed.
func (w *wire) send(batch []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	sent := time.Now()
	w.exchange(ctx, batch, func(call *call) once { return call.run(ctx, "evalsha", call.script.hash) })
	var unknown []*call
	for _, call := range batch {
		if redis.HasErrorPrefix(call.err, "NOSCRIPT") {
			unknown = append(unknown, call)
		}
	}
	w.exchange(ctx, unknown, func(call *call) once { return call.run(ctx, "eval", call.script.source) })
	failed := batch[0].err // of all; nil if one was answered
	for _, call := range batch {
		call.err = classify(call.err)
		if call.err != nil {
			reload(ctx, w.client)
		} else {
			failed = nil
		}
	}
	w.reach.note(sent, failed) // before whoever called knows
	for _, call := range batch {
		close(call.done)
	}
}

// reload asks the client of a cluster to look again who has which slots: it does
// not by itself when a server is gone. It does not wait for it.
func reload(ctx context.Context, client redis.UniversalClient) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// once is a command that is not sent again if it may have run: neither a lost
// connection nor a cluster that changes makes the client repeat it. Where a
// server says that another has the key, it is sent there.
type once struct{ *redis.Cmd }

// NoRetry tells the client.
func (once) NoRetry() bool { return true }

// run is the command that runs the call's script, by its hash or its text.
func (c *call) run(ctx context.Context, verb, script string) once {
	cmd := redis.NewCmd(ctx, append([]any{verb, script, 1, c.key}, c.args...)...)
	cmd.SetFirstKeyPos(3)
	return once{cmd}
}

// exchange sends calls and reads their replies; one alone needs no pipeline.
func (w *wire) exchange(ctx context.Context, batch []*call, run func(*call) once) {
	if len(batch) == 0 {
		return
	}
	if len(batch) == 1 && w.replicas == 0 {
		cmd := run(batch[0])
		w.client.Process(ctx, cmd) // the command has its error
		batch[0].reply, batch[0].err = cmd.Slice()
		return
	}
	p := w.client.Pipeline()
	cmds := make([]once, len(batch))
	for i, call := range batch {
		cmds[i] = run(call)
		p.Process(ctx, cmds[i])
	}
	if w.replicas > 0 {
		p.Do(ctx, "wait", w.replicas, (w.timeout / 3).Milliseconds()) // fewer is no fault: what was done is done
	}
	p.Exec(ctx) // each command has its own error
	for i, call := range batch {
		call.reply, call.err = cmds[i].Slice()
	}
}

// classify says whether a call that failed may have happened. Redis' own word is
// a refusal; what never left this process was not done; anything else is unknown.
func classify(err error) error {
	var said redis.Error
	var net *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said), errors.As(err, &net) && net.Op == "dial",
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout):
		return &failed{err, botmesh.ErrRefused}
	default:
		return &failed{err, botmesh.ErrUnknown}
	}
}

// failed is a call that came to nothing, as far as is known.
type failed struct{ why, kind error }

func (f *failed) Error() string   { return fmt.Sprintf("rediscoord: %v: %v", f.why, f.kind) }
func (f *failed) Unwrap() []error { return []error{f.why, f.kind} }

// unread is the error of what only looks: botmesh.ErrRefused, without a word of writing.
func unread(err error) error {
	why := err
	if f, ok := errors.AsType[*failed](err); ok {
		why = f.why
	}
	return &notSeen{why, err}
}

type notSeen struct{ why, err error }

func (n *notSeen) Error() string   { return "not answered: " + n.why.Error() }
func (n *notSeen) Unwrap() []error { return []error{botmesh.ErrRefused, n.err} }
