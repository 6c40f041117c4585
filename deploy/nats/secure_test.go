package nats_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
	"github.com/botmesh-go/botmesh/streams"
)

const certificates = "/etc/botmesh/tls" // where the secure servers look for theirs

var (
	secured = []string{"secure/single.conf", "secure/cluster.conf"}
	roles   = []string{"ingress", "webchat", "worker", "operator", "sys"}
)

// password is what a role's is in the tests.
func password(role string) string { return role + "-password" }

// These set the process's environment, from which the servers' own passwords come:
// no test that does is parallel.
func passwords(t *testing.T) {
	t.Helper()
	for _, role := range roles {
		t.Setenv("BOTMESH_NATS_"+strings.ToUpper(role)+"_PASSWORD", password(role))
	}
	t.Setenv("NATS_NAME", "nats-1")
}

// secure is the host's folder with the certificate that certificates.sh makes, and how its
// servers are connected to.
func (h *host) secure(t *testing.T) *tls.Config {
	t.Helper()
	dir := filepath.Join(h.dir, "tls")
	certify(t, dir, "nats-1", "nats-2", "nats-3")
	for _, file := range secured {
		path := filepath.Join(h.dir, file)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), certificates, dir)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	client, err := tlsfiles.Client(tlsfiles.Files{CA: filepath.Join(dir, "ca.crt")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// certify makes an authority and a certificate of those names, as an operator does; on a
// machine without openssl as the tests do.
func certify(t *testing.T, dir string, names ...string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		a := tlstest.New(t)
		text, err := os.ReadFile(a.CA)
		if err := errors.Join(err, os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "ca.crt"), text, 0o600)); err != nil {
			t.Fatal(err)
		}
		a.Pair(t, dir, names[0])
		return
	}
	if out, err := exec.CommandContext(t.Context(), "sh", append([]string{"../certificates.sh", dir}, names...)...).CombinedOutput(); err != nil {
		t.Fatalf("certificates.sh: %v: %s", err, out)
	}
}

// The script's certificate is of the names it was given, for a server and, between the
// nodes, for a client; the key of its authority is not where the servers look.
func TestTheScriptMakesACertificateForTheNodes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl here")
	}
	dir := filepath.Join(t.TempDir(), "tls")
	certify(t, dir, "nats-1", "nats-2", "nats-3")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for _, name := range []string{"nats-1", "nats-2", "nats-3", "localhost", "127.0.0.1"} {
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
				t.Errorf("%s, use %v: %v", name, use, err)
			}
		}
	}
	if err := pair.Leaf.VerifyHostname("nats-4"); err == nil {
		t.Error("the certificate is also of nats-4")
	}
	files, err := filepath.Glob(dir + "/*")
	if want := []string{"ca.crt", "tls.crt", "tls.key"}; err != nil || len(files) != len(want) {
		t.Errorf("got %q, want %q", files, want)
	}
	if info, err := os.Stat(dir + "-ca.key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the authority's key: got %v (%v), want it beside the folder, for its owner alone", info, err)
	}
}

// SPEC X3
func TestWhatListensToOtherMachinesHasUsersAndTLS(t *testing.T) {
	passwords(t)
	h := newHost(t, 1)
	h.secure(t)
	for _, file := range secured {
		o := parse(t, filepath.Join(h.dir, file))
		if o.TLSConfig == nil || o.NoAuthUser != "" || len(o.Users) != len(roles) {
			t.Errorf("%s: TLS %v, %d users, without a name %q; want TLS and %q", file, o.TLSConfig != nil, len(o.Users), o.NoAuthUser, roles)
		}
		if !o.SyncAlways || o.JetStreamMaxStore <= 0 || o.MaxPingsOut != 2 {
			t.Errorf("%s: sync always %v, max store %d, pings %d: want what the others have", file, o.SyncAlways, o.JetStreamMaxStore, o.MaxPingsOut)
		}
		if o.Cluster.Port != 0 && (o.Cluster.TLSConfig == nil || o.Cluster.TLSConfig.ClientAuth != tls.RequireAndVerifyClientCert) {
			t.Errorf("%s: anybody joins the cluster", file)
		}
		for _, u := range o.Users {
			if u.Account.Name == "BOTMESH" && (u.Permissions == nil || u.Permissions.Publish == nil || u.Permissions.Subscribe == nil) {
				t.Errorf("%s: %s may do what it likes", file, u.Username)
			}
		}
	}
}

