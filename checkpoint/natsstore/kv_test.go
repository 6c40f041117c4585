package natsstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// The bucket is one that the client's key-value API, and so `nats kv`, can use.
// What it deletes is no row, and no obstacle: DESIGN C1.
func TestKeyValueAPI(t *testing.T) {
	t.Parallel()
	c := dial(t, natstest.Start(t))
	s, bot := newStore(t, c, 1)
	kv, err := c.JetStream().KeyValue(t.Context(), natsstore.Bucket(bot))
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(t.Context(), key); err != nil || string(e.Value()) != "1" || e.Revision() != last.Revision {
		t.Fatalf("kv get: got %+v, %v, want the row", e, err)
	}
	for name, remove := range map[string]func() error{
		"delete":             func() error { return kv.Delete(t.Context(), key) },
		"purge":              func() error { return kv.Purge(t.Context(), key) },
		"purge with a time":  func() error { return kv.Purge(t.Context(), key, jetstream.PurgeTTL(time.Hour)) },
		"purge that expires": func() error { return expired(t, c, kv, bot) },
	} {
		if err := remove(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if row, err := s.Load(t.Context(), key); err != nil || row.Revision != 0 {
			t.Errorf("%s: load: got %+v, %v, want the zero Row", name, row, err)
		}
		if _, err := s.Swap(t.Context(), key, last, []byte("2"), "stale", 0); !errors.Is(err, botmesh.ErrConflict) {
			t.Errorf("%s: swap of the removed row: got %v, want ErrConflict", name, err)
		}
		row, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte(name), "after "+name, 0)
		if err != nil || row.Revision <= last.Revision {
			t.Fatalf("%s: swap from nothing: got %+v, %v", name, row, err)
		}
		last = row
	}
}

// expired purges the key and waits until the server has removed the marker too.
func expired(t *testing.T, c *jet.Conn, kv jetstream.KeyValue, bot string) error {
	if err := kv.Purge(t.Context(), key, jetstream.PurgeTTL(time.Second)); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		info, err := c.Stream("KV_" + natsstore.Bucket(bot)).Info(t.Context())
		if err != nil || info.Messages == 0 {
			return err
		}
	}
	return errors.New("the marker did not expire")
}
