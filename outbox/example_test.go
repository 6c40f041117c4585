package outbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// console is a platform that prints.
type console struct{}

func (console) ID() string                          { return "console" }
func (console) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (console) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	fmt.Printf("%s: %s\n", c.Chat, c.Send.Text)
	return provider.Sent{}, nil
}

// A commit's sends become a letter, which is appended and delivered under the
// chat's turn.
func Example() {
	ctx := context.Background()
	stream := jet.NewMemory().Stream(outbox.StreamName("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}})
	o, err := outbox.Open(ctx, outbox.Config{
		Stream:      stream,
		Bot:         "demo",
		Incarnation: "replica/1",
		Senders:     []provider.Sender{console{}},
	})
	if err != nil {
		panic(err)
	}
	chat := botmesh.ChatKey{Provider: "console", Chat: "me"}
	letter, err := o.Letter(botmesh.LetterID(chat, "j1", 1), chat, []botmesh.Send{{Text: "hello"}, {Text: "what is it?"}}, time.Now(), nil)
	if err != nil {
		panic(err)
	}
	seq, err := o.Append(ctx, letter, 0)
	if err != nil {
		panic(err)
	}

	d := o.Deliver(ctx, chat)
	d.Put(seq, letter)
	standing, err := d.Wait(ctx, seq)
	if err != nil {
		panic(err)
	}
	fmt.Println("settled:", standing.Settled == seq)
	if _, err := d.Close(ctx); err != nil {
		panic(err)
	}
	// Output:
	// console/me: hello
	// console/me: what is it?
	// settled: true
}
