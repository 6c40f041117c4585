package natsstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/checkpointtest"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnACluster(t *testing.T) {
	t.Parallel()
	g := natstest.Cluster(t, 3)
	t.Run("Suite", func(t *testing.T) { checkpointtest.Run(t, onServer(dial(t, g.URL()), 3)) })
	t.Run("OneChainWhileTheLeaderMoves", func(t *testing.T) { leaderMoves(t, g.URL()) })
}

// SPEC: C1 C5. DESIGN C8. Three replicas write one chain while the bucket's leader
// is moved again and again, which loses answers and gives false conflicts.
func leaderMoves(t *testing.T, url string) {
	admin := dial(t, url)
	_, bot := newStore(t, admin, 3)
	stream := "KV_" + natsstore.Bucket(bot)
	stop, stopped := make(chan struct{}), make(chan struct{})
	var moved atomic.Int64
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				if _, err := admin.NATS().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, 2*time.Second); err == nil {
					moved.Add(1)
				}
			}
		}
	}()
	checkpointtest.Chain(t, 3, 120, func(int) checkpoint.Store {
		return natsstore.New(dial(t, url).Stream(stream), bot)
	})
	close(stop)
	<-stopped
	if moved.Load() < 2 {
		t.Errorf("the leader moved %d times: this run proves nothing", moved.Load())
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
