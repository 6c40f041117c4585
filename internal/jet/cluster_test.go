package jet_test

import (
	"errors"
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
	t.Run("PublishesGoOnAfterTheLeaderWasKilled", func(t *testing.T) { leaderKilled(t, g) })
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
