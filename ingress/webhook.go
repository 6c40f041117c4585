package ingress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// The outcomes of webhooks. They are words of the metrics.
const (
	accepted     = "accepted"
	duplicate    = "duplicate"
	unauthorized = "unauthorized"
	rejected     = "rejected"
	unavailable  = "unavailable"
)

// verdict is what becomes of one webhook.
type verdict struct {
	status  int
	outcome string
	// text names the fault to whoever posted; empty with success.
	text string
	// answer is the JSON that the platform reads after success, nil for none.
	answer []byte
	// records counts what is stored, repeated those of them that were before.
	records, repeated int
	err               error
}

func (h *handler) webhook(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rcv := h.receivers[r.PathValue("provider")]
	if rcv == nil {
		http.NotFound(w, r)
		return
	}
	if hs, ok := rcv.Receiver.(provider.Handshaker); ok && r.Method == http.MethodGet {
		h.handshake(w, r, rcv, hs)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a webhook is a POST", http.StatusMethodNotAllowed)
		return
	}
	// A trace begins here: the platform's own, if it sends one, is not of this house.
	ctx, span := telemetry.Tracer().Start(r.Context(), telemetry.SpanWebhook, trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(telemetry.KeyProvider.String(rcv.ID())))
	defer span.End()

	v := h.take(ctx, w, r, rcv)
	h.answer(w, v)
	h.observe(ctx, span, rcv, v, time.Since(start))
}

// handshake answers a platform that verifies the address of its webhook.
func (h *handler) handshake(w http.ResponseWriter, r *http.Request, rcv *receiver, hs provider.Handshaker) {
	answer, err := hs.Handshake(r.URL.Query())
	if err != nil {
		rcv.refusals.Do(func() {
			h.cfg.Logger.WarnContext(r.Context(), "a webhook's address was not verified", "provider", rcv.ID(), "err", err)
		})
		http.Error(w, "not verified", http.StatusForbidden)
		return
	}
	h.cfg.Logger.InfoContext(r.Context(), "a webhook's address was verified", "provider", rcv.ID())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff") // it is what the caller sent
	io.WriteString(w, answer)
}

// take does all but the answer.
func (h *handler) take(ctx context.Context, w http.ResponseWriter, r *http.Request, rcv *receiver) verdict {
	limit := rcv.MaxBody()
	if r.ContentLength > limit {
		return unread(&http.MaxBytesError{Limit: limit}, limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return unread(err, limit)
	}
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	if err := rcv.Verify(header, body); err != nil {
		return unsigned(err)
	}
	recs, err := h.parse(ctx, rcv, header, body)
	if err != nil {
		return verdict{status: http.StatusBadRequest, outcome: rejected, text: err.Error(), err: err}
	}
	if len(recs) > maxRecords {
		text := fmt.Sprintf("the webhook holds %d events, over %d", len(recs), maxRecords)
		return verdict{status: http.StatusRequestEntityTooLarge, outcome: rejected, text: text, err: errors.New(text)}
	}
	return h.store(ctx, rcv, body, recs)
}

// unsigned tells why a request was not taken for the platform's, if that may be told.
func unsigned(err error) verdict {
	v := verdict{status: http.StatusUnauthorized, outcome: unauthorized, text: "not signed by the platform", err: err}
	var told provider.Refusal
	if errors.As(err, &told) {
		v.text = told.Error()
	}
	return v
}

// unread says why a body could not be read.
func unread(err error, limit int64) verdict {
	v := verdict{status: http.StatusBadRequest, outcome: rejected, text: "the body could not be read", err: err}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		v.status, v.text = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is over %d bytes", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		v.status, v.text = http.StatusRequestTimeout, "the body did not come in time"
	}
	return v
}

// parse never panics: a body that makes a provider panic becomes an event.
func (h *handler) parse(ctx context.Context, rcv *receiver, header http.Header, body []byte) (recs []botmesh.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Logger.ErrorContext(ctx, "parsing a webhook panicked, it is kept as an event",
				"provider", rcv.ID(), "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			recs, err = standIn(rcv.ID(), body), nil
		}
	}()
	return rcv.Parse(header, body)
}

// standIn is the one record of a body that can not be made into records. A
// repetition has the same body, hence the same id.
func standIn(providerID string, body []byte) []botmesh.Record {
	sum := sha256.Sum256(body)
	rec := botmesh.Record{
		Type: botmesh.TypeEvent,
		ID:   "body-" + hex.EncodeToString(sum[:16]),
		Chat: botmesh.ChatKey{Provider: providerID, Chat: "-"},
	}
	if json.Valid(body) {
		rec.Raw = body
	}
	return []botmesh.Record{rec}
}

