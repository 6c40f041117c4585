package ingress

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/telemetrytest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
)

const (
	testBot    = "demo"
	testSecret = "webhook_Secret-1"
)

// What all tests' spans come to. A test tells its own by the provider, as it does what
// is measured.
var spans = tracetest.NewInMemoryExporter()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	goleak.VerifyTestMain(m)
}

// counting returns what is added from now on to a provider's part of
// bot.ingress.messages, by outcome.
func counting(t *testing.T, providerID string) func() map[string]int64 {
	t.Helper()
	before := counted(t, providerID)
	return func() map[string]int64 {
		t.Helper()
		now := counted(t, providerID)
		for outcome, n := range before {
			if now[outcome] -= n; now[outcome] == 0 {
				delete(now, outcome)
			}
		}
		return now
	}
}

func counted(t *testing.T, providerID string) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	for name, n := range telemetrytest.Metrics(t) {
		if outcome, ok := strings.CutPrefix(name, "bot.ingress.messages{bot.provider="+providerID+",outcome="); ok {
			got[strings.TrimSuffix(outcome, "}")] = int64(n)
		}
	}
	return got
}

// fakeJournal answers as it is told and remembers what it was given.
type fakeJournal struct {
	publish func(ctx context.Context, records []botmesh.Record) error

	mu  sync.Mutex
	got [][]botmesh.Record
}

func (j *fakeJournal) PublishAll(ctx context.Context, records []botmesh.Record) ([]journal.Placed, error) {
	j.mu.Lock()
	j.got = append(j.got, append([]botmesh.Record(nil), records...))
	j.mu.Unlock()
	if j.publish != nil {
		if err := j.publish(ctx, records); err != nil {
			return nil, err
		}
	}
	return make([]journal.Placed, len(records)), nil
}

func (j *fakeJournal) calls() [][]botmesh.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([][]botmesh.Record(nil), j.got...)
}

// openJournal opens a journal on a server in memory.
func openJournal(t *testing.T) *journal.Journal {
	t.Helper()
	server := jet.NewMemory()
	t.Cleanup(server.Close)
	j, err := journal.Open(t.Context(), journal.Config{
		Bot:   testBot,
		Inbox: server.Stream(journal.InboxStream(testBot), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
		Dead:  server.Stream(journal.DeadStream(testBot), jet.MemoryConfig{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// telegramAs makes a receiver of that id, so that a test's counts are its own.
func telegramAs(t *testing.T, id string) *telegram.Receiver {
	t.Helper()
	r, err := telegram.NewReceiver(telegram.ReceiverConfig{ID: id, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stub is a provider that does as it is told.
type stub struct {
	id    string
	parse func(http.Header, []byte) ([]botmesh.Record, error)
}

var _ provider.Receiver = stub{}

func (s stub) ID() string                       { return s.id }
func (s stub) MaxBody() int64                   { return 100 }
func (s stub) Verify(http.Header, []byte) error { return nil }

func (s stub) Parse(h http.Header, body []byte) ([]botmesh.Record, error) { return s.parse(h, body) }

func newHandler(t *testing.T, cfg Config) http.Handler {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// post sends a webhook with the secret.
func post(t *testing.T, h http.Handler, id string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/"+id, bytes.NewReader(body))
	r.Header.Set(telegram.SecretHeader, testSecret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// logs is a logger and what it was told.
func logs() (*slog.Logger, *syncBuffer) {
	var b syncBuffer
	return slog.New(slog.NewJSONHandler(&b, nil)), &b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
