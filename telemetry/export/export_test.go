package export

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/botmesh-go/botmesh/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is an OTLP receiver that keeps the requests to each path.
type collector struct {
	mu     sync.Mutex
	bodies map[string][][]byte
}

func startCollector(t *testing.T) (*collector, string) {
	t.Helper()
	c := &collector{bodies: map[string][][]byte{}}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the exporter went away
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], body)
	}))
	t.Cleanup(srv.Close)
	return c, srv.URL
}

func (c *collector) got(path string) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies[path]
}

func page(t *testing.T, s *SDK) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// The tests of this file set the process's SDK and environment: none is parallel.

// SPEC W2
func TestMetricsPage(t *testing.T) {
	s, err := Start(t.Context(), Config{Service: "botmesh-test"})
	if err != nil {
		t.Fatal(err)
	}
	telemetry.Zero(t.Context(), "telegram")
	telemetry.Conflicts.Add(t.Context(), 3)
	telemetry.TurnWait.Record(t.Context(), 0.2)
	got := page(t, s)
	for _, want := range []string{
		"\nbot_checkpoint_conflicts_total 3\n", "bot_turn_wait_seconds_bucket{", "go_goroutine_count", `service_name="botmesh-test"`,
		"\nbot_outbox_in_doubt_total{bot_provider=\"telegram\"} 0\n", "\nbot_dlq_messages_total{kind=\"send\"} 0\n", "\nbot_outbox_breaker_total{bot_provider=\"telegram\",outcome=\"open\"} 0\n",
		"\nbot_lease_lost_total{reason=\"stalled\"} 0\n", "\nbot_checkpoint_conflicts_total{reason=\"superseded\"} 0\n", "\nbot_turn_deaths_total 0\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// SPEC W1: spans and metrics reach the address that the environment names, at the
// latest when the program ends.
func TestExportsWhereTheEnvironmentSays(t *testing.T) {
	c, url := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	t.Setenv("OTEL_SERVICE_NAME", "the-teams-own")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=here")
	s, err := Start(t.Context(), Config{Service: "botmesh-test", Version: "1.2.3", Replica: "r1", Env: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, span := telemetry.Tracer().Start(ctx, "one")
	span.End()
	cancel() // a program closes after its context ended
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}

	if got := len(c.got("/v1/metrics")); got == 0 {
		t.Error("no metrics came")
	}
	bodies := c.got("/v1/traces")
	if len(bodies) != 1 {
		t.Fatalf("got %d exports of traces, want 1", len(bodies))
	}
	var req tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(bodies[0], &req); err != nil {
		t.Fatal(err)
	}
	got := req.String()
	for _, want := range []string{"the-teams-own", "1.2.3", "r1", "here", telemetry.Scope, `"one"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
}

func TestExportsNothingUnasked(t *testing.T) {
	none := func(name string) func(string) string {
		return func(n string) string {
			return map[string]map[string]string{
				"nothing":  {},
				"none":     {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"},
				"disabled": {"OTEL_SDK_DISABLED": "true", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"},
				"ours":     {"OTEL_METRICS_EXPORTER": "prometheus"},
			}[name][n]
		}
	}
	for _, name := range []string{"nothing", "none", "disabled", "ours"} {
		if env := none(name); wantsTraces(env) || wantsMetrics(env) {
			t.Errorf("%s: got traces %v, metrics %v, want neither", name, wantsTraces(env), wantsMetrics(env))
		}
	}
	for _, env := range []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if !wantsTraces(func(n string) string { return map[string]string{env: "x"}[n] }) {
			t.Errorf("%s: got no traces, want them", env)
		}
	}
}

// A duration is for people to read, in either format.
func TestLoggerWritesDurationsWithTheirUnit(t *testing.T) {
	for _, json := range []bool{true, false} {
		var out bytes.Buffer
		NewLogger(&out, slog.LevelInfo, json).Info("draining", "after", 15*time.Second, slog.Group("g", "took", time.Millisecond))
		for _, want := range []string{"15s", "1ms"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("got %q, want %s in it", &out, want)
			}
		}
	}
}

func TestStartRefusesAnUnknownExporter(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "pigeon")
	_, err := Start(t.Context(), Config{Service: "x", Env: os.Getenv})
	if err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_EXPORTER") {
		t.Errorf("got %v, want an error that names the variable", err)
	}
}

func TestExportFailuresAreLoggedRarely(t *testing.T) {
	var out bytes.Buffer
	s, err := Start(t.Context(), Config{Service: "x", Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		otel.Handle(io.ErrUnexpectedEOF)
	}
	if got := strings.Count(out.String(), "telemetry export failed"); got != 1 {
		t.Errorf("got %d lines, want 1:\n%s", got, &out)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// SPEC W2
func TestLoggerAddsTheTrace(t *testing.T) {
	const traceID, spanID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ctx := telemetry.Extract(t.Context(), map[string]string{"traceparent": "00-" + traceID + "-" + spanID + "-01"})
	var out bytes.Buffer
	log := NewLogger(&out, slog.LevelInfo, true).With("replica", "r1")
	log.InfoContext(ctx, "turn granted")
	log.Debug("not shown")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	for key, want := range map[string]string{"msg": "turn granted", "replica": "r1", "trace_id": traceID, "span_id": spanID} {
		if line[key] != want {
			t.Errorf("%s: got %v, want %s", key, line[key], want)
		}
	}
	out.Reset()
	NewLogger(&out, slog.LevelInfo, false).Info("plain")
	if got := out.String(); !strings.Contains(got, "msg=plain") || strings.Contains(got, "trace_id") {
		t.Errorf("got %q, want text without a trace", got)
	}
}
