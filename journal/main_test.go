package journal

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testBot = "demo"

// openMemory opens a journal on streams of a memory server, made if absent.
func openMemory(t *testing.T, server *jet.Memory, epoch string) *Journal {
	t.Helper()
	return open(t,
		server.Stream(InboxStream(testBot), jet.MemoryConfig{Metadata: map[string]string{epochKey: epoch}}),
		server.Stream(DeadStream(testBot), jet.MemoryConfig{}))
}

func open(t *testing.T, inbox, dead jet.Stream) *Journal {
	t.Helper()
	j, err := Open(t.Context(), Config{Bot: testBot, Inbox: inbox, Dead: dead})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func chat(id string) botmesh.ChatKey { return botmesh.ChatKey{Provider: "telegram", Chat: id} }

func message(c botmesh.ChatKey, id, text string) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeMessage, ID: id, Chat: c, Message: botmesh.Message{Text: text}}
}

func mustPublish(t *testing.T, p *Publisher, r botmesh.Record) Placed {
	t.Helper()
	placed, err := p.Publish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return placed
}

// texts reads a chat from a sequence on and returns what its records say.
func texts(t *testing.T, j *Journal, c botmesh.ChatKey, after uint64) []string {
	t.Helper()
	entries, err := j.Read(t.Context(), c, after, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, e := range entries {
		if e.Err != nil {
			t.Fatalf("entry %d: %v", e.Record.Seq, e.Err)
		}
		of = append(of, e.Record.Message.Text)
	}
	return of
}

// faulty lets a test answer calls of a stream itself.
type faulty struct {
	jet.Stream
	publish func(ctx context.Context, p jet.Publish) (jet.Ack, error)
	next    func(ctx context.Context, subject string, from uint64) (jet.Stored, error)
	rangeOf func(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error)
	info    func(ctx context.Context) (jet.Info, error)
}

func (f *faulty) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	if f.publish != nil {
		return f.publish(ctx, p)
	}
	return f.Stream.Publish(ctx, p)
}

func (f *faulty) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	if f.next != nil {
		return f.next(ctx, subject, from)
	}
	return f.Stream.Next(ctx, subject, from)
}

func (f *faulty) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	if f.rangeOf != nil {
		return f.rangeOf(ctx, subject, from, limit)
	}
	return f.Stream.Range(ctx, subject, from, limit)
}

func (f *faulty) Info(ctx context.Context) (jet.Info, error) {
	if f.info != nil {
		return f.info(ctx)
	}
	return f.Stream.Info(ctx)
}

// pass lets time go by in a bubble.
func pass(d time.Duration) { <-time.After(d) }
