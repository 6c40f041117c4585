package worker_test

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/worker"
)

func ExampleNew() {
	b := bot.New().Fallback(func(c *bot.Context) error {
		c.Sayf("you said: %s", c.Text())
		return nil
	})
	w, err := worker.New(worker.Config{Bot: b})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The dispatcher calls Run for each record of a chat.
	out, err := w.Run(context.Background(), botmesh.Run{
		Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "hello"}},
	}, nil)
	fmt.Println(out.Sends[0].Text, err)
	// Output: you said: hello <nil>
}
