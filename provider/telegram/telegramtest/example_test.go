package telegramtest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/worker"
)

// A bot in one process answers a webhook. Telegram refuses its first call, and gets the
// message a second later.
func Example() {
	platform := telegramtest.New("1:token")
	api := httptest.NewServer(platform)
	defer api.Close()
	platform.Next("7", telegramtest.RateLimit(time.Second))

	b := bot.New().Fallback(func(c *bot.Context) error { c.Sayf("you said: %s", c.Text()); return nil })
	sender, err := telegram.NewSender(telegram.SenderConfig{Token: "1:token", API: api.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := telegram.NewReceiver(telegram.ReceiverConfig{Secret: "secret"})
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

	r := httptest.NewRequest(http.MethodPost, "/webhooks/telegram", bytes.NewReader(telegramtest.Text(1, 7, "hello")))
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "secret")
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code)
	if said, err := platform.Wait(ctx, "7", 1); err == nil {
		fmt.Println(said[0].Text)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 200
	// you said: hello
	// <nil>
}
