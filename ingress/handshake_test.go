package ingress

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

func whatsApp(t *testing.T) provider.Receiver {
	t.Helper()
	r, err := whatsapp.NewReceiver(whatsapp.ReceiverConfig{AppSecret: "app", VerifyToken: "verify"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// SPEC: X1
func TestHandshake(t *testing.T) {
	t.Parallel()
	h := newHandler(t, Config{Journal: openJournal(t).Publisher, Receivers: []provider.Receiver{whatsApp(t), telegramAs(t, "telegram")}})
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/webhooks/whatsapp?hub.mode=subscribe&hub.verify_token=verify&hub.challenge=%3Cb%3E4711": {200, "<b>4711"},
		"/webhooks/whatsapp?hub.mode=subscribe&hub.verify_token=other&hub.challenge=4711":         {403, "not verified\n"},
		"/webhooks/whatsapp": {403, "not verified\n"},
		"/webhooks/telegram?hub.mode=subscribe&hub.verify_token=verify&hub.challenge=4711": {405, "a webhook is a POST\n"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want.status || w.Body.String() != want.body {
			t.Errorf("%s: got %d %q, want %d %q", path, w.Code, w.Body, want.status, want.body)
		}
		if want.status == 200 && (w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("got %v, want a text that no browser takes for a page", w.Header())
		}
	}
}

// SPEC: J2 J3: a batch is journaled item by item; a retry, grouped anew, doubles none.
func TestBatches(t *testing.T) {
	t.Parallel()
	j := openJournal(t)
	h := newHandler(t, Config{Journal: j.Publisher, Receivers: []provider.Receiver{whatsApp(t)}})
	deliver := func(items ...whatsapptest.Item) {
		t.Helper()
		body := whatsapptest.Webhook("7", items...)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/whatsapp", bytes.NewReader(body))
		r.Header = whatsapptest.Sign("app", body)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("got %d %s, want 200", w.Code, w.Body)
		}
	}
	a, b := whatsapptest.Text("wamid.1", "155", "first"), whatsapptest.Text("wamid.2", "155", "second")
	other, broken := whatsapptest.Text("wamid.3", "156", "other"), whatsapptest.Text("wamid.4", "", "from nobody")
	status := whatsapptest.Status("wamid.0", "155", "read")
	deliver(a, broken, other, status)
	deliver(a, broken, other, status)
	deliver(b, a)
	for chat, want := range map[string][]string{"155": {"first", "second"}, "156": {"other"}, "-": {"from nobody"}} {
		got, err := j.Read(t.Context(), botmesh.ChatKey{Provider: "whatsapp", Chat: chat}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range got {
			texts = append(texts, e.Record.Message.Text)
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("records of %s (-want +got):\n%s", chat, diff)
		}
	}
}
