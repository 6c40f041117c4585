package jet_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// A cluster is another implementation than a single server: the same suite, and
// what only a cluster does.
func TestCluster(t *testing.T) {
	t.Parallel()
	g := natstest.Cluster(t, 3)
	t.Run("Suite", func(t *testing.T) { jettest.Run(t, onServer(t, g.URL(), 3)) })
	t.Run("OneWinnerPerRevisionWhileTheLeaderMoves", func(t *testing.T) { leaderMoves(t, g) })
	t.Run("PublishesGoOnAfterTheLeaderWasKilled", func(t *testing.T) { leaderKilled(t, g) })
}

// SPEC: C1. Writers replace one subject's last message while its stream's leader
// is moved again and again. However their answers get lost, one write wins per
// sequence: the messages that are there name each other as one chain.
func leaderMoves(t *testing.T, g *natstest.Group) {
	admin := dial(t, g.URL())
	if _, err := admin.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	var wins, conflicts, others atomic.Int64
	for range 6 {
		s := dial(t, g.URL()).Stream("S")
		wg.Go(func() { race(ctx, t, s, &wins, &conflicts, &others) })
	}
	for moved := 0; moved < 4; moved++ {
		before := wins.Load()
		natstest.Until(t, "writes to go on", func() bool { return wins.Load() > before+100 })
		if _, err := admin.NATS().Request("$JS.API.STREAM.LEADER.STEPDOWN.S", nil, 2*time.Second); err != nil {
			t.Logf("step down: %v", err)
		}
	}
	stop()
	wg.Wait()
	t.Logf("%d wins, %d conflicts, %d refused or unknown", wins.Load(), conflicts.Load(), others.Load())
	if conflicts.Load() == 0 || others.Load() == 0 {
		t.Errorf("got %d conflicts and %d lost answers: this run proves nothing", conflicts.Load(), others.Load())
	}
	wantChain(t, admin.Stream("S"), wins.Load())
}

// race replaces the last message of a subject by one that names its predecessor.
func race(ctx context.Context, t *testing.T, s jet.Stream, wins, conflicts, others *atomic.Int64) {
	for ctx.Err() == nil {
		last, err := s.Last(ctx, "s.1")
		if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
			continue
		}
		_, err = s.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: "s.1"}, Expect: &last.Seq})
		switch {
		case err == nil:
			wins.Add(1)
		case errors.Is(err, botmesh.ErrConflict):
			conflicts.Add(1)
		case errors.Is(err, botmesh.ErrRefused), errors.Is(err, botmesh.ErrUnknown):
			others.Add(1)
		default:
			t.Errorf("publish: %v", err)
		}
	}
}

// wantChain checks that every message expected the sequence of the one before it.
func wantChain(t *testing.T, s jet.Stream, wins int64) {
	t.Helper()
	n, before := int64(0), "0"
	for from := uint64(1); ; {
		var of []jet.Stored
		natstest.Until(t, "the leader to answer", func() bool {
			var err error
			of, err = s.Range(t.Context(), "s.1", from, 256)
			return err == nil
		})
		for _, m := range of {
			if got := m.Header.Get(jetstream.ExpectedLastSubjSeqHeader); got != before {
				t.Fatalf("message %d expected %s, the one before is %s", m.Seq, got, before)
			}
			n, before, from = n+1, utoa(m.Seq), m.Seq+1
		}
		if len(of) == 0 {
			break
		}
	}
	if n < wins {
		t.Errorf("got %d messages, want at least the %d that were acknowledged", n, wins)
	}
}

// A leader that is killed is missed for seconds only, and what it acknowledged is there.
func leaderKilled(t *testing.T, g *natstest.Group) {
	c := dial(t, g.URL())
	stream, err := c.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "K", Subjects: []string{"k.>"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Stream("K")
	consumer, err := s.Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	publish := func() error {
		_, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "k.1"}})
		return err
	}
	if err := publish(); err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.Node(t, info.Cluster.Leader).Kill()
	began := time.Now()
	natstest.Until(t, "a publish to be accepted", func() bool { return publish() == nil })
	t.Logf("accepted again after %v", time.Since(began))
	if err := c.Healthy(); err != nil {
		t.Errorf("healthy: got %v after an accepted publish", err)
	}
	seen := 0
	natstest.Until(t, "both messages", func() bool {
		err := consumer.Pull(t.Context(), 10, time.Second, func(d jet.Delivery) { seen++; _ = d.Ack() })
		if err != nil && !errors.Is(err, botmesh.ErrRefused) {
			t.Fatal(err)
		}
		return seen >= 2
	})
}
