package nats_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/streams"
)

const bot = "demo"

func port(p int) string { return fmt.Sprintf(":%d", p) }

// host runs servers by the configurations as they stand, but for the folder of the
// stores, and for ports that are free.
type host struct {
	dir   string
	ports []int // three for each server: clients, monitor, cluster
}

func newHost(t *testing.T, servers int) *host {
	t.Helper()
	h := &host{dir: t.TempDir()}
	for range 3 * servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		h.ports = append(h.ports, l.Addr().(*net.TCPAddr).Port)
	}
	files, err := fs.Glob(os.DirFS("."), "*.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"cluster", "secure"} {
		more, err := filepath.Glob(dir + "/*.conf")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(h.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.ReplaceAll(string(text), stores, filepath.Join(h.dir, "store")))
		if err := os.WriteFile(filepath.Join(h.dir, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// start runs a server of a configuration.
func (h *host) start(t *testing.T, file, name string, i int, args ...string) *natstest.Node {
	t.Helper()
	args = append([]string{"-c", filepath.Join(h.dir, file), "-p", fmt.Sprint(h.ports[3*i]), "-m", fmt.Sprint(h.ports[3*i+1])}, args...)
	return natstest.Run(t, name, fmt.Sprintf("nats://127.0.0.1:%d", h.ports[3*i]), args...)
}

// cluster runs the three nodes.
func (h *host) cluster(t *testing.T) *natstest.Group {
	t.Helper()
	var routes []string
	for i := range nodes {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", h.ports[3*i+2]))
	}
	g := &natstest.Group{}
	for i, file := range nodes {
		name := strings.TrimSuffix(filepath.Base(file), ".conf")
		g.Nodes = append(g.Nodes, h.start(t, file, name, i, "--cluster", routes[i], "--routes", strings.Join(routes, ",")))
	}
	return g
}

// made makes all streams of a bot as a program does, with as many replicas as the
// servers are for.
func made(t *testing.T, conn *jet.Conn) *journal.Journal {
	t.Helper()
	natstest.Until(t, "streams", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := streams.Ensure(ctx, conn.JetStream(), streams.Create, wanted(0))
		if err != nil && !errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, botmesh.ErrUnknown) {
			t.Fatal(err)
		}
		return err == nil
	})
	j, err := journal.Open(t.Context(), journal.Config{
		Bot: bot, Inbox: conn.Stream(journal.InboxStream(bot)), Dead: conn.Stream(journal.DeadStream(bot)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func wanted(replicas int) []jetstream.StreamConfig {
	s, err := config.Load(config.Input{})
	if err != nil {
		panic(err) // the defaults are wrong
	}
	all := engine.Streams(s.Config)
	for i := range all {
		all[i].Replicas = replicas
	}
	return all
}

func dial(t *testing.T, url string) *jet.Conn {
	t.Helper()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// publish journals one record after the other of a chat until ctx ends, and tells of
// each that was confirmed.
func publish(ctx context.Context, j *journal.Journal, chat botmesh.ChatKey, confirmed func(text string)) {
	for i := 0; ctx.Err() == nil; i++ {
		text := fmt.Sprint(i)
		r := botmesh.Record{Type: botmesh.TypeMessage, ID: chat.Chat + "-" + text, Chat: chat, Message: botmesh.Message{Text: text}}
		if _, err := j.Publish(ctx, r); err == nil {
			confirmed(text)
		}
	}
}

func TestTheSingleServerStartsAndKeepsWhatItConfirmed(t *testing.T) {
	t.Parallel()
	h := newHost(t, 1)
	server := h.start(t, "single.conf", "botmesh", 0)
	conn := dial(t, server.URL)
	j := made(t, conn)
	if replicas, err := streams.Replicas(conn.JetStream()); replicas != 1 || err != nil {
		t.Errorf("replicas: got %d and %v, want 1", replicas, err)
	}
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "1"}
	var want []string
	ctx, stop := context.WithCancel(t.Context())
	publish(ctx, j, chat, func(text string) {
		if want = append(want, text); len(want) == 50 {
			stop()
		}
	})
	server.Kill()
	server.Start(t)
	natstest.Until(t, "the server to be back", func() bool { return conn.Healthy() == nil })
	if got := textsOf(t, j, chat); !slices.Equal(got, want) {
		t.Errorf("got %q, want what was confirmed: %q", got, want)
	}
}

func textsOf(t *testing.T, j *journal.Journal, chat botmesh.ChatKey) []string {
	t.Helper()
	var entries []journal.Entry
	natstest.Until(t, "an answer to a listing", func() bool {
		var err error
		entries, err = j.List(t.Context(), journal.Filter{Chat: chat, Limit: journal.MaxList})
		return err == nil
	})
	var texts []string
	for _, e := range entries {
		texts = append(texts, e.Record.Message.Text)
	}
	return texts
}

// The leader of the inbox is killed under load: the others go on within half a
// minute, and nothing that was confirmed is lost or out of order.
func TestTheClusterOutlivesTheLeaderOfTheInbox(t *testing.T) {
	t.Parallel()
	cluster := newHost(t, 3).cluster(t)
	conn := dial(t, cluster.URL())
	j := made(t, conn)
	leader := inbox(t, conn).Cluster.Leader

	const chats = 4
	chat := func(i int) botmesh.ChatKey { return botmesh.ChatKey{Provider: "telegram", Chat: fmt.Sprint(i)} }
	var all sync.WaitGroup
	var total atomic.Int64
	confirmed := make([][]string, chats)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range chats {
		all.Go(func() {
			publish(ctx, j, chat(i), func(text string) {
				confirmed[i] = append(confirmed[i], text)
				total.Add(1)
			})
		})
	}
	natstest.Until(t, "records", func() bool { return total.Load() >= 100 })
	cluster.Node(t, leader).Kill()
	killed, before := time.Now(), total.Load()
	natstest.Until(t, "records without the leader", func() bool { return total.Load() >= before+100 })
	t.Logf("%s led and was killed; 100 records were confirmed %v later", leader, time.Since(killed).Round(time.Millisecond))
	stop()
	all.Wait()

	for i := range chats {
		if got := textsOf(t, j, chat(i)); !contains(got, confirmed[i]) {
			t.Errorf("chat %d: got %d records, want all %d that were confirmed, in their order, each once", i, len(got), len(confirmed[i]))
		}
	}
	if now := inbox(t, conn).Cluster.Leader; now == leader || now == "" {
		t.Errorf("leader: got %q, want another than the killed %q", now, leader)
	}
	cluster.Node(t, leader).Start(t)
	natstest.Until(t, "the killed node to catch up", func() bool {
		info, err := conn.JetStream().Stream(t.Context(), journal.InboxStream(bot))
		return err == nil && !slices.ContainsFunc(info.CachedInfo().Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current })
	})
}

// inbox waits for the leader's word on the inbox.
func inbox(t *testing.T, conn *jet.Conn) *jetstream.StreamInfo {
	t.Helper()
	var info *jetstream.StreamInfo
	natstest.Until(t, "a leader of the inbox", func() bool {
		s, err := conn.JetStream().Stream(t.Context(), journal.InboxStream(bot))
		if err == nil {
			info = s.CachedInfo()
		}
		return err == nil && info.Config.Replicas == 3
	})
	return info
}

// contains reports whether got holds want in its order, each once. What was not
// confirmed may stand between.
func contains(got, want []string) bool {
	seen := map[string]bool{}
	for _, text := range got {
		if seen[text] {
			return false
		}
		seen[text] = true
		if len(want) > 0 && text == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
