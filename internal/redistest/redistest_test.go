package redistest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server keeps its address over a restart, and its data only if told to.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want int64
	}{
		"nothing kept": {nil, 0},
		"kept":         {[]string{"--appendonly", "yes", "--appendfsync", "always"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, test.args...)
			client := s.Client(t)
			if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			if ping(s.Addr()) {
				t.Error("a killed server answers")
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if got, err := client.Exists(t.Context(), "k").Result(); err != nil || got != test.want {
				t.Errorf("got %d keys, %v after a restart, want %d", got, err, test.want)
			}
		})
	}
}

// A frozen server takes connections, and answers when it goes on.
func TestStop(t *testing.T) {
	t.Parallel()
	s := Start(t)
	client := s.Client(t)
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if ping(s.Addr()) {
		t.Error("a frozen server answers")
	}
	<-ctx.Done()
	s.Continue()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after going on: %v", err)
	}
	s.Stop()
	s.Close() // ends a frozen one too
	s.Close()
}

// A server that can not start says why.
func TestNewFails(t *testing.T) {
	t.Parallel()
	s, err := New(t.TempDir(), "--no-such-setting", "x")
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err == nil {
		s.Close()
		t.Fatal("started with a setting that does not exist")
	}
}

// A master that is gone is replaced, and is a replica when it comes back.
func TestSentinels(t *testing.T) {
	t.Parallel()
	s := StartSentinels(t)
	old := s.Master(t)
	if old != s.Servers[0] {
		t.Errorf("got %s, want the first server %s", old.Addr(), s.Servers[0].Addr())
	}
	old.Kill()
	wait(t, "another master", func(context.Context) bool { return s.Master(t) != old })
	if err := old.Restart(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the old master follows", func(ctx context.Context) bool {
		return infoHas(ctx, old.Client(t), "replication", "role:slave", "master_link_status:up")
	})
}

// The master of a key that is gone is replaced, and its key is kept.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Servers[4].Addr(), c.Servers[5].Addr()}})
	defer client.Close()
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	old := c.MasterOf(t, "k")
	wait(t, "the replica has the key", func(ctx context.Context) bool {
		return infoHas(ctx, old.Client(t), "replication", "connected_slaves:1", "lag=0")
	})
	old.Kill()
	wait(t, "another master has the key", func(ctx context.Context) bool {
		client.ReloadState(ctx)
		return client.Get(ctx, "k").Val() == "v"
	})
	if err := old.Restart(); err != nil {
		t.Fatal(err)
	}
	c.wait(t, "cluster_state:ok")
}
