package ingress

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cenkalti/backoff/v4"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// storeTry bounds one try to store what a session brought; it is repeated.
const storeTry = 5 * time.Second

// sink implements [provider.Sink] for one opening of a session.
type sink struct {
	holder *Holder
	term   *term
}

// Alive implements [provider.Sink].
func (k *sink) Alive() {
	_ = k.term.lost() // a process that stood still learns here that its time is over
	k.holder.alive(k.term)
}

// Store implements [provider.Sink].
func (k *sink) Store(ctx context.Context, items [][]byte) error {
	if err := k.term.lost(); err != nil {
		return err
	}
	each := make([][]botmesh.Record, len(items))
	var all []botmesh.Record
	for i, item := range items {
		itemCtx, span := k.begin(ctx)
		defer span.End()
		each[i] = traced(itemCtx, k.parse(itemCtx, item))
		all = append(all, each[i]...)
	}
	err := k.publish(ctx, all)
	if unstorable(err) { // one of them: which, is found one by one
		for i, item := range items {
			if err = k.storeOne(ctx, item, each[i]); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	k.holder.received(k.term)
	return k.term.lost() // who has lost it must not confirm: another does
}

// begin begins the trace of an item.
func (k *sink) begin(ctx context.Context) (context.Context, trace.Span) {
	return telemetry.Tracer().Start(ctx, telemetry.SpanReceive, trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(telemetry.KeyProvider.String(k.id())))
}

func (k *sink) id() string { return k.holder.cfg.Session.ID() }

// parse never fails: what can not be made into records becomes an event.
func (k *sink) parse(ctx context.Context, item []byte) (recs []botmesh.Record) {
	log := k.holder.cfg.Logger
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "parsing what a session brought panicked, it is kept as an event",
				"provider", k.id(), "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			recs = standIn(k.id(), item)
		}
	}()
	recs, err := k.holder.cfg.Session.Parse(item)
	if err != nil {
		log.WarnContext(ctx, "what a session brought can not be read, it is kept as an event", "provider", k.id(), "err", err)
		return standIn(k.id(), item)
	}
	return recs
}

func unstorable(err error) bool {
	return errors.Is(err, journal.ErrInvalid) || errors.Is(err, botmesh.ErrTooLarge)
}

// storeOne publishes the records of one item, or, if they can not be, an event of
// it, or, if that can not be, one that says only that there was something.
func (k *sink) storeOne(ctx context.Context, item []byte, recs []botmesh.Record) error {
	err := k.publish(ctx, recs)
	if !unstorable(err) {
		return err
	}
	k.holder.cfg.Logger.Error("what a session brought can not be journaled, it is kept as an event", "provider", k.id(), "err", err)
	event := standIn(k.id(), item)
	if err = k.publish(ctx, event); !unstorable(err) {
		return err
	}
	event[0].Raw = nil
	return k.publish(ctx, event)
}

// publish journals records, however long that takes. Its error is that no repetition
// would help, or that ctx ended.
func (k *sink) publish(ctx context.Context, recs []botmesh.Record) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(3*time.Second), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(func() error {
		try, cancel := context.WithTimeout(ctx, storeTry)
		defer cancel()
		placed, err := k.holder.cfg.Journal.PublishAll(try, recs)
		switch {
		case err == nil:
			k.count(ctx, placed)
			return nil
		case unstorable(err):
			return backoff.Permanent(err)
		case ctx.Err() == nil:
			k.holder.stalled(k.term, err)
		}
		return err
	}, backoff.WithContext(pauses, ctx))
	if err != nil && !unstorable(err) {
		return context.Cause(ctx)
	}
	return err
}

func (k *sink) count(ctx context.Context, placed []journal.Placed) {
	for _, p := range placed {
		outcome := accepted
		if p.Duplicate {
			outcome = duplicate
		}
		telemetry.IngressMessages.Add(ctx, 1, metric.WithAttributes(telemetry.KeyProvider.String(k.id()), telemetry.KeyOutcome.String(outcome)))
	}
}

// traced puts the trace of ctx into records.
func traced(ctx context.Context, recs []botmesh.Record) []botmesh.Record {
	headers := telemetry.Inject(ctx)
	for i := range recs {
		recs[i].Trace = headers
	}
	return recs
}
