package engine_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
)

// secured are a NATS server and a Redis that are reached over TLS alone, by those whom
// their authority knows.
type secured struct{ nats, redis string }

// files are the settings of a client, by what its authority and certificate are.
type files struct{ ca, cert, key string }

func (f files) of(engine string) (env []string) {
	for name, path := range map[string]string{"CA": f.ca, "CERT": f.cert, "KEY": f.key} {
		if path != "" {
			env = append(env, "BOTMESH_"+engine+"_"+name+"="+path)
		}
	}
	return env
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func startSecured(t *testing.T, a *tlstest.Authority) secured {
	t.Helper()
	cert, key := a.Pair(t, t.TempDir(), "server")
	conf := filepath.Join(t.TempDir(), "nats.conf")
	nats, redis := freePort(t), freePort(t)
	text := fmt.Sprintf("listen: \"127.0.0.1:%s\"\njetstream { store_dir: %q }\ntls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", nats, t.TempDir(), cert, key, a.CA)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	node := natstest.Run(t, "n1", "nats://127.0.0.1:"+nats, "-c", conf)
	redistest.Start(t, "--tls-port", redis, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", a.CA, "--tls-auth-clients", "yes")
	return secured{node.URL, "rediss://127.0.0.1:" + redis + "/0"}
}

// tryNATS makes the bot's streams, and says why that does not come about.
func (s secured) tryNATS(t *testing.T, f files) error {
	t.Helper()
	cfg := settings(t, append(f.of("NATS"), "BOTMESH_NATS_URL="+s.nats)...)
	conn := dial(t, cfg)
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err = conn.Healthy(); err == nil {
			err = engine.Prepare(ctx, conn, cfg, silent)
		}
		cancel()
		if err == nil || strings.Contains(err.Error(), "tls: ") {
			break
		}
	}
	return err
}

// tryRedis takes a turn, and says why that does not come about.
func (s secured) tryRedis(t *testing.T, f files) error {
	t.Helper()
	c, err := engine.DialRedis(t.Context(), settings(t, append(f.of("REDIS"), "BOTMESH_REDIS_URL="+s.redis)...), silent)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ping(t.Context()); err != nil {
		return err
	}
	member, err := c.New()
	if err != nil {
		return err
	}
	defer member.Close(context.WithoutCancel(t.Context()))
	turn, err := member.Take(t.Context(), coord.Request{Key: "telegram.7", Place: 1})
	if err != nil {
		return err
	}
	return turn.Release(t.Context(), 1)
}

// Over TLS everything works, with a certificate of one's own where the servers ask for
// one. A server of another authority is not talked to, a server talks to nobody whom it
// does not know, and either way it is said which setting to look at.
//
// SPEC: X3
func TestServersOverTLS(t *testing.T) {
	t.Parallel()
	ours, others := tlstest.New(t), tlstest.New(t)
	s := startSecured(t, ours)
	var known, stranger files
	known.cert, known.key = ours.Pair(t, t.TempDir(), "client")
	stranger.cert, stranger.key = others.Pair(t, t.TempDir(), "client")
	for _, c := range []struct {
		name string
		files
		want string // setting that the error names, none for no error
	}{
		{"known to each other", files{ours.CA, known.cert, known.key}, ""},
		{"of another authority", files{others.CA, known.cert, known.key}, "CA"},
		{"without a certificate", files{ca: ours.CA}, "CERT"},
		{"with one of a stranger", files{ours.CA, stranger.cert, stranger.key}, "CERT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for engine, err := range map[string]error{"NATS": s.tryNATS(t, c.files), "REDIS": s.tryRedis(t, c.files)} {
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: got %v, want it to work", engine, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), "BOTMESH_"+engine+"_"+c.want)):
					t.Errorf("%s: got %v, want it refused with the name of BOTMESH_%s_%s", engine, err, engine, c.want)
				}
			}
		})
	}
}
