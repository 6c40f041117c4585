package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pagerAt(t testing.TB, api string) *Pager {
	p := newPager("pager-secret", "pager-token", api)
	t.Cleanup(p.client.Close)
	return p
}

func signature(body string) string {
	mac := hmac.New(sha256.New, []byte("pager-secret"))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func sample(body string, want botmesh.Record) providertest.Sample {
	return providertest.Sample{
		Name: want.ID, Header: http.Header{"X-Pager-Signature": {signature(body)}},
		Body: []byte(body), Want: []botmesh.Record{want},
	}
}

// The documentation says that a provider of one's own takes a hundred lines, and
// shows this one.
func TestTheDocumentationShowsThisProvider(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("pager.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n >= 100 {
		t.Errorf("got %d lines, want less than the 100 that are promised", n)
	}
	if !strings.Contains(string(doc), "```go\n"+string(source)+"```") {
		t.Error("docs/providers.md does not show pager.go as it is")
	}
}

// It passes what every provider must.
func TestPager(t *testing.T) {
	t.Parallel()
	samples := []providertest.Sample{
		sample(`{"text":"hi","id":"m1","chat":"5"}`, botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", User: "5",
			Chat: botmesh.ChatKey{Provider: "pager", Chat: "5"}, Message: botmesh.Message{Text: "hi", MessageID: "m1"}}),
		sample(`{"id":"m2"}`, botmesh.Record{Type: botmesh.TypeEvent, ID: "m2",
			Chat: botmesh.ChatKey{Provider: "pager", Chat: "-"}, Message: botmesh.Message{MessageID: "m2"}}),
	}
	p := pagerAt(t, "")
	providertest.Receiver(t, p, samples, "X-Pager-Signature")
	providertest.SignedBody(t, p, samples)
	providertest.Unknown(t, p, samples[1])
	providertest.Sender(t, providertest.Platform{
		Sender: func(t testing.TB, api string) provider.Sender { return pagerAt(t, api) },
		Chat:   "5", Secret: "pager-token",
		Answers: map[string]providertest.Answer{
			"Sent":      {Status: 200, Body: "77", Want: "sent 77"},
			"RateLimit": {Status: 429, Header: http.Header{"Retry-After": {"9"}}, Want: "retry after 9s"},
			"Refused":   {Status: 400, Want: "permanent"},
			"Lost":      {Status: 502, Want: "in doubt"},
		},
	})
	parts := p.Split(botmesh.Send{Text: strings.Repeat("word ", 30), Buttons: [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}})
	if len(parts) != 2 || !strings.HasSuffix(parts[1].Text, "1. Yes") {
		t.Errorf("got %+v, want two parts and a numbered line", parts)
	}
}

// A bot answers on it: from the signed webhook, posted twice, to one call of the
// platform's API.
func TestABotOnThePager(t *testing.T) {
	t.Parallel()
	pages := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/pages" || r.Header.Get("Authorization") != "Bearer pager-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		pages <- string(body)
	}))
	defer api.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, pagerAt(t, api.URL), listener) }()

	const first, second = `{"id":"m1","chat":"5","text":"hi"}`, `{"id":"m2","chat":"5","text":"again"}`
	for _, body := range []string{first, first, second} {
		if got := webhook(t, listener.Addr(), body); got != http.StatusOK {
			t.Fatalf("got %d for a webhook, want 200", got)
		}
	}
	for _, want := range []string{`{"chat":"5","text":"hi"}`, `{"chat":"5","text":"again"}`} {
		select {
		case got := <-pages:
			if got != want {
				t.Errorf("got the page %s, want %s", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("got no page within 30 s, want %s", want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v at the end, want no error", err)
	}
}

// webhook posts a signed webhook and returns the status of the answer.
func webhook(t *testing.T, address net.Addr, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address.String()+"/webhooks/pager", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Pager-Signature", signature(body))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func FuzzPagerParse(f *testing.F) {
	providertest.FuzzParse(f, pagerAt(f, ""), nil, []byte(`{"id":"m1","chat":"5","text":"hi"}`), []byte(`{"id":7}`))
}