// Without its passwords a server does not start, rather than with none.
func TestASecureServerNeedsItsPasswords(t *testing.T) {
	h := newHost(t, 1)
	h.secure(t)
	if _, err := server.ProcessConfigFile(filepath.Join(h.dir, "secure/single.conf")); err == nil || !strings.Contains(err.Error(), "PASSWORD") {
		t.Errorf("got %v, want the absent variable named", err)
	}
}

// as connects as a role.
func as(t *testing.T, url string, secure *tls.Config, role string) *nats.Conn {
	t.Helper()
	var nc *nats.Conn
	natstest.Until(t, "a connection of "+role, func() (ok bool) {
		var err error
		nc, err = nats.Connect(url, nats.Secure(secure), nats.UserInfo(role, password(role)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		return err == nil
	})
	t.Cleanup(nc.Close)
	return nc
}

// operator connects as an operator, and makes the streams with so many replicas.
func operator(t *testing.T, url string, secure *tls.Config, replicas int) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(as(t, url, secure, "operator"))
	if err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the streams", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return streams.Ensure(ctx, js, streams.Create, wanted(replicas)) == nil
	})
	return js
}

// A role may do what is listed for it, and nothing else of what there is.
//
// SPEC X3
func TestEachRoleMayDoNothingElse(t *testing.T) {
	passwords(t)
	h := newHost(t, 1)
	secure := h.secure(t)
	node := h.start(t, "secure/single.conf", "botmesh", 0, "-a", "127.0.0.1")
	operator(t, node.URL, secure, 1)
	eachRole(t, node.URL, secure)
}

// eachRole fails if a role may do more or less than it is to.
func eachRole(t *testing.T, url string, secure *tls.Config) {
	t.Helper()
	for _, c := range []struct {
		role               string
		publish, subscribe []string // what it may
	}{
		{"ingress", []string{"bot.in.demo.telegram.1", "bot.status.demo.telegram.1"}, []string{"_INBOX.botmesh-ingress.x", "bot.who.demo"}},
		{"webchat", []string{"bot.in.demo.telegram.1", "bot.status.demo.telegram.1", "$JS.API.STREAM.INFO.BOT_demo_OUTBOX", "$JS.API.STREAM.MSG.GET.BOT_demo_OUTBOX"},
			[]string{"_INBOX.botmesh-ingress.x", "bot.out.demo.web.1", "bot.who.demo"}},
		{"worker", []string{"bot.in.demo.telegram.1", "bot.timer.demo.1", "bot.dead.demo.x", "bot.out.demo.web.1", "bot.rcpt.demo.x", "$KV.BOT_demo_CP.x",
			"$JS.API.STREAM.INFO.BOT_demo_OUTBOX", "$JS.API.STREAM.MSG.GET.BOT_demo_OUTBOX", "$JS.API.STREAM.MSG.GET.BOT_demo_INBOX", "$JS.API.DIRECT.GET.BOT_demo_INBOX",
			"$JS.API.STREAM.PURGE.BOT_demo_INBOX", "$JS.API.STREAM.PURGE.BOT_demo_DEAD", "$JS.API.CONSUMER.CREATE.BOT_demo_INBOX.x", "$JS.API.CONSUMER.MSG.NEXT.BOT_demo_INBOX.x", "$JS.ACK.BOT_demo_INBOX.x.1.1.1.1.1",
			"bot.act.demo.x", "bot.pause.demo.x", "bot.who.demo", "$JS.API.CONSUMER.LIST.BOT_demo_INBOX"}, []string{"_INBOX.botmesh-worker.x", "bot.pause.demo.x"}},
	} {
		nc := as(t, url, secure, c.role)
		for _, subject := range subjects {
			if got, want := publishes(t, nc, subject), slices.Contains(c.publish, subject); got != want {
				t.Errorf("%s publishes to %s: got %v, want %v", c.role, subject, got, want)
			}
			if got, want := listens(t, nc, subject), slices.Contains(c.subscribe, subject); got != want {
				t.Errorf("%s listens to %s: got %v, want %v", c.role, subject, got, want)
			}
		}
		for _, wide := range []string{">", "_INBOX.>", "bot.>", "$JS.>"} {
			if listens(t, nc, wide) {
				t.Errorf("%s listens to %s", c.role, wide)
			}
		}
	}
	if publishes(t, as(t, url, secure, "operator"), "$JS.API.STREAM.DELETE.BOT_demo_DEAD") {
		t.Error("operator deletes a stream")
	}
	if _, err := nats.Connect(url, nats.Secure(secure)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a name: got %v, want it refused", err)
	}
}