// stored is what came of publishing a webhook's records.
type stored struct {
	placed []journal.Placed
	err    error
}

// store publishes the records. It goes on when the platform hangs up, or was answered
// that nothing is known to be stored: what is stored then is a duplicate when the
// platform repeats it.
func (h *handler) store(ctx context.Context, rcv *receiver, body []byte, recs []botmesh.Record) verdict {
	select {
	case h.slots <- struct{}{}:
	default:
		return verdict{status: http.StatusServiceUnavailable, outcome: unavailable, text: "too busy, repeat it later", err: errors.New("too many webhooks at once")}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.cfg.Timeout)
	defer cancel()
	done := make(chan stored, 1)
	go func() {
		defer func() { <-h.slots }()
		done <- h.journal(ctx, rcv, body, recs)
	}()
	var got stored
	select {
	case got = <-done:
	case <-ctx.Done(): // a client that is just connecting again may not heed it for seconds
		select {
		case got = <-done:
		default:
			got.err = fmt.Errorf("%w: %w", botmesh.ErrUnknown, ctx.Err())
		}
	}
	if got.err != nil {
		return verdict{status: http.StatusServiceUnavailable, outcome: unavailable, text: "not stored, repeat it later", err: got.err}
	}
	v := verdict{status: http.StatusOK, outcome: accepted, records: len(got.placed)}
	for _, p := range got.placed {
		if p.Duplicate {
			v.repeated++
		}
	}
	if a, ok := rcv.Receiver.(provider.Answerer); ok {
		v.answer = a.Answer(body)
	}
	return v
}

// journal publishes the records, or, if they can not be journaled, an event.
func (h *handler) journal(ctx context.Context, rcv *receiver, body []byte, recs []botmesh.Record) stored {
	placed, err := h.publish(ctx, recs)
	if errors.Is(err, journal.ErrInvalid) || errors.Is(err, botmesh.ErrTooLarge) {
		h.cfg.Logger.ErrorContext(ctx, "a webhook's records can not be journaled, it is kept as an event", "provider", rcv.ID(), "err", err)
		placed, err = h.publish(ctx, standIn(rcv.ID(), body))
	}
	return stored{placed, err}
}

func (h *handler) publish(ctx context.Context, recs []botmesh.Record) ([]journal.Placed, error) {
	headers := telemetry.Inject(ctx)
	for i := range recs {
		recs[i].Trace = headers
	}
	return h.cfg.Journal.PublishAll(ctx, recs)
}

func (h *handler) answer(w http.ResponseWriter, v verdict) {
	switch {
	case v.status == http.StatusOK && v.answer != nil:
		w.Header().Set("Content-Type", "application/json")
		w.Write(v.answer)
	case v.status == http.StatusOK:
		w.WriteHeader(http.StatusOK)
	default:
		if v.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(h.cfg.RetryAfter/time.Second))))
		}
		http.Error(w, v.text, v.status)
	}
}

// observe counts, traces and logs what became of a webhook. A refused one is
// counted once, since what was in it is not known.
func (h *handler) observe(ctx context.Context, span trace.Span, rcv *receiver, v verdict, took time.Duration) {
	count := func(outcome string, n int) {
		if n > 0 {
			telemetry.IngressMessages.Add(ctx, int64(n), metric.WithAttributes(
				telemetry.KeyProvider.String(rcv.ID()), telemetry.KeyOutcome.String(outcome)))
		}
	}
	telemetry.IngressDuration.Record(ctx, took.Seconds(), metric.WithAttributes(
		telemetry.KeyProvider.String(rcv.ID()), telemetry.KeyOutcome.String(v.outcome)))
	span.SetAttributes(telemetry.KeyOutcome.String(v.outcome), attribute.Int("http.response.status_code", v.status))
	if v.err == nil {
		count(accepted, v.records-v.repeated)
		count(duplicate, v.repeated)
		return
	}
	count(v.outcome, 1)
	if v.outcome == unavailable {
		span.SetStatus(codes.Error, v.text)
		rcv.outages.Do(func() {
			h.cfg.Logger.ErrorContext(ctx, "a webhook was not stored", "provider", rcv.ID(), "err", v.err)
		})
		return
	}
	rcv.refusals.Do(func() {
		h.cfg.Logger.WarnContext(ctx, "a webhook was refused", "provider", rcv.ID(), "outcome", v.outcome, "err", v.err)
	})
}
