package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// SPEC: J1 J2
func TestDuplicatePostIsOneRecord(t *testing.T) {
	t.Parallel()
	count := counting(t, "tg-dup")
	j := openJournal(t)
	// Two ingress replicas.
	a := newHandler(t, Config{Journal: j.Publisher, Receivers: []provider.Receiver{telegramAs(t, "tg-dup")}})
	b := newHandler(t, Config{Journal: j.Publisher, Receivers: []provider.Receiver{telegramAs(t, "tg-dup")}})
	body := telegramtest.Text(1, 55, "hi")
	for i, h := range []http.Handler{a, b, a} {
		if w := post(t, h, "tg-dup", body); w.Code != http.StatusOK || w.Body.Len() != 0 {
			t.Errorf("post %d: got %d %q, want an empty 200", i, w.Code, w.Body)
		}
	}
	chat := botmesh.ChatKey{Provider: "tg-dup", Chat: "55"}
	got, err := j.Read(t.Context(), chat, 0, 10)
	if err != nil || len(got) != 1 || got[0].Err != nil {
		t.Fatalf("got %v, %v, want one record", got, err)
	}
	if r := got[0].Record; r.Message.Text != "hi" || r.ID != "u1" || string(r.Raw) != string(body) || r.Trace["traceparent"] == "" {
		t.Errorf("got %+v, want the message with its id, its body and a trace", r)
	}
	if diff := cmp.Diff(map[string]int64{"accepted": 1, "duplicate": 2}, count()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// SPEC: X1 X2
func TestRefusals(t *testing.T) {
	t.Parallel()
	good := string(telegramtest.Text(1, 55, "hi"))
	for name, c := range map[string]struct {
		method, path, secret string
		body                 io.Reader
		status               int
		words                string
		outcome              string // counted, if not empty
	}{
		"WrongSecret":     {"POST", "/webhooks/", "Webhook_secret-1", strings.NewReader(good), 401, "not signed", "unauthorized"},
		"NoSecret":        {"POST", "/webhooks/", "", strings.NewReader(good), 401, "not signed", "unauthorized"},
		"BrokenUnsigned":  {"POST", "/webhooks/", "", strings.NewReader("{"), 401, "not signed", "unauthorized"},
		"BrokenJSON":      {"POST", "/webhooks/", testSecret, strings.NewReader(`{"update_id":1,"message":`), 400, "broken JSON at byte 25", "rejected"},
		"DeepJSON":        {"POST", "/webhooks/", testSecret, strings.NewReader(strings.Repeat(`{"a":`, 1000)), 400, "nested deeper than 64", "rejected"},
		"NoJSON":          {"POST", "/webhooks/", testSecret, strings.NewReader("a=b"), 400, "not a JSON object", "rejected"},
		"TooLarge":        {"POST", "/webhooks/", testSecret, strings.NewReader(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`), 413, "over 1048576 bytes", "rejected"},
		"TooLargeEndless": {"POST", "/webhooks/", testSecret, endless{}, 413, "over 1048576 bytes", "rejected"},
		"BodyBreaksOff":   {"POST", "/webhooks/", testSecret, io.MultiReader(strings.NewReader("{"), broken{}), 400, "could not be read", "rejected"},
		"Get":             {"GET", "/webhooks/", testSecret, nil, 405, "POST", ""},
		"NoProvider":      {"POST", "/webhooks/other", testSecret, strings.NewReader(good), 404, "", ""},
		"NoSuchPath":      {"POST", "/webhooks/a/b", testSecret, strings.NewReader(good), 404, "", ""},
		"Elsewhere":       {"GET", "/", "", nil, 404, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := "tg-" + strings.ToLower(name)
			count := counting(t, id)
			var j fakeJournal
			h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, id)}})
			path := c.path
			if path == "/webhooks/" {
				path += id
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, path, c.body)
			if c.secret != "" {
				r.Header.Set(telegram.SecretHeader, c.secret)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.words) {
				t.Errorf("got %d %q, want %d with %q", w.Code, w.Body, c.status, c.words)
			}
			if got := j.calls(); len(got) > 0 {
				t.Errorf("got %v journaled, want nothing", got)
			}
			want := map[string]int64{}
			if c.outcome != "" {
				want[c.outcome] = 1
			}
			if diff := cmp.Diff(want, count()); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A body that says itself that it is too large is not even begun.
func TestTooLargeByItsOwnWordIsNotRead(t *testing.T) {
	t.Parallel()
	h := newHandler(t, Config{Journal: &fakeJournal{}, Receivers: []provider.Receiver{telegramAs(t, "telegram")}})
	body := untouched{t}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/telegram", body)
	r.ContentLength = telegram.DefaultMaxBody + 1
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d, want 413", w.Code)
	}
}

type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("got a read, want none")
	return 0, io.EOF
}

// SPEC: J9
func TestWhatIsOfNoUseIsKept(t *testing.T) {
	t.Parallel()
	j := openJournal(t)
	h := newHandler(t, Config{Journal: j.Publisher, Receivers: []provider.Receiver{telegramAs(t, "telegram")}})
	for _, body := range []string{`{"update_id":1,"message":{"text":"who am I"}}`, `{"update_id":2,"novelty":{}}`, `{"message":5}`} {
		if w := post(t, h, "telegram", []byte(body)); w.Code != http.StatusOK {
			t.Errorf("%s: got %d %q, want 200", body, w.Code, w.Body)
		}
	}
	got, err := j.Read(t.Context(), botmesh.ChatKey{Provider: "telegram", Chat: "-"}, 0, 10)
	if err != nil || len(got) != 3 {
		t.Fatalf("got %v, %v, want three records", got, err)
	}
	for _, e := range got {
		if e.Err != nil || e.Record.Type != botmesh.TypeEvent {
			t.Errorf("got %s, %v, want an event", e.Record.Type, e.Err)
		}
	}
}

// SPEC: J1
func TestJournalThatHangsIs503InTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := fakeJournal{publish: func(ctx context.Context, _ []botmesh.Record) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", botmesh.ErrUnknown, ctx.Err())
		}}
		h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "tg-hang")}})
		start := time.Now()
		w := post(t, h, "tg-hang", telegramtest.Text(1, 55, "hi"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
			t.Errorf("got %d with Retry-After %q, want 503 with 1", w.Code, w.Header().Get("Retry-After"))
		}
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("got an answer after %v, want it after 1.5s", took)
		}
	})
}

// A journal whose client does not heed the end of its time, since it is just connecting
// again, delays no answer. Until it is done it counts as busy.
//
// SPEC: J1
func TestJournalThatHeedsNoTimeIs503InTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		j := fakeJournal{publish: func(context.Context, []botmesh.Record) error {
			if !back.Load() {
				time.Sleep(3 * time.Second)
			}
			return nil
		}}
		h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "tg-deaf")}, Concurrency: 1})
		for i, want := range []time.Duration{1500 * time.Millisecond, 0} {
			start := time.Now()
			w := post(t, h, "tg-deaf", telegramtest.Text(1, 55, "hi"))
			if took := time.Since(start); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || took != want {
				t.Errorf("post %d: got %d with Retry-After %q after %v, want 503 with 1 after %v", i, w.Code, w.Header().Get("Retry-After"), took, want)
			}
		}
		time.Sleep(2 * time.Second)
		back.Store(true)
		if w := post(t, h, "tg-deaf", telegramtest.Text(1, 55, "hi")); w.Code != http.StatusOK {
			t.Errorf("got %d afterwards, want 200", w.Code)
		}
	})
}

func TestJournalThatRefusesIs503(t *testing.T) {
	t.Parallel()
	j := fakeJournal{publish: func(context.Context, []botmesh.Record) error { return botmesh.ErrRefused }}
	logger, told := logs()
	count := counting(t, "tg-refuse")
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "tg-refuse")}, RetryAfter: 7 * time.Second, Logger: logger})
	for range 3 {
		w := post(t, h, "tg-refuse", telegramtest.Text(1, 55, "a secret word"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "7" {
			t.Errorf("got %d with Retry-After %q, want 503 with 7", w.Code, w.Header().Get("Retry-After"))
		}
	}
	if diff := cmp.Diff(map[string]int64{"unavailable": 3}, count()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if s := told.String(); strings.Count(s, "\n") != 1 || strings.Contains(s, "secret word") || strings.Contains(s, testSecret) {
		t.Errorf("got the log\n%swant one line, without what was said", s)
	}
}

// A platform that hangs up does not stop the storing, since it will not know.
func TestStoringOutlivesTheClient(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var seen error
	j := fakeJournal{publish: func(ctx context.Context, _ []botmesh.Record) error {
		cancel()
		seen = ctx.Err()
		return seen
	}}
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "telegram")}})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/webhooks/telegram", strings.NewReader(string(telegramtest.Text(1, 55, "hi"))))
	r.Header.Set(telegram.SecretHeader, testSecret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || seen != nil {
		t.Errorf("got %d and the context's error %v, want 200 and none", w.Code, seen)
	}
}

func TestOverloadIs503AtOnce(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	j := fakeJournal{publish: func(context.Context, []botmesh.Record) error {
		entered <- struct{}{}
		<-leave
		return nil
	}}
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "tg-load")}, Concurrency: 1})
	first := make(chan int, 1)
	go func() { first <- post(t, h, "tg-load", telegramtest.Text(1, 55, "hi")).Code }()
	<-entered
	if w := post(t, h, "tg-load", telegramtest.Text(2, 56, "hi")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d with Retry-After %q while busy, want 503 with one", w.Code, w.Header().Get("Retry-After"))
	}
	close(leave)
	if got := <-first; got != http.StatusOK {
		t.Errorf("got %d for the first, want 200", got)
	}
	go func() { <-entered }()
	if w := post(t, h, "tg-load", telegramtest.Text(2, 56, "hi")); w.Code != http.StatusOK {
		t.Errorf("got %d afterwards, want 200", w.Code)
	}
}

// SPEC: X2
func TestPanicInParseIsKeptAsEvent(t *testing.T) {
	t.Parallel()
	j := openJournal(t)
	logger, told := logs()
	h := newHandler(t, Config{Journal: j.Publisher, Logger: logger, Receivers: []provider.Receiver{
		stub{id: "stub", parse: func(http.Header, []byte) ([]botmesh.Record, error) { panic("private words") }},
	}})
	for _, body := range []string{`{"a":1}`, `{"a":1}`, `not JSON`} {
		if w := post(t, h, "stub", []byte(body)); w.Code != http.StatusOK {
			t.Errorf("got %d %q, want 200", w.Code, w.Body)
		}
	}
	got, err := j.Read(t.Context(), botmesh.ChatKey{Provider: "stub", Chat: "-"}, 0, 10)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v, want two events, the repeated body once", got, err)
	}
	if r := got[0].Record; r.Type != botmesh.TypeEvent || string(r.Raw) != `{"a":1}` {
		t.Errorf("got %+v, want an event with the body", r)
	}
	if s := told.String(); !strings.Contains(s, "panicked") || strings.Contains(s, "private words") {
		t.Errorf("got the log %s, want the panic, without its words", s)
	}
}

// A record that can never be journaled must not be repeated for a day.
func TestInvalidRecordIsKeptAsEvent(t *testing.T) {
	t.Parallel()
	for _, never := range []error{journal.ErrInvalid, botmesh.ErrTooLarge} {
		j := fakeJournal{publish: func(_ context.Context, records []botmesh.Record) error {
			if records[0].Type != botmesh.TypeEvent {
				return fmt.Errorf("record 1 of 1: %w", never)
			}
			return nil
		}}
		h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "telegram")}})
		if w := post(t, h, "telegram", telegramtest.Text(1, 55, "hi")); w.Code != http.StatusOK {
			t.Errorf("%v: got %d %q, want 200", never, w.Code, w.Body)
		}
		if got := j.calls(); len(got) != 2 || got[1][0].Chat.Chat != "-" {
			t.Errorf("%v: got %v, want the event after the message", never, got)
		}
	}
}

// SPEC: J3
func TestManyRecordsAreAllStoredOrRefused(t *testing.T) {
	t.Parallel()
	many := func(http.Header, []byte) ([]botmesh.Record, error) {
		recs := make([]botmesh.Record, 3)
		for i := range recs {
			recs[i] = botmesh.Record{Type: botmesh.TypeMessage, ID: fmt.Sprint(i), Chat: botmesh.ChatKey{Provider: "batch", Chat: fmt.Sprint(i)}}
		}
		return recs, nil
	}
	count := counting(t, "batch")
	down := true
	j := fakeJournal{publish: func(context.Context, []botmesh.Record) error {
		if down {
			return errors.Join(botmesh.ErrUnknown)
		}
		return nil
	}}
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{stub{id: "batch", parse: many}}})
	if w := post(t, h, "batch", []byte("x")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", w.Code)
	}
	down = false
	if w := post(t, h, "batch", []byte("x")); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
	if diff := cmp.Diff(map[string]int64{"accepted": 3, "unavailable": 1}, count()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestAnswerIsThePlatforms(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "telegram")}})
	w := post(t, h, "telegram", telegramtest.Press(9, 55, 3, "yes"))
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `"answerCallbackQuery"`) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %q of type %q, want the press answered", w.Code, got, w.Header().Get("Content-Type"))
	}
	j.publish = func(context.Context, []botmesh.Record) error { return botmesh.ErrRefused }
	if w := post(t, h, "telegram", telegramtest.Press(9, 55, 3, "yes")); strings.Contains(w.Body.String(), "answerCallbackQuery") {
		t.Errorf("got %q with the journal down, want no answer to the press", w.Body)
	}
}

func TestHostIsVerifiedToo(t *testing.T) {
	t.Parallel()
	var host string
	parse := func(h http.Header, _ []byte) ([]botmesh.Record, error) {
		host = h.Get("Host")
		return nil, nil
	}
	var j fakeJournal
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{stub{id: "stub", parse: parse}}})
	if w := post(t, h, "stub", nil); w.Code != 200 || host != "example.com" {
		t.Errorf("got %d with host %q, want 200 with example.com", w.Code, host)
	}
}

// SPEC: W1
func TestTraceBeginsHere(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{telegramAs(t, "tg-trace")}})
	outer, end := otel.Tracer("proxy").Start(t.Context(), "outer")
	defer end.End()
	r := httptest.NewRequestWithContext(outer, http.MethodPost, "/webhooks/tg-trace", strings.NewReader(string(telegramtest.Text(1, 55, "hi"))))
	r.Header.Set(telegram.SecretHeader, testSecret)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	h.ServeHTTP(httptest.NewRecorder(), r)
	var span *tracetest.SpanStub
	for _, s := range spans.GetSpans() {
		for _, a := range s.Attributes {
			if a.Key == "bot.provider" && a.Value.AsString() == "tg-trace" {
				span = &s
			}
		}
	}
	if span == nil {
		t.Fatal("got no span, want one")
	}
	if span.Name != "POST /webhooks/{provider}" || span.Parent.IsValid() {
		t.Errorf("got span %q with parent %v, want the root", span.Name, span.Parent.SpanID())
	}
	want := "00-" + span.SpanContext.TraceID().String() + "-" + span.SpanContext.SpanID().String() + "-01"
	if got := j.calls()[0][0].Trace["traceparent"]; got != want {
		t.Errorf("got traceparent %q in the record, want %q", got, want)
	}
}
