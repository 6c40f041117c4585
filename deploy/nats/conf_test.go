// Package nats_test proves that the configurations beside it are what they say:
// the server parses them, they start as they stand, and a cluster made of them
// loses nothing that it confirmed when its leader is killed.
package nats_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const stores = "/var/lib/botmesh" // below it each server has a folder

var nodes = []string{"cluster/n1.conf", "cluster/n2.conf", "cluster/n3.conf"}

func parse(t *testing.T, file string) *server.Options {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return opts
}

func TestEveryServerKeepsWhatItConfirms(t *testing.T) {
	t.Parallel()
	for _, file := range append([]string{"single.conf"}, nodes...) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			o := parse(t, file)
			if !o.JetStream || !o.SyncAlways {
				t.Errorf("jetstream %v, sync always %v, want both", o.JetStream, o.SyncAlways)
			}
			if !strings.HasPrefix(o.StoreDir, stores+"/") || !filepath.IsAbs(o.StoreDir) {
				t.Errorf("store_dir: got %q, want one below %s: neither temporary nor where it happens to start", o.StoreDir, stores)
			}
			if room := int(o.MaxPayload) - journal.MaxBody; room < 256<<10 {
				t.Errorf("max_payload: got %d, want a body of %d and 256 KiB of room", o.MaxPayload, journal.MaxBody)
			}
			if o.JetStreamMaxStore <= 0 || o.JetStreamMaxMemory <= 0 {
				t.Errorf("max_file_store %d, max_memory_store %d, want bounds", o.JetStreamMaxStore, o.JetStreamMaxMemory)
			}
			if lim := o.JetStreamLimits; lim.MaxAckPending != 0 || lim.Duplicates != 0 {
				t.Errorf("limits: got %+v, want none: a consumer without a limit on what is out would be refused", lim)
			}
			if o.PingInterval > 30*time.Second || o.MaxPingsOut > 2 {
				t.Errorf("ping_interval %v, ping_max %d, want a gone client noticed within a minute and a half", o.PingInterval, o.MaxPingsOut)
			}
			for _, host := range []string{o.Host, o.HTTPHost} {
				if host != "127.0.0.1" {
					t.Errorf("listens on %q without users and TLS, want 127.0.0.1", host)
				}
			}
		})
	}
}

func TestTheNodesAreOneCluster(t *testing.T) {
	t.Parallel()
	first := parse(t, nodes[0])
	unique := map[any]string{}
	for _, file := range nodes {
		o := parse(t, file)
		if o.Cluster.Name != first.Cluster.Name || o.Cluster.Name == "" {
			t.Errorf("%s: cluster %q, want %q", file, o.Cluster.Name, first.Cluster.Name)
		}
		if o.Cluster.Host != "127.0.0.1" {
			t.Errorf("%s: the cluster listens on %q, want 127.0.0.1", file, o.Cluster.Host)
		}
		var routes []string
		for _, r := range o.Routes {
			routes = append(routes, r.Host)
		}
		for _, other := range nodes {
			if want := parse(t, other).Cluster; !slices.ContainsFunc(routes, func(r string) bool { return strings.HasSuffix(r, port(want.Port)) }) {
				t.Errorf("%s: routes %v, want one to port %d of %s", file, routes, want.Port, other)
			}
		}
		for _, own := range []any{o.ServerName, o.StoreDir, o.Port, o.HTTPPort, o.Cluster.Port} {
			if unique[own] != "" {
				t.Errorf("%v is %s's and %s's, want one owner", own, unique[own], file)
			}
			unique[own] = file
		}
	}
}
