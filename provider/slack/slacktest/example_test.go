package slacktest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/slack"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
	"github.com/botmesh-go/botmesh/worker"
)

// A bot in one process answers an event. Slack refuses its first call, and gets the message
// a second later.
func Example() {
	platform := slacktest.New("xoxb-token")
	api := httptest.NewServer(platform)
	defer api.Close()
	platform.Next("C0TEST001", slacktest.RateLimit(time.Second))

	b := bot.New().Fallback(func(c *bot.Context) error { c.Sayf("you said: %s", c.Text()); return nil })
	sender, err := slack.NewSender(slack.SenderConfig{Token: "xoxb-token", API: api.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := slack.NewReceiver(slack.ReceiverConfig{SigningSecret: "secret"})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := worker.NewLocal(worker.LocalConfig{Bot: b, Senders: []provider.Sender{sender}, Receivers: []provider.Receiver{receiver}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()

	body := slacktest.Text("C0TEST001", "U0USER001", "1796000000.000100", "hello")
	r := httptest.NewRequest(http.MethodPost, "/webhooks/slack", bytes.NewReader(body))
	r.Header = slacktest.Sign("secret", time.Now(), body)
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code)
	if said, err := platform.Wait(ctx, "C0TEST001", 1); err == nil {
		fmt.Println(said[0].Text)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 200
	// you said: hello
	// <nil>
}
