package jet_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	m := jet.NewMemory()
	t.Cleanup(m.Close)
	jettest.Run(t, jettest.Backend{
		New: func(_ testing.TB, cfg jetstream.StreamConfig) jet.Stream {
			return m.Stream(cfg.Name, jet.MemoryConfig{Metadata: cfg.Metadata, Duplicates: cfg.Duplicates})
		},
		Again: func(_ testing.TB, name string) jet.Stream { return m.Stream(name, jet.MemoryConfig{}) },
		DeleteConsumer: func(_ testing.TB, stream, consumer string) {
			m.Stream(stream, jet.MemoryConfig{}).DeleteConsumer(consumer)
		},
		DeleteMessage: func(_ testing.TB, stream string, seq uint64) { m.Stream(stream, jet.MemoryConfig{}).Remove(seq) },
	})
}

func TestServer(t *testing.T) {
	t.Parallel()
	jettest.Run(t, onServer(t, natstest.Start(t), 1))
}

// onServer tests streams of that many replicas. Each handle has a connection of
// its own.
func onServer(t *testing.T, url string, replicas int) jettest.Backend {
	admin := dial(t, url).JetStream()
	again := func(t testing.TB, name string) jet.Stream { return dial(t, url).Stream(name) }
	return jettest.Backend{
		New: func(t testing.TB, cfg jetstream.StreamConfig) jet.Stream {
			cfg.Replicas = replicas
			if _, err := admin.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			s := again(t, cfg.Name)
			answered(t, s, cfg)
			return s
		},
		Again: again,
		DeleteConsumer: func(t testing.TB, stream, consumer string) {
			if err := admin.DeleteConsumer(t.Context(), stream, consumer); err != nil {
				t.Fatal(err)
			}
		},
		DeleteMessage: func(t testing.TB, stream string, seq uint64) {
			s, err := admin.Stream(t.Context(), stream)
			if err == nil {
				err = s.DeleteMsg(t.Context(), seq)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

// answered waits until a stream that was made answers at the server that s asks: in a
// cluster the one that made it knows first. What is published meanwhile is expected to
// follow what is not there, so nothing is stored.
func answered(t testing.TB, s jet.Stream, cfg jetstream.StreamConfig) {
	t.Helper()
	never := uint64(1 << 40)
	probe := jet.Publish{Msg: jet.Msg{Subject: strings.TrimSuffix(cfg.Subjects[0], ">") + "probe"}, Expect: &never}
	for {
		_, err := s.Publish(t.Context(), probe)
		switch {
		case errors.Is(err, botmesh.ErrConflict):
			return
		case !errors.Is(err, botmesh.ErrRefused) || t.Context().Err() != nil:
			t.Fatalf("publish to a new stream: got error %v, want a conflict or nobody's answer yet", err)
		}
	}
}

func dial(t testing.TB, url string) *jet.Conn {
	t.Helper()
	c, err := jet.Dial(t.Context(), jet.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
