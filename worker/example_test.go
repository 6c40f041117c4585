package worker_test

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// terminal is a platform of one chat: it prints.
type terminal struct{ said chan struct{} }

func (terminal) ID() string                          { return "terminal" }
func (terminal) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (t terminal) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	fmt.Println(c.Send.Text)
	t.said <- struct{}{}
	return provider.Sent{}, nil
}

// A whole bot in one process, with no server.
func ExampleLocal() {
	b := bot.New().Fallback(func(c *bot.Context) error {
		c.Sayf("you said: %s", c.Text())
		return nil
	})
	t := terminal{said: make(chan struct{})}
	l, err := worker.NewLocal(worker.LocalConfig{Bot: b, Senders: []provider.Sender{t}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()

	err = l.Receive(ctx, botmesh.Record{
		Type: botmesh.TypeMessage, ID: "1", Chat: botmesh.ChatKey{Provider: "terminal", Chat: "me"},
		Message: botmesh.Message{Text: "hello"},
	})
	fmt.Println(err)
	<-t.said
	stop()
	fmt.Println(<-done)
	// Unordered output:
	// you said: hello
	// <nil>
	// <nil>
}

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
