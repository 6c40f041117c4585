package rediscoord_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// New names everything that is wrong at once.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := rediscoord.New(rediscoord.Config{
		Prefix: "a{b}", Replica: "a b", Lease: time.Millisecond, TurnWait: -1, MaxPoll: 1, Idle: time.Microsecond, WaitReplicas: -1,
	})
	if err == nil {
		t.Fatal("got no error")
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	if _, err := rediscoord.New(rediscoord.Config{Client: cluster, WaitReplicas: 1}); err == nil {
		t.Error("took replicas to wait for on a cluster")
	}
	for _, want := range []string{"no Client", "Prefix", "replica id", "Lease", "TurnWait", "MaxPoll", "Idle", "WaitReplicas"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q named", err, want)
		}
	}
}

// Dial says what is wrong with an address, and never its password.
func TestDialRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "right")
	for address, want := range map[string]string{
		"http://:secret@host":                             `scheme "http"`,
		"redis+else://:secret@host":                       `scheme "redis+else"`,
		"redis+://:secret@host":                           `scheme "redis+"`,
		"secret":                                          "not a URL",
		"redis://:secret@a,b":                             "several hosts",
		"redis+cluster://:secret@a,b:x":                   "not a URL",
		"redis+cluster://:secret@a,,b":                    "not a URL",
		"redis+cluster://:secret@a,b/1":                   "no databases",
		"redis+cluster://a,b?sentinel_password=secret":    `"sentinel_password" is not known`,
		"redis+sentinel://:secret@a,b":                    "no name of a master",
		"redis+sentinel://:secret@a,b/master/x":           `database "x"`,
		"redis+sentinel://:secret@a,b/master?what=secret": `"what" is not known`,
		"redis+cluster://:right@" + server.Addr():         "cluster support disabled",
		"redis://:secret@host:port":                       "not a URL",
		"redis://:secret@" + server.Addr() + "/x":         "database",
		"redis://:secret@" + server.Addr():                "WRONGPASS",
		"redis://" + server.Addr():                        "NOAUTH",
		"redis://:right@" + server.Addr() + "/99":         "DB index",
		"redis://:secret@" + server.Addr() + "?what=ever": "what",
	} {
		client, err := rediscoord.Dial(t.Context(), address)
		if err == nil {
			client.Close()
			t.Errorf("%s was taken", address)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %q, want %q in it and no password", address, err, want)
		}
	}
}

// Dial tells the kinds of addresses apart, and reads all that they say.
func TestDialKinds(t *testing.T) {
	t.Parallel()
	dial := func(address string) redis.UniversalClient {
		client, err := rediscoord.Dial(t.Context(), address)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		t.Cleanup(func() { client.Close() })
		return client
	}
	cluster := dial("rediss+cluster://me:p%40ss@127.0.0.1:1,[::1]:2,localhost").(*redis.ClusterClient).Options()
	if diff := cmp.Diff([]string{"127.0.0.1:1", "[::1]:2", "localhost:6379"}, cluster.Addrs); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if cluster.Username != "me" || cluster.Password != "p@ss" || cluster.TLSConfig == nil || !cluster.ContextTimeoutEnabled {
		t.Errorf("got user %q, TLS %t, ContextTimeoutEnabled %t", cluster.Username, cluster.TLSConfig != nil, cluster.ContextTimeoutEnabled)
	}
	master := dial("redis+sentinel://:pw@127.0.0.1:1,127.0.0.1:2/main/3?sentinel_password=other").(*redis.Client).Options()
	if master.Password != "pw" || master.DB != 3 || master.MaxRetries != 0 || !master.ContextTimeoutEnabled || master.TLSConfig != nil {
		t.Errorf("got password %q, DB %d, MaxRetries %d, ContextTimeoutEnabled %t", master.Password, master.DB, master.MaxRetries, master.ContextTimeoutEnabled)
	}
}

// A server of another kind than the address says is refused by name, as is one that
// takes no writes.
func TestDialOtherKind(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	sentinels := redistest.StartSentinels(t)
	master := redistest.Start(t)
	replica := redistest.Start(t)
	_, port, _ := strings.Cut(master.Addr(), ":")
	replicaOf(t, replica, "127.0.0.1", port)
	for address, want := range map[string]string{
		cluster.Servers[0].URL():     "redis+cluster://",
		sentinels.Sentinels[0].URL(): "redis+sentinel://",
		replica.URL():                "a replica of " + master.Addr(),
		strings.Replace(sentinels.URL(), "/main", "/other", 1): `know no master "other"`,
		"redis+sentinel://" + master.Addr() + "/main":          "unknown command",
		"redis+cluster://" + sentinels.Sentinels[0].Addr():     "ERR",
	} {
		if _, err := rediscoord.Dial(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", address, err, want)
		}
	}
}

// A server that can not be reached is waited for: Dial gives a client for it. No
// call is repeated by the client, and each keeps its deadline.
func TestDialConfigures(t *testing.T) {
	t.Parallel()
	client, err := rediscoord.Dial(t.Context(), "redis://127.0.0.1:1/3")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	opt := client.(*redis.Client).Options()
	if opt.MaxRetries != 0 || !opt.ContextTimeoutEnabled || opt.DB != 3 {
		t.Errorf("got MaxRetries %d, ContextTimeoutEnabled %t, DB %d", opt.MaxRetries, opt.ContextTimeoutEnabled, opt.DB)
	}
}
