package workerd_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks/standardwebhookstest"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

const (
	number  = "7001"
	backend = "whsec_c3RhbmRhcmQtd2ViaG9va3MtdGVzdC1rZXktMQ==" // both ways
)

// platform is a pretended platform, and how one of its users speaks to the bot.
type platform struct {
	*fakeplatform.Platform
	name, chat string
	text       func(n int, text string) (http.Header, []byte)
	press      func(n int, of, payload string) (http.Header, []byte)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func whatsApp(t *testing.T) (platform, []string) {
	t.Helper()
	wa := whatsapptest.New("wa-token", number)
	signed := func(i whatsapptest.Item) (http.Header, []byte) {
		body := whatsapptest.Webhook(number, i)
		return whatsapptest.Sign("wa-secret", body), body
	}
	return platform{wa.Platform, "whatsapp", "155",
			func(n int, text string) (http.Header, []byte) {
				return signed(whatsapptest.Text(fmt.Sprint("wamid.", n), "155", text))
			},
			func(n int, of, payload string) (http.Header, []byte) {
				return signed(whatsapptest.Press(fmt.Sprint("wamid.", n), "155", of, payload))
			},
		}, []string{"BOTMESH_WHATSAPP_ACCESS_TOKEN=wa-token", "BOTMESH_WHATSAPP_APP_SECRET=wa-secret", "BOTMESH_WHATSAPP_VERIFY_TOKEN=wa-verify",
			"BOTMESH_WHATSAPP_PHONE_NUMBER_ID=" + number, "BOTMESH_WHATSAPP_API_URL=" + serve(t, wa) + "/" + whatsapptest.Version}
}

func slackApp(t *testing.T) (platform, []string) {
	t.Helper()
	sl := slacktest.New("xoxb-token")
	signed := func(body []byte) (http.Header, []byte) { return slacktest.Sign("sl-secret", time.Now(), body), body }
	return platform{sl.Platform, "slack", "D0NORA001",
		func(n int, text string) (http.Header, []byte) {
			return signed(slacktest.Text("D0NORA001", "U0NORA001", fmt.Sprintf("1797000000.%06d", n), text))
		},
		func(n int, of, payload string) (http.Header, []byte) {
			return signed(slacktest.Press("D0NORA001", "U0NORA001", of, fmt.Sprintf("1797000000.%06d", n), payload))
		},
	}, []string{"BOTMESH_SLACK_TOKEN=xoxb-token", "BOTMESH_SLACK_SIGNING_SECRET=sl-secret", "BOTMESH_SLACK_API_URL=" + serve(t, sl)}
}

func ownBackend(t *testing.T) (platform, []string) {
	t.Helper()
	own := standardwebhookstest.New(backend)
	signed := func(n int, body []byte) (http.Header, []byte) {
		h, err := standardwebhooks.Sign(backend, fmt.Sprint("msg_", n), time.Now(), body)
		if err != nil {
			t.Fatal(err)
		}
		return h, body
	}
	return platform{own.Platform, "standardwebhooks", "c-17",
			func(n int, text string) (http.Header, []byte) {
				return signed(n, standardwebhookstest.Text("c-17", "u-4", fmt.Sprint(n), text))
			},
			func(n int, of, payload string) (http.Header, []byte) {
				return signed(n, standardwebhookstest.Event("button.pressed", map[string]any{"conversation": "c-17", "user": "u-4", "of": of, "payload": payload}))
			},
		}, []string{"BOTMESH_STANDARDWEBHOOKS_SECRET=" + backend, "BOTMESH_STANDARDWEBHOOKS_SEND_SECRET=" + backend,
			"BOTMESH_STANDARDWEBHOOKS_API_URL=" + serve(t, own) + "/bot"}
}

// One bot, all platforms: a user of each orders a pizza, by texts and a button, and
// every webhook comes twice.
//
// SPEC: J1 J2 O2 X1
func TestEveryPlatform(t *testing.T) {
	t.Parallel()
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redistest.Start(t).URL(), "BOTMESH_TELEGRAM_API_URL=http://127.0.0.1:1",
		"BOTMESH_WHATSAPP_CHAT_RATE=off", "BOTMESH_SLACK_CHAT_RATE=off"} // a pretended user types fast
	var all []platform
	for _, start := range []func(*testing.T) (platform, []string){whatsApp, slackApp, ownBackend} {
		p, more := start(t)
		all, env = append(all, p), append(env, more...)
	}
	s := settings(t, env...)
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	w := newWorker(t, s)
	run(t, w.Run)
	natstest.Until(t, "both are ready", func() bool { return in.Ready(t.Context()) == nil && w.Ready(t.Context()) == nil })
	t.Run("all", func(t *testing.T) { // done before the replicas drain
		for _, p := range all {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.order(t, "http://"+in.Addr()+"/webhooks/"+p.name)
			})
		}
	})
}

func (p platform) order(t *testing.T, address string) {
	t.Helper()
	say := func(n int, text string) fakeplatform.Message {
		t.Helper()
		h, body := p.text(n, text)
		p.deliver(t, address, h, body)
		return p.wait(t, n)
	}
	if got := say(1, "/count").Text; got != "count: 1" {
		t.Errorf("got %q, want count: 1", got)
	}
	say(2, "/order")
	say(3, "pizza")
	question := say(4, "2")
	if len(question.Buttons) != 2 || question.Part == "" {
		t.Fatalf("got %+v, want a question with two buttons", question)
	}
	h, body := p.press(5, question.ID, question.Buttons[0].Payload)
	p.deliver(t, address, h, body)
	if got := p.wait(t, 5).Text; got != "ordered: 2 x pizza" {
		t.Errorf("got %q, want ordered: 2 x pizza", got)
	}
	h, body = p.text(6, "/count")
	h.Set("X-Hub-Signature-256", "sha256=00")
	h.Set("X-Slack-Signature", "v0=00")
	h.Set(standardwebhooks.SignatureHeader, "v1,AAAA")
	if got := post(t, address, h, body); got != http.StatusUnauthorized {
		t.Errorf("a wrong signature: got %d, want 401", got)
	}
	if got := len(p.Chat(p.chat)); got != 5 {
		t.Errorf("got %d messages, want each answer once", got)
	}
}

// deliver posts a webhook twice, as platforms do now and then.
func (p platform) deliver(t *testing.T, address string, h http.Header, body []byte) {
	t.Helper()
	for range 2 {
		natstest.Until(t, "the webhook is taken", func() bool { return post(t, address, h, body) == http.StatusOK })
	}
}

func post(t *testing.T, address string, h http.Header, body []byte) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h.Clone()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// wait is the n-th message that the user gets.
func (p platform) wait(t *testing.T, n int) fakeplatform.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got, err := p.Wait(ctx, p.chat, n)
	if err != nil {
		t.Fatalf("got %q, want %d messages: %v", p.Texts(p.chat), n, err)
	}
	return got[n-1]
}