// subjects are one of each kind that there is on the servers, of this bot and another.
var subjects = []string{
	"bot.in.demo.telegram.1", "bot.status.demo.telegram.1", "bot.timer.demo.1", "bot.dead.demo.x", "bot.out.demo.web.1", "bot.rcpt.demo.x", "$KV.BOT_demo_CP.x", "bot.act.demo.x", "bot.pause.demo.x", "bot.who.demo",
	"bot.who.other", "bot.in.other.telegram.1", "bot.out.other.web.1", "$KV.BOT_other_CP.x", "anything",
	"_INBOX.botmesh-ingress.x", "_INBOX.botmesh-worker.x", "_INBOX.botmesh.x", "_INBOX.x",
	"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.BOT_demo_INBOX",
	"$JS.API.STREAM.DELETE.BOT_demo_DEAD", "$JS.API.STREAM.PURGE.BOT_demo_INBOX", "$JS.API.STREAM.PURGE.BOT_demo_DEAD", "$JS.API.STREAM.PURGE.BOT_demo_OUTBOX", "$JS.API.STREAM.PURGE.KV_BOT_demo_CP",
	"$JS.API.STREAM.MSG.DELETE.BOT_demo_INBOX", "$JS.API.STREAM.INFO.BOT_demo_OUTBOX", "$JS.API.STREAM.INFO.BOT_other_INBOX",
	"$JS.API.STREAM.MSG.GET.BOT_demo_OUTBOX", "$JS.API.STREAM.MSG.GET.BOT_demo_INBOX", "$JS.API.STREAM.MSG.GET.BOT_other_INBOX", "$JS.API.DIRECT.GET.BOT_demo_INBOX",
	"$JS.API.CONSUMER.LIST.BOT_demo_INBOX", "$JS.API.CONSUMER.LIST.BOT_demo_OUTBOX",
	"$JS.API.CONSUMER.CREATE.BOT_demo_INBOX.x", "$JS.API.CONSUMER.CREATE.BOT_demo_OUTBOX.x", "$JS.API.CONSUMER.DELETE.BOT_demo_INBOX.x",
	"$JS.API.CONSUMER.MSG.NEXT.BOT_demo_INBOX.x", "$JS.ACK.BOT_demo_INBOX.x.1.1.1.1.1", "$JS.API.STREAM.SNAPSHOT.BOT_demo_INBOX", "$SYS.REQ.SERVER.PING",
}

// refused reports whether the server refuses an act, whose words for it are like
// Publish to "x". It says so before it answers what comes next.
func refused(t *testing.T, nc *nats.Conn, act error, words string) bool {
	t.Helper()
	if err := errors.Join(act, nc.FlushTimeout(20*time.Second)); err != nil {
		t.Fatal(err)
	}
	err := nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), words)
}

func publishes(t *testing.T, nc *nats.Conn, subject string) bool {
	t.Helper()
	return !refused(t, nc, nc.Publish(subject, nil), fmt.Sprintf("Publish to %q", subject))
}

func listens(t *testing.T, nc *nats.Conn, subject string) bool {
	t.Helper()
	_, err := nc.SubscribeSync(subject)
	return !refused(t, nc, err, fmt.Sprintf("Subscription to %q", subject))
}
