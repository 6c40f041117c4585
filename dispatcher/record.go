package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/limit"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// record brings one record to its end: applied, without effect, or set aside. A
// failed run is run again here, under the same turn, unless another replica waits.
func (h *hold) record(e journal.Entry) error {
	if errors.Is(e.Err, journal.ErrNewer) {
		return h.d.parking.newer(h.chat, h.row, e.Err.Error())
	}
	if e.Err != nil {
		return h.setRecordAside(e.Record, 0, e.Err)
	}
	if h.passedOver(e.Record) {
		return h.passOver(e.Record)
	}
	repeated, err := h.repeated(h.ctx, e.Record)
	if err != nil {
		return err
	}
	if repeated {
		telemetry.DuplicatesIn.Add(h.ctx, 1)
		return h.skip(e.Record)
	}
	if _, armed := fired(h.cp, e.Record); e.Record.Type == botmesh.TypeTimer && !armed {
		return h.skip(e.Record)
	}
	if err := h.claim(e.Record); err != nil {
		return err
	}
	return h.tryUntilApplied(e.Record)
}

// tryUntilApplied runs a record until it is applied or set aside, or an operator wants
// it passed over.
func (h *hold) tryUntilApplied(r botmesh.Record) error {
	var also []botmesh.Record // what interrupted its runs so far
	for {
		tries := h.tries(r)
		if tries.Deaths >= convicted {
			return h.setRecordAside(r, tries.N, errKills(tries.Deaths))
		}
		if err := h.backOff(tries.NotBefore); err != nil {
			return err
		}
		if err := h.paused(h.ctx); err != nil {
			return err
		}
		if h.passedOver(r) { // as the look for a pause may have learned just now
			return h.passOver(r)
		}
		err := h.attempt(r, also, &tries)
		var failed *failedError
		var interrupted *interruptedError
		switch {
		case errors.As(err, &interrupted):
			also = interrupted.also
			continue
		case err == nil:
			h.d.parking.served(h.key)
			return nil
		case !errors.As(err, &failed):
			return err
		case errors.Is(err, botmesh.ErrStranded):
			return h.strand(r, tries, failed.err)
		case tries.N+1 >= h.d.cfg.Tries:
			return h.setRecordAside(r, tries.N+1, failed.err)
		}
		if err := h.noteTry(r, tries, failed.err); err != nil {
			return err
		}
	}
}

// failedError is a failed try of a record, of which everything else is not: a
// lost turn, a drain, an engine that is away.
type failedError struct{ err error }

func (e *failedError) Error() string { return e.err.Error() }
func (e *failedError) Unwrap() error { return e.err }

// tries returns what is known of earlier runs of a record.
func (h *hold) tries(r botmesh.Record) checkpoint.Tries {
	if t := h.cp.Tries; t != nil && t.Record == r.Seq && t.Epoch == r.Epoch {
		return *t
	}
	return checkpoint.Tries{Record: r.Seq, Epoch: r.Epoch}
}

// backOff waits until a record may be run again, holding the turn but no slot. Where
// another replica waits for the chat, the turn and the next try are that one's: this one
// may be why the last failed, or took too long. A conversation that is best gone on with
// here stays.
func (h *hold) backOff(until time.Time) error {
	wait := time.Until(until)
	if wait <= 0 {
		return nil
	}
	stayer, stays := as[Stayer](h.d.cfg.Runner)
	if h.turn.Waiting().Tickets > 0 && !(stays && stayer.Stays(h.cp.State)) {
		return &laterError{until, "another replica waits for the chat"}
	}
	h.slot.give()
	h.enter(PhaseBackoff, h.fence)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	defer context.AfterFunc(h.d.soft, cancel)()
	if !pause(ctx, wait) {
		if h.ctx.Err() != nil {
			return context.Cause(h.ctx)
		}
		return &laterError{until, "draining"}
	}
	return h.slot.take(h.ctx, true)
}

