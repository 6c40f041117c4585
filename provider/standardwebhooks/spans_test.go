package standardwebhooks_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks/standardwebhookstest"
)

// Spans are data like all else, and what is wrong with them the backend refuses.
func TestCallSendsSpans(t *testing.T) {
	t.Parallel()
	backend := standardwebhookstest.New(secret)
	var posted struct {
		Data struct {
			Text  string
			Spans []botmesh.Span
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &posted) != nil {
			t.Errorf("got %q, want a message", body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s := newSender(t, srv.URL, secret)
	c := to("p/1.2/0.0", "é is here")
	c.Send.Spans = []botmesh.Span{{From: 0, To: 2, Style: botmesh.StyleBold}, {From: 6, To: 10, Style: botmesh.StyleLink, URL: "https://example.org/?a=1&b=2"}}
	if _, err := s.Call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Send, botmesh.Send{Text: posted.Data.Text, Spans: posted.Data.Spans}); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	// What Split can cut no smaller is sent as a plain text.
	c.Part, c.Send.Spans, posted.Data.Spans = "p/1.2/1.0", slices.Repeat(c.Send.Spans, 300), nil
	if _, err := s.Call(t.Context(), c); err != nil || posted.Data.Spans != nil {
		t.Errorf("600 spans: got %v and %d posted, want none", err, len(posted.Data.Spans))
	}
	for name, span := range map[string]botmesh.Span{
		"TooFar":    {From: 0, To: 11, Style: botmesh.StyleBold},
		"Within":    {From: 1, To: 3, Style: botmesh.StyleBold},
		"NoStyle":   {From: 0, To: 2, Style: "blink"},
		"NoAddress": {From: 0, To: 2, Style: botmesh.StyleLink},
	} {
		c.Part, c.Send.Spans = name, []botmesh.Span{span}
		if sent, err := s.Call(t.Context(), c); providertest.Verdict(sent, err) != "permanent" {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
}

// The addresses of many links are no reason for a body that a webhook should not have.
func TestSplitCountsSpans(t *testing.T) {
	t.Parallel()
	s, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{Secret: secret, API: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	send := botmesh.Send{Text: strings.TrimSpace(strings.Repeat("here ", 100))}
	for i := range 100 {
		send.Spans = append(send.Spans, botmesh.Span{From: 5 * i, To: 5*i + 4, Style: botmesh.StyleLink, URL: "https://example.org/" + strings.Repeat("a", 400)})
	}
	parts, err := provider.Split(s, send)
	if err != nil {
		t.Fatal(err)
	}
	var spans int
	for _, p := range parts {
		body, err := json.Marshal(p.Spans)
		if err != nil || len(p.Text)+len(body) > standardwebhooks.DefaultMaxText {
			t.Errorf("got a part of %d and %d bytes, want %d together", len(p.Text), len(body), standardwebhooks.DefaultMaxText)
		}
		spans += len(p.Spans)
	}
	if len(parts) != 3 || spans != len(send.Spans) {
		t.Errorf("got %d parts with %d spans, want 3 with all", len(parts), spans)
	}
	// A backend whose texts are short has room for spans all the same.
	short, err := provider.Split(newSender(t, "http://127.0.0.1:1", secret), botmesh.Send{Text: "émigré écrit", Spans: []botmesh.Span{{From: 0, To: 15, Style: botmesh.StyleBold}}})
	want := []botmesh.Send{
		{Text: "émigré", Spans: []botmesh.Span{{From: 0, To: 8, Style: botmesh.StyleBold}}},
		{Text: "écrit", Spans: []botmesh.Span{{From: 0, To: 6, Style: botmesh.StyleBold}}},
	}
	if diff := cmp.Diff(want, short); err != nil || diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// Spans over spans, as those of a text that is made to take long, do not make many parts of it.
func TestSplitTakesNestedSpans(t *testing.T) {
	t.Parallel()
	s, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{Secret: secret, API: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	send := botmesh.Send{Text: strings.Repeat("word ", 600)}
	for i := range botmesh.MaxSpans {
		send.Spans = append(send.Spans, botmesh.Span{From: i, To: len(send.Text) - i, Style: botmesh.StyleItalic})
	}
	parts, err := provider.Split(s, send)
	want := []botmesh.Send{{Text: send.Text, Spans: send.Spans[:1]}}
	if diff := cmp.Diff(want, parts); err != nil || diff != "" {
		t.Errorf("got %v, parts (-want +got):\n%s", err, diff)
	}
}
