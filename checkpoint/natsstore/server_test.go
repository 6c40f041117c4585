package natsstore_test

import (
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/checkpointtest"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

var bots atomic.Int64

// newStore makes a bucket of its own.
func newStore(t testing.TB, c *jet.Conn, replicas int) (s *natsstore.Store, bot string) {
	t.Helper()
	bot = "b" + strconv.FormatInt(bots.Add(1), 10)
	cfg := natsstore.Stream(bot, replicas)
	if _, err := c.JetStream().CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	stream, never := c.Stream(cfg.Name), uint64(1)<<60
	natstest.Until(t, "the stream takes writes", func() bool { // on a cluster a moment after it was made
		_, err := stream.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "$KV." + natsstore.Bucket(bot) + ".probe"}, Expect: &never})
		return errors.Is(err, botmesh.ErrConflict)
	})
	return natsstore.New(stream, bot), bot
}

func onServer(c *jet.Conn, replicas int) checkpointtest.Backend {
	return checkpointtest.Backend{
		New: func(t testing.TB) checkpoint.Store {
			s, _ := newStore(t, c, replicas)
			return s
		},
		TooLarge: tooLarge,
	}
}