// attempt runs a record once, with what interrupted it before, and applies what it decided.
// A failed one leaves its trace in tries.
func (h *hold) attempt(r botmesh.Record, also []botmesh.Record, tries *checkpoint.Tries) error {
	ctx, span := h.begin(r, *tries)
	defer span.End()
	began, result, from := time.Now(), "applied", h.cp.By
	outcome, more, err := h.run(ctx, r, also, *tries)
	telemetry.TurnDuration.Record(ctx, time.Since(began).Seconds())
	switch {
	case err != nil:
	case outcome.Ignored && r.Resume != nil: // it is the timers' that matters here
		err = h.resume(ctx, r, more)
	case outcome.Ignored:
		result = "ignored"
		err = h.skip(r, more...)
	default:
		if err = h.apply(ctx, r, more, outcome); err == nil && outcome.Handover != nil {
			h.handedOver(ctx, *outcome.Handover, from)
		}
	}
	for _, r := range more {
		for _, link := range telemetry.Linked(nil, "together", r.Trace) {
			span.AddLink(link)
		}
	}
	if err != nil {
		span.SetStatus(codes.Error, "not applied")
		result = "lost" // the turn ended, or another replica was first
		switch {
		case errors.Is(err, botmesh.ErrStranded):
			result = "stranded"
			span.RecordError(err)
		case errors.As(err, new(*failedError)):
			result, tries.Trace = "failed", telemetry.Inject(ctx)
			span.RecordError(err)
		case errors.As(err, new(*interruptedError)):
			result = "interrupted"
		}
	}
	if err != nil && h.turn.Context().Err() != nil {
		// Whether the run was cut off or its write was not sent: its commit was refused here.
		telemetry.Conflicts.Add(ctx, 1, reason("lease_lost"))
		if loss := lossOf(context.Cause(h.turn.Context())); loss != "" {
			lostIn(span, loss)
		}
	}
	telemetry.Turns.Add(ctx, 1, metric.WithAttributes(telemetry.KeyOutcome.String(result)))
	return err
}

// begin begins the span of a run: in the trace of its record, that of a timer in one of
// its own. It is linked to the run that left the conversation, the one that armed the
// timer, and the try before.
func (h *hold) begin(r botmesh.Record, tries checkpoint.Tries) (context.Context, trace.Span) {
	links := telemetry.Linked(nil, "retry", tries.Trace)
	if i := slices.IndexFunc(h.cp.Timers, func(t checkpoint.Armed) bool { return t.ID == r.Timer }); i >= 0 {
		links = telemetry.Linked(links, "timer", h.cp.Timers[i].Trace)
	}
	links = telemetry.Linked(links, "conversation", h.cp.Trace)
	return telemetry.Tracer().Start(telemetry.Extract(h.ctx, r.Trace), telemetry.SpanTurn,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...),
		trace.WithAttributes(telemetry.KeyProvider.String(r.Chat.Provider), telemetry.KeyChat.String(r.Chat.String()),
			telemetry.KeyType.String(string(r.Type)), telemetry.KeySeq.Int64(int64(r.Seq)),
			telemetry.KeyFence.Int64(int64(h.fence)), telemetry.KeyTry.Int(tries.N+1)))
}

// run hands a record to the Runner, for at most Settle or what the run says of it, and returns what was decided
// and for which records behind it. An error of the Runner is a failedError; an
// interruptedError says that another message came first. A run that does not heed the
// end of its context is left behind: what it still does has no effect.
func (h *hold) run(ctx context.Context, r botmesh.Record, also []botmesh.Record, tries checkpoint.Tries) (botmesh.Outcome, []botmesh.Record, error) {
	leave, err := h.company(ctx, tries)
	if err != nil {
		return botmesh.Outcome{}, nil, err
	}
	defer leave()
	h.enter(PhaseRunning, h.fence)
	defer h.enter(PhaseHolding, h.fence)
	ctx, settle, cancel := limit.Within(ctx, h.d.cfg.Settle, &botmesh.LeaseLostError{Key: h.key, Reason: botmesh.LossSettled})
	defer cancel()
	h.user = nil
	ctx, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	m, w := newMidway(h.newSigns(ctx, r), settle), h.watch(r, also)
	defer m.end()
	defer w.stop()
	ended := h.d.start(ctx, h.runOf(r, also, tries), m)
	eager := 0
	renew, stop := h.renewals()
	defer stop()
	for {
		select {
		case <-renew:
			if err := h.renewClaim(h.ctx); err != nil {
				m.seal()
				return botmesh.Outcome{}, nil, err
			}
		case q := <-m.requests:
			switch {
			case w.takes(q):
				w.look(ctx)
			case q.end && w.came():
				interrupt(botmesh.ErrInterrupted)
				q.answer <- answer{err: botmesh.ErrInterrupted}
				m.seal()
				h.left(ctx, ended)
				return botmesh.Outcome{}, nil, &interruptedError{w.more}
			case q.end:
				q.answer <- answer{err: errNothingCame}
			default:
				a := h.midway(ctx, r, q, &eager)
				if a.err != nil && !errors.As(a.err, new(*failedError)) {
					m.seal() // the chat is another's, or its commit hangs: nothing more of this run
					q.answer <- a
					return botmesh.Outcome{}, nil, a.err
				}
				q.answer <- a
			}
		case <-w.woken:
			w.look(ctx)
		case <-w.tick:
			w.look(ctx)
		case res := <-ended:
			return h.decided(ctx, w, res)
		case <-ctx.Done():
			m.seal()
			return botmesh.Outcome{}, nil, h.cutOff(ctx, ended)
		}
	}
}

