package standardwebhookstest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks/standardwebhookstest"
	"github.com/botmesh-go/botmesh/worker"
)

// A bot in one process answers a webhook. The backend takes its first message and fails all the
// same: the bot posts it again, and the backend knows it.
func Example() {
	const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	backend := standardwebhookstest.New(secret)
	api := httptest.NewServer(backend)
	defer api.Close()
	backend.Next("c1", fakeplatform.Fault{Status: http.StatusInternalServerError, Take: true})

	b := bot.New().Fallback(func(c *bot.Context) error { c.Say("you said:"); c.Say(c.Text()); return nil })
	sender, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{Secret: secret, API: api.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	receiver, err := standardwebhooks.NewReceiver(standardwebhooks.ReceiverConfig{Secret: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := worker.NewLocal(worker.LocalConfig{Bot: b, Senders: []provider.Sender{sender}, Receivers: []provider.Receiver{receiver}})
	if err != nil {
		fmt.Println(err)
		return
	}
	body := standardwebhookstest.Text("c1", "u1", "m1", "hello")
	r := httptest.NewRequest(http.MethodPost, "/webhooks/standardwebhooks", bytes.NewReader(body))
	if r.Header, err = standardwebhooks.Sign(secret, "msg_1", time.Now(), body); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()

	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code)
	if _, err := backend.Wait(ctx, "c1", 2); err == nil {
		fmt.Println(backend.Texts("c1"))
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 200
	// [you said: hello]
	// <nil>
}
