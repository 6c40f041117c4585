package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterName is what the Sentinels call the master.
const masterName = "main"

// Sentinels are a master, two replicas and the three Sentinels that watch them and
// make a replica the master when it is gone for half a second.
type Sentinels struct {
	Servers   []*Server // the first one begins as the master
	Sentinels []*Server
}

// StartSentinels runs them until the test ends. It returns when the replicas
// follow and every Sentinel knows all others.
func StartSentinels(t testing.TB) *Sentinels {
	t.Helper()
	s := &Sentinels{}
	for i := range 3 {
		var args []string
		if i > 0 {
			args = []string{"--replicaof", "127.0.0.1 " + strconv.Itoa(s.Servers[0].port)}
		}
		args = append(args, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
		s.Servers = append(s.Servers, Start(t, args...))
	}
	for _, replica := range s.Servers[1:] {
		wait(t, "a replica follows", func(ctx context.Context) bool {
			return infoHas(ctx, replica.Client(t), "replication", "master_link_status:up")
		})
	}
	for range 3 {
		s.Sentinels = append(s.Sentinels, s.watch(t))
	}
	for _, sentinel := range s.Sentinels {
		wait(t, "a Sentinel knows all others", func(ctx context.Context) bool {
			return infoHas(ctx, sentinel.Client(t), "sentinel", "status=ok", "slaves=2", "sentinels=3")
		})
	}
	return s
}

// watch starts a Sentinel. It keeps what it knows in its configuration file.
func (s *Sentinels) watch(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	return start(t, func(port int) []string {
		file := filepath.Join(dir, strconv.Itoa(port)+".conf")
		text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
sentinel monitor %[3]s 127.0.0.1 %[4]d 2
sentinel down-after-milliseconds %[3]s 500
sentinel failover-timeout %[3]s 3000
`, port, dir, masterName, s.Servers[0].port)
		if _, err := os.Stat(file); err != nil {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		return []string{file, "--sentinel"}
	})
}

// URL is the address of the master as redis+sentinel://….
func (s *Sentinels) URL() string {
	return "redis+sentinel://" + addrs(s.Sentinels) + "/" + masterName
}

// Master is the server that the Sentinels say is the master.
func (s *Sentinels) Master(t testing.TB) *Server {
	t.Helper()
	var master *Server
	wait(t, "a Sentinel names the master", func(ctx context.Context) bool {
		for _, sentinel := range s.Sentinels {
			c := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr()})
			at, err := c.GetMasterAddrByName(ctx, masterName).Result()
			c.Close()
			if err == nil && len(at) == 2 {
				master = byAddr(s.Servers, at[0]+":"+at[1])
				return master != nil
			}
		}
		return false
	})
	return master
}

// addrs lists the servers' addresses.
func addrs(servers []*Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return strings.Join(all, ",")
}

func byAddr(servers []*Server, addr string) *Server {
	for _, s := range servers {
		if s.Addr() == addr {
			return s
		}
	}
	return nil
}

// infoHas reports whether a section of a server's INFO has all the words.
func infoHas(ctx context.Context, c *redis.Client, section string, words ...string) bool {
	info, err := c.Info(ctx, section).Result()
	for _, word := range words {
		if err != nil || !strings.Contains(info, word) {
			return false
		}
	}
	return true
}

// wait waits until something is so.
func wait(t testing.TB, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startWait)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not in %s: %s", startWait, what)
		}
	}
}
