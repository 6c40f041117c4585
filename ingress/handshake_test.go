package ingress

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
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
