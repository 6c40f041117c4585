package outbox

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider"
)

// counted counts what is asked of a stream.
type counted struct {
	jet.Stream
	writes, reads atomic.Int64
}

func (c *counted) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	c.writes.Add(1)
	return c.Stream.Publish(ctx, p)
}

func (c *counted) Last(ctx context.Context, subject string) (jet.Stored, error) {
	c.reads.Add(1)
	return c.Stream.Last(ctx, subject)
}

func (c *counted) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	c.reads.Add(1)
	return c.Stream.Next(ctx, subject, from)
}

// noop is a platform that takes everything at once.
type noop struct{ account }

func (*noop) Call(context.Context, provider.Call) (provider.Sent, error) { return provider.Sent{}, nil }

// BenchmarkLetters appends and delivers one letter a turn, in 64 chats at once.
func BenchmarkLetters(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		benchmarkLetters(b, jet.NewMemory().Stream(StreamName("b"), jet.MemoryConfig{Metadata: map[string]string{epochKey: "e"}}))
	})
	b.Run("server", func(b *testing.B) {
		benchmarkLetters(b, dial(b, natstest.Start(b)).Stream(StreamName("b")))
	})
}

func benchmarkLetters(b *testing.B, stream jet.Stream) {
	const chats = 64
	s := &counted{Stream: stream}
	o, err := Open(b.Context(), Config{Stream: s, Bot: "b", Incarnation: "i", Senders: []provider.Sender{&noop{}}})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	b.ResetTimer()
	for i := range chats {
		chat := botmesh.ChatKey{Provider: "test", Chat: strconv.Itoa(i)}
		group.Go(func() {
			out := uint64(0)
			for next.Add(1) <= int64(b.N) {
				l, err := o.Letter(botmesh.LetterID(chat, "j", out), chat, []botmesh.Send{{Text: "count: 17"}}, time.Now(), nil)
				if err == nil {
					out, err = o.Append(b.Context(), l, out)
				}
				d := o.Deliver(b.Context(), chat)
				d.Put(out, l)
				if _, werr := d.Wait(b.Context(), out); err == nil {
					err = werr
				}
				if _, cerr := d.Close(b.Context()); err == nil {
					err = cerr
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "letters/s")
	b.ReportMetric(float64(s.writes.Load())/float64(b.N), "writes/letter")
	b.ReportMetric(float64(s.reads.Load())/float64(b.N), "reads/letter")
}
