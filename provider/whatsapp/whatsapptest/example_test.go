package whatsapptest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
	"github.com/botmesh-go/botmesh/worker"
)

// A bot in one process answers a webhook.
func Example() {
	platform := whatsapptest.New("token", "700")
	api := httptest.NewServer(platform)
	defer api.Close()

	b := bot.New().Fallback(func(c *bot.Context) error { c.Sayf("you said: %s", c.Text()); return nil })
	sender, err := whatsapp.NewSender(whatsapp.SenderConfig{AccessToken: "token", PhoneNumberID: "700", API: api.URL + "/" + whatsapptest.Version})
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := whatsapp.NewReceiver(whatsapp.ReceiverConfig{AppSecret: "secret", PhoneNumberID: "700"})
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

	body := whatsapptest.Webhook("700", whatsapptest.Text("wamid.1", "15550170023", "hello"))
	r := httptest.NewRequest(http.MethodPost, "/webhooks/whatsapp", bytes.NewReader(body))
	r.Header = whatsapptest.Sign("secret", body)
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code)
	if said, err := platform.Wait(ctx, "15550170023", 1); err == nil {
		fmt.Println(said[0].Text)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 200
	// you said: hello
	// <nil>
}
