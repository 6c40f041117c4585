package ingressd

import (
	"context"
	"log/slog"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/outbox"
)

// letters are the outbox, for the web chat to read, from when it can be opened.
type letters struct {
	opened chan struct{} // closed when outbox is set
	outbox *outbox.Outbox
}

func newLetters() *letters { return &letters{opened: make(chan struct{})} }

// open waits until the outbox can be read. It does nothing if nobody reads it.
func (l *letters) open(ctx context.Context, conn *jet.Conn, s config.Config, log *slog.Logger) error {
	if l == nil {
		return nil
	}
	return engine.Await(ctx, log, s, "outbox", func(ctx context.Context) error {
		o, err := outbox.Open(ctx, outbox.Config{
			Stream: conn.Stream(outbox.StreamName(s.Bot)), Bot: s.Bot, Listen: engine.Listen(conn), Logger: log,
		})
		if err != nil {
			return err
		}
		l.outbox = o
		close(l.opened)
		return nil
	})
}

// Follow implements [webchat.Letters].
func (l *letters) Follow(ctx context.Context, chat botmesh.ChatKey, after uint64, each func(seq uint64, l botmesh.Letter) error) error {
	select {
	case <-l.opened:
		return l.outbox.Follow(ctx, chat, after, each)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
