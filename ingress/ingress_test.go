package ingress

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natsd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/streams"
)

func TestNewNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Receivers: []provider.Receiver{stub{id: "A b"}, stub{id: "x"}, stub{id: "x"}}, Timeout: -1})
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, word := range []string{"no Journal", `"A b"`, `two receivers are called "x"`, "negative"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %q, want it to name %q", err, word)
		}
	}
	if _, err := New(Config{Journal: &fakeJournal{}}); err == nil || !strings.Contains(err.Error(), "no Receivers") {
		t.Errorf("got %v, want it to miss receivers", err)
	}
}

func TestWebIsServedBeside(t *testing.T) {
	t.Parallel()
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("page " + r.URL.Path)) })
	h := newHandler(t, Config{Journal: &fakeJournal{}, Receivers: []provider.Receiver{telegramAs(t, "telegram")}, Web: web})
	for path, want := range map[string]string{"/": "page /", "/events": "page /events", "/webhooks/none": "404 page not found\n"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// A server that goes away and comes back, behind the server that is shipped.
//
// SPEC: J1
func TestOutageOnARealServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nats := start(t, natsd.Config{Dir: dir})
	conn, err := jet.Dial(t.Context(), jet.Config{URL: nats.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := streams.Ensure(t.Context(), conn.JetStream(), streams.Create, journal.Streams(journal.Sizing{Bot: testBot, Replicas: 1})); err != nil {
		t.Fatal(err)
	}
	pub, err := journal.NewPublisher(journal.Config{Bot: testBot, Inbox: conn.Stream(journal.InboxStream(testBot))})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = NewServer("", newHandler(t, Config{Journal: pub, Receivers: []provider.Receiver{telegramAs(t, "telegram")}}), nil)
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	send := func(update int64) (*http.Response, time.Duration) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/webhooks/telegram", bytes.NewReader(telegramtest.Text(update, 55, "hi")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(telegram.SecretHeader, testSecret)
		begin := time.Now()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp, time.Since(begin)
	}
	if resp, _ := send(1); resp.StatusCode != http.StatusOK {
		t.Fatalf("got %d, want 200", resp.StatusCode)
	}
	nats.Shutdown()
	resp, took := send(2)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %d with Retry-After %q, want 503 with one", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if took > 2*time.Second { // half a second for a busy machine
		t.Errorf("got the answer after %v, want it within 1.5s", took)
	}
	start(t, natsd.Config{Dir: dir, Port: port(t, nats.URL())})
	for deadline := time.Now().Add(30 * time.Second); ; {
		if resp, _ := send(2); resp.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("got no success after the server came back, want one")
		}
	}
	if n := messages(t, conn.Stream(journal.InboxStream(testBot))); n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
}

func start(t *testing.T, cfg natsd.Config) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func port(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func messages(t *testing.T, s jet.Stream) uint64 {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.Messages
}