// runOf is what the Runner is given.
func (h *hold) runOf(r botmesh.Record, also []botmesh.Record, tries checkpoint.Tries) botmesh.Run {
	timer, _ := fired(h.cp, r)
	run := botmesh.Run{
		Record: r, Also: also, Timer: timer, State: h.cp.State, Kept: h.during(r).Kept,
		Try: tries.N + 1, Fence: h.fence, Now: time.Now(), Open: h.d.cfg.Files,
	}
	if h.cp.By != h.d.cfg.Coordinator.Incarnation() {
		run.From = h.cp.By
	}
	return run
}

// decided is what a run came to that has ended by itself.
func (h *hold) decided(ctx context.Context, w *watch, res result) (botmesh.Outcome, []botmesh.Record, error) {
	if h.ctx.Err() != nil {
		return botmesh.Outcome{}, nil, context.Cause(h.ctx)
	}
	if res.err != nil {
		if lossOf(context.Cause(ctx)) == botmesh.LossSettled {
			h.lose(ctx, botmesh.LossSettled) // cut off all the same: it heeded the end of its time
		}
		return botmesh.Outcome{}, nil, &failedError{res.err}
	}
	more, err := w.through(res.outcome.Through)
	if err != nil {
		return botmesh.Outcome{}, nil, &failedError{err}
	}
	return res.outcome, more, nil
}

type result struct {
	outcome botmesh.Outcome
	err     error
}

// start calls the Runner in a goroutine of its own, so that one that hangs can be
// left behind. The channel takes its result without a reader.
func (d *Dispatcher) start(ctx context.Context, r botmesh.Run, m botmesh.Midway) <-chan result {
	ended := make(chan result, 1)
	go func() {
		res := result{err: errExited} // until it returns
		defer func() {
			if p := recover(); p != nil {
				res.err = panicked(p)
			}
			ended <- res
		}()
		res.outcome, res.err = d.cfg.Runner.Run(ctx, r, m)
	}()
	return ended
}

// errExited is of a Runner that neither returned nor panicked.
var errExited = errors.New("dispatcher: the run ended its goroutine, by runtime.Goexit: a handler must return")

// panicked is the error of a panic. It names the type of what was thrown, whose
// value may hold what a user wrote.
func panicked(p any) error {
	return fmt.Errorf("panic: %T\n%s", p, debug.Stack())
}

// cutOff says why a run was cut, having given it a moment to return.
func (h *hold) cutOff(ctx context.Context, ended <-chan result) error {
	h.left(ctx, ended)
	if h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	h.lose(ctx, botmesh.LossSettled)
	return &failedError{context.Cause(ctx)}
}

// left gives a run whose context ended a moment to return.
func (h *hold) left(ctx context.Context, ended <-chan result) {
	grace := time.NewTimer(h.d.cfg.Lease / 10)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		h.d.log.ErrorContext(ctx, "a run goes on after its context ended, it is left behind without effect", "chat", h.chat)
	}
}

// reason labels a metric.
func reason(r string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(string(telemetry.KeyReason), r))
}
