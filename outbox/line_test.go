package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// line is a process's way to the stream. rule, if set, decides what becomes of
// each call; it may block first.
type line struct {
	jet.Stream
	dead *atomic.Bool

	mu   sync.Mutex
	rule func(op) fate
	then func(op) // is called when a write was done, before the answer
	ops  []op
}

// op is a call of the stream.
type op struct {
	name    string // publish, last, next, range, info
	subject string
	expect  uint64
	data    string
	entry   entry // of a publish to a chain
}

func (o op) writes(k kind) bool { return o.name == "publish" && o.entry.Kind == k }

// fate is what becomes of a call.
type fate int

const (
	pass   fate = iota // it is done
	refuse             // it is not done, and the answer says so
	lose               // it is done, and the answer is lost
	drop               // it is lost
	lie                // it is not done, and the answer is a conflict
	die                // it is done, and the process is no more
)

func (l *line) setRule(rule func(op) fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rule = rule
}

func (l *line) fate(o op) fate {
	l.mu.Lock()
	l.ops = append(l.ops, o)
	rule := l.rule
	l.mu.Unlock()
	f := pass
	if rule != nil {
		f = rule(o)
	}
	if l.dead.Load() {
		return drop
	}
	return f
}

// when makes a rule: calls that are like that have that fate.
func when(like func(op) bool, f fate) func(op) fate {
	return func(o op) fate {
		if like(o) {
			return f
		}
		return pass
	}
}

// entries matches the writes of entries of a kind.
func entries(k kind) func(op) bool { return func(o op) bool { return o.writes(k) } }

func (l *line) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	o := op{name: "publish", subject: p.Subject, data: string(p.Data)}
	if p.Expect != nil {
		o.expect = *p.Expect
	}
	if strings.HasPrefix(p.Subject, familyReceipt) {
		_ = json.Unmarshal(p.Data, &o.entry)
	}
	switch l.fate(o) {
	case refuse:
		return jet.Ack{}, botmesh.ErrRefused
	case drop:
		return jet.Ack{}, botmesh.ErrUnknown
	case lie:
		return jet.Ack{}, botmesh.ErrConflict
	case die:
		l.dead.Store(true)
		_, _ = l.Stream.Publish(context.WithoutCancel(ctx), p)
		return jet.Ack{}, botmesh.ErrUnknown
	case lose:
		_, err := l.Stream.Publish(context.WithoutCancel(ctx), p)
		return jet.Ack{}, cmp.Or(err, botmesh.ErrUnknown)
	}
	ack, err := l.Stream.Publish(ctx, p)
	if l.then != nil {
		l.then(o)
	}
	return ack, err
}

func read[T any](l *line, name, subject string, do func() (T, error)) (T, error) {
	if f := l.fate(op{name: name, subject: subject}); f != pass {
		var zero T
		return zero, botmesh.ErrRefused
	}
	return do()
}

func (l *line) Last(ctx context.Context, subject string) (jet.Stored, error) {
	return read(l, "last", subject, func() (jet.Stored, error) { return l.Stream.Last(ctx, subject) })
}

func (l *line) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	return read(l, "next", subject, func() (jet.Stored, error) { return l.Stream.Next(ctx, subject, from) })
}

func (l *line) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	return read(l, "range", subject, func() ([]jet.Stored, error) { return l.Stream.Range(ctx, subject, from, limit) })
}

func (l *line) Info(ctx context.Context) (jet.Info, error) {
	return read(l, "info", "", func() (jet.Info, error) { return l.Stream.Info(ctx) })
}
