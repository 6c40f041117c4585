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

// caller runs scripts. Calls that come while a pipeline is on its way go
// together in the next one, in the order they came: with many turns at once that
// halves the cost of each, and a lone call waits for nobody.
type caller struct {
	client  redis.UniversalClient
	timeout time.Duration // of one pipeline

	mu      sync.Mutex
	queue   []*call
	running bool
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

// start sends a script's call. It is sent whatever becomes of the caller.
func (c *caller) start(s *script, key string, args ...any) *call {
	call := &call{script: s, key: key, args: args, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, call)
	if !c.running {
		c.running = true
		go c.run()
	}
	return call
}

// wait returns the script's reply. An error is botmesh.ErrRefused if nothing
// happened, and botmesh.ErrUnknown if the script may have run or may still run.
func (c *call) wait(ctx context.Context) (reply, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("rediscoord: no answer yet: %w: %w", context.Cause(ctx), botmesh.ErrUnknown)
	}
}

// run sends batches until no call is left.
func (c *caller) run() {
	for {
		c.mu.Lock()
		n := min(len(c.queue), maxBatch)
		batch := c.queue[:n:n]
		if c.queue = c.queue[n:]; n == 0 {
			c.running, c.queue = false, nil
		}
		c.mu.Unlock()
		if n == 0 {
			return
		}
		c.send(batch)
		for _, call := range batch {
			close(call.done)
		}
	}
}

// send runs a batch by the scripts' hashes, and those that Redis does not know
// once more by their text: it is new, was restarted, or its scripts were flushed.
func (c *caller) send(batch []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.exchange(ctx, batch, func(to redis.Scripter, call *call) *redis.Cmd {
		return to.EvalSha(ctx, call.script.hash, []string{call.key}, call.args...)
	})
	var unknown []*call
	for _, call := range batch {
		if redis.HasErrorPrefix(call.err, "NOSCRIPT") {
			unknown = append(unknown, call)
		}
	}
	c.exchange(ctx, unknown, func(to redis.Scripter, call *call) *redis.Cmd {
		return to.Eval(ctx, call.script.source, []string{call.key}, call.args...)
	})
	for _, call := range batch {
		call.err = classify(call.err)
	}
}

// exchange sends calls and reads their replies; one alone needs no pipeline.
func (c *caller) exchange(ctx context.Context, batch []*call, run func(redis.Scripter, *call) *redis.Cmd) {
	if len(batch) == 0 {
		return
	}
	if len(batch) == 1 {
		batch[0].reply, batch[0].err = run(c.client, batch[0]).Slice()
		return
	}
	p := c.client.Pipeline()
	cmds := make([]*redis.Cmd, len(batch))
	for i, call := range batch {
		cmds[i] = run(p, call)
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
		return fmt.Errorf("rediscoord: %w: %w", err, botmesh.ErrRefused)
	default:
		return fmt.Errorf("rediscoord: %w: %w", err, botmesh.ErrUnknown)
	}
}
