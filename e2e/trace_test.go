package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/botmesh-go/botmesh/telemetry"
)

// span is what the collector keeps of one.
type span struct {
	name, service     string
	trace, id, parent string
}

// collected is an OTLP/HTTP receiver of traces.
type collected struct {
	mu    sync.Mutex
	spans []span
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err := errors.Join(err, proto.Unmarshal(body, &export)); r.URL.Path != "/v1/traces" || err != nil {
		http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range export.GetResourceSpans() {
		service := ""
		for _, kv := range resource.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" {
				service = kv.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, span{s.GetName(), service,
					hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetSpanId()), hex.EncodeToString(s.GetParentSpanId())})
			}
		}
	}
}

func (c *collected) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Both programs export to one receiver: a webhook and the call that answers it are
// one trace, connected by parent links alone.
//
// SPEC: W1
func TestOneTraceLeadsFromTheWebhookToTheProvidersAnswer(t *testing.T) {
	t.Parallel()
	var receiver collected
	server := httptest.NewServer(&receiver)
	t.Cleanup(server.Close)
	s := started(t, map[string]string{
		"OTEL_TRACES_EXPORTER":        "otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL,
		"OTEL_BSP_SCHEDULE_DELAY":     "100",
	})
	s.say(1, "/count")
	s.hears(1, "count: 1", 20*time.Second)
	s.eventually(20*time.Second, "one connected trace", func(context.Context) error {
		return connected(receiver.all())
	})
}

// connected checks that the spans of one webhook are one tree: each has a parent
// in it but the webhook's own, and each stage is below the one that caused it.
func connected(spans []span) error {
	byID := map[string]span{}
	for _, s := range spans {
		byID[s.id] = s
	}
	// The stages, each with what must be above it, at any distance.
	above := map[string][]string{
		telemetry.SpanJournal:    {telemetry.SpanWebhook},
		telemetry.SpanTurn:       {telemetry.SpanJournal, telemetry.SpanWebhook},
		telemetry.SpanCheckpoint: {telemetry.SpanTurn},
		telemetry.SpanOutbox:     {telemetry.SpanTurn},
		telemetry.SpanDeliver:    {telemetry.SpanTurn, telemetry.SpanWebhook},
		telemetry.SpanProvider:   {telemetry.SpanDeliver, telemetry.SpanTurn, telemetry.SpanWebhook},
	}
	services := map[string]bool{}
	for stage, ancestors := range above {
		i := slices.IndexFunc(spans, func(s span) bool { return s.name == stage })
		if i < 0 {
			return fmt.Errorf("no span %q among %v", stage, spans)
		}
		line, err := lineage(byID, spans[i])
		if err != nil {
			return err
		}
		for _, a := range ancestors {
			if !slices.ContainsFunc(line, func(s span) bool { return s.name == a }) {
				return fmt.Errorf("span %q is not below %q but below %v", stage, a, line)
			}
		}
		root := line[len(line)-1]
		if root.name != telemetry.SpanWebhook || root.trace != spans[i].trace {
			return fmt.Errorf("span %q of trace %s has the root %v, want the webhook's", stage, spans[i].trace, root)
		}
		services[spans[i].service], services[root.service] = true, true
	}
	if len(services) != 2 || services[""] {
		return fmt.Errorf("got spans of services %v, want of two", services)
	}
	return nil
}

// lineage follows the parents of a span up to its root, which is the last.
func lineage(byID map[string]span, s span) ([]span, error) {
	var line []span
	for strings.Trim(s.parent, "0") != "" {
		parent, ok := byID[s.parent]
		if !ok {
			return nil, fmt.Errorf("the parent %s of span %q is missing", s.parent, s.name)
		}
		if parent.trace != s.trace || len(line) > len(byID) {
			return nil, fmt.Errorf("span %q of trace %s has a parent of trace %s", s.name, s.trace, parent.trace)
		}
		line = append(line, parent)
		s = parent
	}
	if len(line) == 0 {
		line = []span{s}
	}
	return line, nil
}

func TestConnectedFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	good := []span{
		{telemetry.SpanWebhook, "ingress", "t", "1", "0000"},
		{telemetry.SpanJournal, "ingress", "t", "2", "1"},
		{telemetry.SpanTurn, "worker", "t", "3", "2"},
		{telemetry.SpanCheckpoint, "worker", "t", "4", "3"},
		{telemetry.SpanOutbox, "worker", "t", "5", "3"},
		{telemetry.SpanDeliver, "worker", "t", "6", "3"},
		{telemetry.SpanProvider, "worker", "t", "7", "6"},
	}
	if err := connected(good); err != nil {
		t.Errorf("got %v for a good trace", err)
	}
	broken := map[string]func(s []span) []span{
		"no provider call":         func(s []span) []span { return s[:6] },
		"turn is a root":           func(s []span) []span { s[2].parent = ""; return s },
		"turn is another trace":    func(s []span) []span { s[2].trace = "u"; return s },
		"deliver beside the turn":  func(s []span) []span { s[5].parent = "1"; return s },
		"a parent not exported":    func(s []span) []span { s[4].parent = "9"; return s },
		"all of one service":       func(s []span) []span { s[0].service, s[1].service = "worker", "worker"; return s },
		"a service without a name": func(s []span) []span { s[0].service, s[1].service = "", ""; return s },
	}
	for name, bend := range broken {
		if err := connected(bend(slices.Clone(good))); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}
