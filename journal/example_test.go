package journal_test

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

// A webhook that the platform delivers twice is one record.
func Example() {
	ctx := context.Background()
	server := jet.NewMemory()
	j, err := journal.Open(ctx, journal.Config{
		Bot:   "demo",
		Inbox: server.Stream(journal.InboxStream("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
		Dead:  server.Stream(journal.DeadStream("demo"), jet.MemoryConfig{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	webhook := []botmesh.Record{{
		Type:    botmesh.TypeMessage,
		ID:      "update-1",
		Chat:    botmesh.ChatKey{Provider: "telegram", Chat: "42"},
		Message: botmesh.Message{Text: "two pizzas, please"},
	}}
	for range 2 {
		placed, err := j.PublishAll(ctx, webhook)
		fmt.Println(placed, err)
	}
	entries, err := j.Read(ctx, webhook[0].Chat, 0, 10)
	fmt.Println(len(entries), entries[0].Record.Message.Text, err)
	// Output:
	// [{1 false}] <nil>
	// [{1 true}] <nil>
	// 1 two pizzas, please <nil>
}
