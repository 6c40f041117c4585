package natsd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natsd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What was stored is there after a restart in the same folder, by a socket or
// without one.
func TestAServerKeepsItsStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range uint64(2) {
		for _, sync := range []time.Duration{0, -1, 100 * time.Millisecond} {
			s, err := natsd.Start(t.Context(), natsd.Config{Dir: dir, SyncInterval: sync})
			if err != nil {
				t.Fatal(err)
			}
			cfg := jet.Config{URL: s.URL()}
			if i == 1 {
				cfg = jet.Config{URL: "nats://127.0.0.1:1", InProcess: s}
			}
			c, err := jet.Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.JetStream().CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
				t.Fatal(err)
			}
			before, err := c.Stream("S").Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ack, err := c.Stream("S").Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "s"}})
			if err != nil || ack.Seq != before.LastSeq+1 {
				t.Errorf("got %+v, %v, want sequence %d", ack, err, before.LastSeq+1)
			}
			c.Close()
			s.Shutdown()
			if i == 1 && before.Messages < 3 {
				t.Errorf("got %d messages after restarts, want those of before", before.Messages)
			}
		}
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	if _, err := natsd.Start(t.Context(), natsd.Config{}); err == nil {
		t.Error("no folder: got no error")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := natsd.Start(t.Context(), natsd.Config{Dir: t.TempDir(), Port: n}); err == nil {
		s.Shutdown()
		t.Error("a port that is taken: got no error")
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := natsd.Start(t.Context(), natsd.Config{Dir: file}); err == nil {
		s.Shutdown()
		t.Error("a folder that is a file: got no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := natsd.Start(ctx, natsd.Config{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: got %v, want its error", err)
	}
}
