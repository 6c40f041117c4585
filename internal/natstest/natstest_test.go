package natstest_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A node that is killed comes back on its address with what it stored.
func TestAClusterSurvivesANode(t *testing.T) {
	t.Parallel()
	g := natstest.Cluster(t, 3)
	c, err := jet.Dial(t.Context(), jet.Config{URL: g.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	natstest.Until(t, "the stream to be made", func() bool {
		_, err := c.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
		return err == nil
	})
	first := uint64(0) // it is stored once, whatever becomes of an answer
	natstest.Until(t, "a message to be stored", func() bool {
		_, err := c.Stream("S").Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "s"}, Expect: &first})
		return err == nil || errors.Is(err, botmesh.ErrConflict)
	})
	n := g.Nodes[0]
	n.Kill()
	n.Start(t)
	one, err := jet.Dial(t.Context(), jet.Config{URL: n.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	natstest.Until(t, "the node to know the stream", func() bool {
		info, err := one.Stream("S").Info(t.Context())
		return err == nil && info.Messages == 1
	})
}

func TestAProcessIsReady(t *testing.T) {
	t.Parallel()
	n := natstest.Process(t)
	c, err := jet.Dial(t.Context(), jet.Config{URL: n.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Healthy(); err != nil {
		t.Error(err)
	}
}
