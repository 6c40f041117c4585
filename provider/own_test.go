package provider_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
	"github.com/botmesh-go/botmesh/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPager(t testing.TB, api string) *Pager {
	p := &Pager{secret: "pager-secret", token: "pager-token", api: api, client: httpcall.New(httpcall.Config{Secret: "pager-token"})}
	t.Cleanup(p.client.Close)
	return p
}

func page(body string, want botmesh.Record) providertest.Sample {
	mac := hmac.New(sha256.New, []byte("pager-secret"))
	mac.Write([]byte(body))
	return providertest.Sample{
		Name: want.ID, Header: http.Header{"X-Pager-Signature": {hex.EncodeToString(mac.Sum(nil))}},
		Body: []byte(body), Want: []botmesh.Record{want},
	}
}

// The documentation says that a provider of one's own takes a hundred lines. It
// shows this one, which passes what every provider must.
func TestAProviderOfOnesOwn(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("pager_test.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n > 100 {
		t.Errorf("got %d lines, want at most the 100 that are promised", n)
	}
	code := strings.Replace(string(source), "package provider_test", "package pager", 1)
	if !strings.Contains(string(doc), "```go\n"+code+"```") {
		t.Error("docs/providers.md does not show pager_test.go as it is")
	}
	chat := botmesh.ChatKey{Provider: "pager", Chat: "5"}
	samples := []providertest.Sample{
		page(`{"text":"hi","id":"m1","chat":"5"}`, botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", User: "5", Chat: chat, Message: botmesh.Message{Text: "hi", MessageID: "m1"}}),
		page(`{"id":"m2"}`, botmesh.Record{Type: botmesh.TypeEvent, ID: "m2", Chat: botmesh.ChatKey{Provider: "pager", Chat: "-"}, Message: botmesh.Message{MessageID: "m2"}}),
	}
	p := newPager(t, "")
	providertest.Receiver(t, p, samples, "X-Pager-Signature")
	providertest.SignedBody(t, p, samples)
	providertest.Sender(t, providertest.Platform{
		Sender: func(t testing.TB, api string) provider.Sender { return newPager(t, api) },
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

func FuzzOwnParse(f *testing.F) {
	providertest.FuzzParse(f, newPager(f, ""), nil, []byte(`{"id":"m1","chat":"5","text":"hi"}`), []byte(`{"id":7}`))
}
