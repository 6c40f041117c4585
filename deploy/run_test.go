package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/proc"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
)

// site is a machine with the servers that the files are for: NATS as
// nats/secure/single.conf has it, a Redis, a collector.
type site struct {
	bin  string // folder of the programs
	host string // an address of this machine that nobody else uses
	ca   string
	nats string
	conf string // of NATS, as it runs
	// secrets are the contents of the files that hold any, by their setting.
	secrets   map[string]string
	collector string
	collected atomic.Int64
}

// newSite starts the servers and builds the programs. Passwords are in the process's
// environment: who calls it runs alone.
//
// NATS gets more arguments, if there are any.
func newSite(t *testing.T, more ...string) *site {
	t.Helper()
	if os.Getenv("CI") == "" {
		if l, err := net.Listen("tcp", "127.1.2.3:0"); err != nil {
			t.Skipf("this machine has one loopback address only: %v", err)
		} else {
			l.Close()
		}
	}
	s := &site{bin: t.TempDir(), host: fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))}
	if err := proc.Compile(t.Context(), s.bin, "./cmd/ingress", "./cmd/worker", "./cmd/botmesh"); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"ingress", "webchat", "worker", "operator", "sys"} {
		t.Setenv("BOTMESH_NATS_"+strings.ToUpper(role)+"_PASSWORD", role+"-password")
	}
	dir := t.TempDir()
	s.startNATS(t, dir, more...)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.collected.Add(1) }))
	t.Cleanup(collector.Close)
	s.collector = collector.URL
	s.secrets = map[string]string{
		"BOTMESH_REDIS_URL": redistest.Start(t).URL(), "BOTMESH_TELEGRAM_SECRET": "hook", "BOTMESH_TELEGRAM_TOKEN": "1:x", "BOTMESH_ADMIN_TOKEN": "0123456789abcdef",
	}
	return s
}

// startNATS starts the server with its files in dir: certificates and streams are there.
func (s *site) startNATS(t *testing.T, dir string, more ...string) {
	t.Helper()
	a := tlstest.New(t)
	a.Pair(t, dir, "nats")
	s.ca = a.CA
	err := fs.WalkDir(os.DirFS("nats"), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, path), 0o755)
		case filepath.Ext(path) != ".conf":
			return nil
		}
		text, err := os.ReadFile(filepath.Join("nats", path))
		if err != nil {
			return err
		}
		moved := strings.NewReplacer("/etc/botmesh/tls", dir, "/var/lib/botmesh", filepath.Join(dir, "store")).Replace(string(text))
		return os.WriteFile(filepath.Join(dir, path), []byte(moved), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	s.conf = filepath.Join(dir, "secure/single.conf")
	natstest.Run(t, "nats", "nats://"+address, append([]string{"-c", s.conf, "-a", "127.0.0.1", "-p", port, "-m", "0"}, more...)...)
	s.nats = "tls://" + address
	natstest.Until(t, "NATS", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		return err == nil && c.Close() == nil
	})
}

// settings are those of a part, with the servers of this site in place of those that are
// elsewhere. All else is as the part has it, the ports above all.
func (s *site) settings(t *testing.T, p part) map[string]string {
	t.Helper()
	secrets := map[string]string{"BOTMESH_NATS_PASSWORD": p.env["BOTMESH_NATS_USER"] + "-password"}
	for name, secret := range s.secrets {
		secrets[name] = secret
	}
	env := p.files(t, t.TempDir(), secrets)
	env["BOTMESH_NATS_URL"] = s.nats
	if env["BOTMESH_NATS_CA"] == "" {
		t.Errorf("%s: it would not know the servers' authority", p.from)
	}
	env["BOTMESH_NATS_CA"] = s.ca
	if env["BOTMESH_REDIS_URL"] != "" {
		env["BOTMESH_REDIS_URL"] = s.secrets["BOTMESH_REDIS_URL"]
	}
	if env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" {
		env["OTEL_EXPORTER_OTLP_ENDPOINT"] = s.collector
	}
	for _, name := range []string{"BOTMESH_LISTEN", "BOTMESH_ADMIN_LISTEN"} {
		if _, port, err := net.SplitHostPort(env[name]); err == nil {
			env[name] = net.JoinHostPort(s.host, port)
		}
	}
	return env
}

// command is how a part is started.
func (s *site) command(ctx context.Context, t *testing.T, p part) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, out := exec.CommandContext(ctx, filepath.Join(s.bin, p.program()), p.args[1:]...), &bytes.Buffer{}
	cmd.Env, cmd.Stdout, cmd.Stderr = environ(s.settings(t, p)), out, out
	return cmd, out
}

func ask(ctx context.Context, method, address string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address, nil)
	if err != nil {
		return 0, err
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// serve runs a part as a platform would: until it is ready, by its own probes, then with a
// SIGTERM. It must end well, before it would be killed.
func (s *site) serve(t *testing.T, p part) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, out := s.command(ctx, t, p)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	port := p.probe
	if port == "" { // a unit has no probes: what a monitor asks
		_, port, _ = net.SplitHostPort(p.env["BOTMESH_ADMIN_LISTEN"])
	}
	private := net.JoinHostPort(s.host, port)
	var last error
	natstest.Until(t, p.from+" is ready", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended with %v:\n%s", err, out)
		default:
		}
		status, err := ask(ctx, http.MethodGet, private+"/readyz")
		last = err
		return status == http.StatusOK
	})
	for _, path := range []string{"/healthz", "/metrics", "/statusz"} {
		if status, err := ask(ctx, http.MethodGet, private+path); status != http.StatusOK {
			t.Errorf("%s: got %d, %v, want 200 (ready: %v)", path, status, err, last)
		}
	}
	if listen := p.env["BOTMESH_LISTEN"]; listen != "" {
		_, port, _ := net.SplitHostPort(listen)
		if status, err := ask(ctx, http.MethodPost, net.JoinHostPort(s.host, port)+"/webhooks/telegram"); status != http.StatusUnauthorized {
			t.Errorf("the public address: got %d, %v, want 401 for who does not sign", status, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after SIGTERM: got %v, want a good end:\n%s", err, out)
		}
	case <-time.After(p.grace):
		t.Errorf("it would be killed after %v:\n%s", p.grace, out)
		cancel()
		<-ended
	}
}

// What the files start, starts: each command with its settings, ports and rights, on servers
// as the files have them. Its probes answer on the ports that they name, and it ends within
// its grace. What is no program of ours, and who starts it, is not part of this. It runs
// alone: the servers' passwords are in the environment.
//
// SPEC: W3 X3
func TestEachPartStartsServesAndDrains(t *testing.T) {
	s := newSite(t)
	all := parts(t)
	for _, p := range all { // streams first: nobody else may make them
		if p.program() != "botmesh" {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd, out := s.command(ctx, t, p)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", p.from, err, out)
		}
		cancel()
	}
	for _, p := range all {
		if p.program() != "botmesh" {
			t.Run(p.from, func(t *testing.T) { s.serve(t, p) })
		}
	}
	if s.collected.Load() == 0 {
		t.Error("nothing came to the collector")
	}
}
