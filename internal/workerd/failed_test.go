package workerd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/worker"
)

// What the platform will never take comes back to the bot, in the chat's place and
// once; what is said about that, and is not taken either, does not.
//
// SPEC: O5. DESIGN: C9 D7
func TestTheBotHearsOfSendsThatFailed(t *testing.T) {
	t.Parallel()
	platform := telegramtest.New(token)
	platform.Script(func(_, text string) fakeplatform.Fault {
		if text == "bad" || text == "sorry" {
			return telegramtest.Refusal(http.StatusBadRequest, "")
		}
		return fakeplatform.Fault{}
	})
	api := httptest.NewServer(platform)
	t.Cleanup(api.Close)
	s := settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_REDIS_URL="+redistest.Start(t).URL(), "BOTMESH_TELEGRAM_API_URL="+api.URL,
		"BOTMESH_TELEGRAM_CHAT_RATE=off")
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	told := bot.State[int]("told")
	b := bot.New().
		Command("/bad", func(c *bot.Context) error { c.Say("bad"); return nil }).
		Command("/told", func(c *bot.Context) error { c.Sayf("told %d", *told.Of(c)); return nil }).
		OnSendFailed(func(c *bot.Context) error {
			*told.Of(c)++
			if got := c.Record().Failed; got.Send.Text != "bad" || got.Tries != 1 || got.Error == "" {
				t.Errorf("got the failure %+v, want that of the one call", got)
			}
			c.Say("sorry")
			return nil
		})
	runner, err := worker.New(worker.Config{Bot: b})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workerd.New(t.Context(), workerd.Config{Settings: s, Runner: runner})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.Run)
	f := &fleet{telegram: platform, ingress: in}
	f.post(t, telegramtest.Text(1, 7, "/bad"))
	natstest.Until(t, "both are refused", func() bool { return platform.Calls() == 2 })
	f.post(t, telegramtest.Text(2, 7, "/told"))
	f.expect(t, "7", "told 1") // what came of the second refusal is in the journal by now
	f.post(t, telegramtest.Text(3, 7, "/told"))
	f.expect(t, "7", "told 1", "told 1")
}
