package standardwebhooks_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks/standardwebhookstest"
)

const (
	secret = "whsec_c3RhbmRhcmQtd2ViaG9va3MtdGVzdC1rZXktMQ=="
	other  = "whsec_YW5vdGhlci13ZWJob29rcy10ZXN0LWtleS0wMg=="
)

func newSender(t testing.TB, api, secrets string) *standardwebhooks.Sender {
	t.Helper()
	s, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{Secret: secrets, API: api, MaxText: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func fake(t testing.TB, secrets string) (*standardwebhookstest.Server, string) {
	t.Helper()
	backend := standardwebhookstest.New(secrets)
	srv := httptest.NewServer(backend)
	t.Cleanup(srv.Close)
	return backend, srv.URL + "/bot"
}

func to(part, text string) provider.Call {
	return provider.Call{Part: part, Chat: botmesh.ChatKey{Provider: standardwebhooks.ID, Chat: "c-17", Participant: "u-4"}, Send: botmesh.Send{Text: text}}
}

// SPEC: O7: a repeated call is known by its id.
func TestCallSendsOnce(t *testing.T) {
	t.Parallel()
	backend, api := fake(t, secret)
	senders := []*standardwebhooks.Sender{newSender(t, api, other+" "+secret), newSender(t, api, secret+" "+other)} // the backend knows one of them
	c := to("p/1.2/0.0", "hello")
	c.Send.Buttons = [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	for _, s := range senders {
		if sent, err := s.Call(t.Context(), c); err != nil || sent.MessageID != standardwebhooks.MessageID(c.Part) {
			t.Errorf("got %+v, %v, want it sent under its id", sent, err)
		}
	}
	for _, s := range senders {
		if _, err := s.Call(t.Context(), to("p/1.2/0.1", "again")); err != nil {
			t.Error(err)
		}
	}
	got := backend.Chat("c-17/u-4")
	if len(got) != 2 || got[0].Text != "hello" || got[0].Part != c.Part || cmp.Diff([]fakeplatform.Button{{Label: "Yes", Payload: "y"}}, got[0].Buttons) != "" {
		t.Errorf("got %+v, want both messages once", got)
	}
	if !senders[0].IdempotentCalls() {
		t.Error("got calls that are not idempotent, want them so")
	}
}

// A file is data like all else.
func TestCallSendsFiles(t *testing.T) {
	t.Parallel()
	backend, api := fake(t, secret)
	s := newSender(t, api, secret)
	files := []botmesh.Media{
		{Kind: botmesh.MediaDocument, URL: "https://example.org/a?b&c", Name: "a.pdf"},
		{Kind: botmesh.MediaVoice, Ref: "r"},
	}
	for n, m := range files {
		parts := s.Split(botmesh.Send{Text: "émigré écrit", Media: &m})
		if len(parts) != 2 || parts[1].Media != nil || !s.Attaches(m) {
			t.Fatalf("got %+v, want the file in the first of two parts", parts)
		}
		c := to("p/1.2/0."+strconv.Itoa(n), "")
		c.Send = parts[0]
		if _, err := s.Call(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want := fakeplatform.Media{Kind: m.Kind, URL: m.URL, Ref: m.Ref, Name: m.Name}
		if got := backend.Chat("c-17/u-4"); len(got) != n+1 || got[n].Media != want || got[n].Text != parts[0].Text {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// SPEC: O5 O7
func TestSender(t *testing.T) {
	t.Parallel()
	wait := http.Header{"Retry-After": {"9"}}
	providertest.Sender(t, providertest.Platform{
		Sender: func(t testing.TB, api string) provider.Sender { return newSender(t, api, secret) },
		Chat:   "c-17",
		Secret: "c3RhbmRhcmQtd2ViaG9va3M",
		Fake:   func() http.Handler { return standardwebhookstest.New(secret) },

		Answers: map[string]providertest.Answer{
			"Sent":        {Status: 200, Want: "sent " + standardwebhooks.MessageID("p/1.2/3.0")},
			"Accepted":    {Status: 202, Want: "sent " + standardwebhooks.MessageID("p/1.2/3.0")},
			"RateLimit":   {Status: 429, Header: wait, Want: "retry after 9s"},
			"Busy":        {Status: 503, Header: wait, Want: "retry after 9s"},
			"BadGateway":  {Status: 502, Want: "retry after 0s"},
			"Redirect":    {Status: 307, Header: http.Header{"Location": {"/elsewhere"}}, Want: "retry after 30s"},
			"NotSigned":   {Status: 401, Want: "retry after 30s"},
			"WrongPath":   {Status: 404, Want: "retry after 30s"},
			"Gone":        {Status: 410, Want: "permanent"},
			"Malformed":   {Status: 400, Want: "permanent"},
			"Unavailable": {Status: 500, Want: "in doubt"},
		},
	})
}

// SPEC: O8
func TestSplit(t *testing.T) {
	t.Parallel()
	buttons := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	got := newSender(t, "http://127.0.0.1:1", secret).Split(botmesh.Send{Text: "émigré écrit", Buttons: buttons}) // of 15 bytes
	if diff := cmp.Diff([]botmesh.Send{{Text: "émigré"}, {Text: "écrit", Buttons: buttons}}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestBackendRefuses(t *testing.T) {
	t.Parallel()
	backend, api := fake(t, secret)
	if _, err := newSender(t, api, other).Call(t.Context(), to("p", "hi")); providertest.Verdict(provider.Sent{}, err) != "retry after 30s" {
		t.Errorf("an unknown secret: got %v, want a retry when it is put right", err)
	}
	backend.Limit(time.Hour, 1)
	s := newSender(t, api, secret)
	for n, want := range []string{"sent " + standardwebhooks.MessageID("a"), "retry after 1s"} {
		sent, err := s.Call(t.Context(), to(string(rune('a'+n)), "hi"))
		if got := providertest.Verdict(sent, err); got != want {
			t.Errorf("call %d: got %s, want %s", n, got, want)
		}
	}
	for name, body := range map[string][]byte{"NotToSend": standardwebhookstest.Text("c", "u", "m", "hi"), "NoJSON": []byte("a")} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api, strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		if req.Header, err = standardwebhooks.Sign(secret, "m", time.Now(), body); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if backend.ServeHTTP(w, req); w.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", name, w.Code)
		}
	}
}

func TestNewSenderNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{ID: "X", Secret: "se cret", API: "ftp://h", MaxText: 1})
	for _, word := range []string{`"X"`, "secret 1", "API address", "at least 4"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %s", err, word)
		}
	}
}
