package telegram

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func TestCheckTellsHowUpdatesCome(t *testing.T) {
	t.Parallel()
	tg := telegramtest.New(testToken)
	srv := httptest.NewServer(tg)
	t.Cleanup(srv.Close)
	sender := newSender(t, srv.URL)
	check := func(want provider.Intake) {
		t.Helper()
		got, err := sender.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(provider.Intake{})
	tg.Offer(7, []byte(`{"update_id":7}`))
	check(provider.Intake{Waiting: 1})
	at := time.Unix(1700000000, 0)
	tg.Hook("https://bot.example/PLANTED", "Wrong response from the webhook: 503 of https://bot.example/PLANTED", at)
	check(provider.Intake{Webhook: true, Waiting: 1, Failed: "Wrong response from the webhook: 503 of the webhook", FailedAt: at})

	other, err := NewSender(SenderConfig{Token: "12:other", API: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	if _, err := other.Check(t.Context()); err == nil || strings.Contains(err.Error(), "other") || !strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong token: got %v, want 401 and no token", err)
	}
}
