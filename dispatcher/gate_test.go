package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// verdict says what becomes of one call to an engine.
type verdict int

const (
	pass        verdict = iota
	refuse              // not done, and said so
	drop                // not done, no answer
	lose                // done, no answer
	falsely             // not done, answered as a conflict
	crashBefore         // the replica dies before it
	crashAfter          // the replica dies after it, before the answer
)

// gate stands between one replica and the engines. Every call is numbered and
// named, so that a test can fail any of them.
type gate struct {
	mu    sync.Mutex
	calls []string
	rule  func(n int, call string) verdict
	dead  bool
	deaf  bool   // it is told of no record
	crash func() // kills the replica
}

// pass asks for the verdict on a call.
func (g *gate) ask(call string) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return drop
	}
	g.calls = append(g.calls, call)
	if g.rule == nil {
		return pass
	}
	return g.rule(len(g.calls)-1, call)
}

func (g *gate) kill() {
	g.mu.Lock()
	g.dead = true
	crash := g.crash
	g.mu.Unlock()
	if crash != nil {
		crash()
	}
}

func (g *gate) log() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.calls...)
}

func (g *gate) set(rule func(n int, call string) verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rule = rule
}

// do makes a call under the gate's verdict.
func do[T any](ctx context.Context, g *gate, call string, real func() (T, error)) (T, error) {
	var none T
	switch g.ask(call) {
	case refuse:
		return none, botmesh.ErrRefused
	case falsely:
		return none, botmesh.ErrConflict
	case drop:
		return none, g.silence(ctx)
	case lose:
		if _, err := real(); err != nil {
			return none, err
		}
		return none, botmesh.ErrUnknown
	case crashBefore:
		g.kill()
		return none, g.silence(ctx)
	case crashAfter:
		_, _ = real()
		g.kill()
		return none, g.silence(ctx)
	}
	return real()
}

// silence is what a call without an answer ends in: its own timeout.
func (g *gate) silence(ctx context.Context) error {
	t := time.NewTimer(2 * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return botmesh.ErrUnknown
}

// gated is a stream behind a gate.
type gated struct {
	jet.Stream
	g *gate
}

func (s gated) name(verb, what string) string {
	stream := s.Name()[strings.LastIndexByte(s.Name(), '_')+1:]
	return strings.ToLower(stream) + " " + verb + " " + what
}

func (s gated) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	return do(ctx, s.g, s.name("publish", strings.SplitN(p.Subject, ".", 3)[1]), func() (jet.Ack, error) { return s.Stream.Publish(ctx, p) })
}

func (s gated) Last(ctx context.Context, subject string) (jet.Stored, error) {
	return read(ctx, s.g, s.name("last", strings.SplitN(subject, ".", 3)[1]), func() (jet.Stored, error) { return s.Stream.Last(ctx, subject) })
}

func (s gated) Get(ctx context.Context, seq uint64) (jet.Stored, error) {
	return read(ctx, s.g, s.name("get", ""), func() (jet.Stored, error) { return s.Stream.Get(ctx, seq) })
}

func (s gated) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	return read(ctx, s.g, s.name("next", ""), func() (jet.Stored, error) { return s.Stream.Next(ctx, subject, from) })
}

func (s gated) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	return read(ctx, s.g, s.name("range", ""), func() ([]jet.Stored, error) { return s.Stream.Range(ctx, subject, from, limit) })
}

func (s gated) Info(ctx context.Context) (jet.Info, error) {
	return read(ctx, s.g, s.name("info", ""), func() (jet.Info, error) { return s.Stream.Info(ctx) })
}

// read makes a read: one without an answer is refused, since it changes nothing.
func read[T any](ctx context.Context, g *gate, call string, real func() (T, error)) (T, error) {
	v, err := do(ctx, g, call, real)
	if err != nil && (err == botmesh.ErrUnknown || err == botmesh.ErrConflict) {
		err = botmesh.ErrRefused
	}
	return v, err
}

func (s gated) Consumer(ctx context.Context, cfg jet.ConsumerConfig) (jet.Consumer, error) {
	c, err := s.Stream.Consumer(ctx, cfg)
	return gatedConsumer{c, s.g}, err
}

type gatedConsumer struct {
	jet.Consumer
	g *gate
}

func (c gatedConsumer) Pull(ctx context.Context, limit int, wait time.Duration, each func(jet.Delivery)) error {
	c.g.mu.Lock()
	dead := c.g.dead || c.g.deaf
	c.g.mu.Unlock()
	if dead {
		return botmesh.ErrRefused
	}
	return c.Consumer.Pull(ctx, limit, wait, func(d jet.Delivery) {
		ack, nak, progress := d.Ack, d.Nak, d.Progress
		d.Ack = func() error { return mark(c.g, "ack", ack) }
		d.Nak = func(after time.Duration) error {
			return mark(c.g, "nak", func() error { return nak(after) })
		}
		d.Progress = func() error {
			if c.g.isDead() {
				return botmesh.ErrUnknown
			}
			return progress()
		}
		each(d)
	})
}

func (g *gate) deafen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deaf = true
}

func (g *gate) hear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deaf = false
}

func (g *gate) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

func mark(g *gate, call string, real func() error) error {
	switch g.ask(call) {
	case refuse, drop, falsely:
		return botmesh.ErrUnknown
	case crashBefore:
		g.kill()
		return botmesh.ErrUnknown
	case crashAfter:
		err := real()
		g.kill()
		return err
	}
	return real()
}

func (v verdict) String() string {
	return [...]string{"pass", "refuse", "drop", "lose", "falsely", "crash before", "crash after"}[v]
}

var _ fmt.Stringer = pass
