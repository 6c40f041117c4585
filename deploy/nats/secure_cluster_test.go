package nats_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/journal"
)

// secureCluster runs three servers of secure/cluster.conf, which find each other by TLS.
// They differ from what runs elsewhere in addresses and folders.
func (h *host) secureCluster(t *testing.T) *natstest.Group {
	t.Helper()
	var routes []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", h.ports[3*i+2]))
	}
	g := &natstest.Group{}
	for i := range 3 {
		name := fmt.Sprintf("nats-%d", i+1)
		t.Setenv("NATS_NAME", name)
		own := "secure/" + name + ".conf"
		text, err := os.ReadFile(filepath.Join(h.dir, "secure/cluster.conf"))
		if err == nil {
			store := filepath.Join(h.dir, "store")
			err = os.WriteFile(filepath.Join(h.dir, own), []byte(strings.ReplaceAll(string(text), store, store+"-"+name)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes = append(g.Nodes, h.start(t, own, name, i, "-a", "127.0.0.1", "--cluster", routes[i], "--routes", strings.Join(routes, ",")))
	}
	return g
}

// Three nodes become a cluster that keeps each stream three times, and on each of them a
// role may do what it is to and nothing else. Without a certificate of their authority
// nobody speaks to them as a node.
//
// SPEC X3
func TestTheSecureNodesAreOneCluster(t *testing.T) {
	passwords(t)
	h := newHost(t, 3)
	secure := h.secure(t)
	cluster := h.secureCluster(t)
	js := operator(t, cluster.URL(), secure, 3)
	natstest.Until(t, "three copies of the inbox", func() bool {
		stream, err := js.Stream(t.Context(), journal.InboxStream(bot))
		if err != nil {
			return false
		}
		in := stream.CachedInfo().Cluster
		return in != nil && in.Name == "botmesh" && in.Leader != "" && len(in.Replicas) == 2 &&
			!slices.ContainsFunc(in.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline })
	})
	for _, node := range cluster.Nodes {
		eachRole(t, node.URL, secure)
	}
	own, err := tls.LoadX509KeyPair(h.dir+"/tls/tls.crt", h.dir+"/tls/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		address := fmt.Sprintf("127.0.0.1:%d", h.ports[3*i+2])
		if err := joins(address, secure); err == nil {
			t.Errorf("node %d takes a node without a certificate", i+1)
		}
		member := secure.Clone()
		member.Certificates = []tls.Certificate{own}
		if err := joins(address, member); err != nil {
			t.Errorf("node %d takes no node with a certificate: %v", i+1, err)
		}
	}
}

// joins begins to speak to a node as another one does, until that says who it is.
func joins(address string, secure *tls.Config) error {
	conn, err := tls.Dial("tcp", address, secure)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "INFO ") {
		err = fmt.Errorf("got %q, want who it is", line)
	}
	return err
}

// dialAs connects as a program of a role does.
func dialAs(t *testing.T, url string, secure *tls.Config, role, inbox string) *jet.Conn {
	t.Helper()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: url, User: role, Password: password(role), Inbox: "_INBOX." + inbox, TLS: secure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Whoever has the password of an ingress stores what it likes as if it had come from a
// platform or another chat, and can empty the journal: the server knows no permission on
// a header, and lets a stream with timers take rollups whatever it is told. The other
// streams take none.
//
// SPEC X3
func TestWhatAnIngressCanStillDo(t *testing.T) {
	passwords(t)
	h := newHost(t, 1)
	secure := h.secure(t)
	node := h.start(t, "secure/single.conf", "botmesh", 0, "-a", "127.0.0.1")
	js := operator(t, node.URL, secure, 1)
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "1"}
	conn := dialAs(t, node.URL, secure, "operator", "botmesh")
	j, err := journal.Open(t.Context(), journal.Config{Bot: bot, Inbox: conn.Stream(journal.InboxStream(bot)), Dead: conn.Stream(journal.DeadStream(bot))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeCommand, ID: "c1", Chat: chat, Sends: []botmesh.Send{{Text: "paid"}}}); err != nil {
		t.Fatal(err)
	}
	inbox, err := js.Stream(t.Context(), journal.InboxStream(bot))
	if err != nil {
		t.Fatal(err)
	}
	command, err := inbox.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	ingress := dialAs(t, node.URL, secure, "ingress", "botmesh-ingress").NATS()
	store := func(subject string, header nats.Header) error {
		answer, err := ingress.RequestMsgWithContext(t.Context(), &nats.Msg{Subject: subject, Header: header, Data: command.Data})
		if err == nil && strings.Contains(string(answer.Data), "error") {
			err = errors.New(string(answer.Data))
		}
		return err
	}
	forged := nats.Header{}
	for key, values := range command.Header {
		forged[key] = values
	}
	forged.Set(nats.MsgIdHdr, command.Header.Get(nats.MsgIdHdr)+"2") // and the place of the first one, which nobody believes
	if err := store(command.Subject, forged); err != nil {
		t.Fatal(err)
	}
	entries, err := j.List(t.Context(), journal.Filter{Chat: chat})
	if err != nil || len(entries) != 2 || entries[1].Record.Type != botmesh.TypeCommand || entries[1].Record.Seq != 2 {
		t.Errorf("got %d records (%v), want a second command at place 2: if an ingress can send none now, say so in accounts.conf", len(entries), err)
	}

	if err := store("bot.in.demo.telegram.2", nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupAll}}); err != nil {
		t.Fatal(err)
	}
	info, err := inbox.Info(t.Context())
	if err != nil || info.State.Msgs != 1 {
		t.Errorf("got %d messages (%v), want the rollup alone: if it is refused now, say so in accounts.conf", info.State.Msgs, err)
	}
	for _, cfg := range wanted(1) {
		allows := cfg.Name == journal.InboxStream(bot) || strings.HasPrefix(cfg.Name, "KV_")
		cfg.AllowRollup = allows && !cfg.AllowMsgSchedules
		stream, err := js.UpdateStream(t.Context(), cfg)
		if err != nil || stream.CachedInfo().Config.AllowRollup != allows {
			t.Errorf("%s: got rollups %t (%v), want %t", cfg.Name, stream.CachedInfo().Config.AllowRollup, err, allows)
		}
	}
}
