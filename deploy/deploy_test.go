// Package deploy_test proves that what is shipped to run Botmesh with says what the
// programs know: it reads each file and holds it against the settings, and starts each
// program as the file has it. It makes no image and asks no cluster.
package deploy_test

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is a program as one of the files has it run.
type part struct {
	from  string // the file, and what the part is called there
	args  []string
	env   map[string]string
	grace time.Duration // between SIGTERM and SIGKILL
	probe string        // port of the probes; empty if there are none
}

func (p part) program() string { return filepath.Base(p.args[0]) }

func parts(t *testing.T) []part {
	t.Helper()
	all := slices.Concat(compose(t), units(t), manifests(t))
	count := map[string]int{}
	for _, p := range all {
		count[p.program()]++
	}
	if count["ingress"] < 4 || count["worker"] < 5 || count["botmesh"] < 2 {
		t.Fatalf("found %v, want two ingress, three workers and the making of streams by compose, and each once by the others", count)
	}
	return all
}

// secretsIn are the folders that hold secrets in the files.
var secretsIn = regexp.MustCompile(`^(/run/secrets|%d|/etc/botmesh/secrets)/`)

// files writes each file that a part's settings name into dir, and returns the
// settings with the paths there.
func (p part) files(t *testing.T, dir string, content map[string]string) map[string]string {
	t.Helper()
	env := maps.Clone(p.env)
	for name, value := range env {
		if !strings.HasSuffix(name, "_FILE") {
			continue
		}
		if !secretsIn.MatchString(value) {
			t.Fatalf("%s: %s is %s, want a file where it has its secrets", p.from, name, value)
		}
		setting := strings.TrimSuffix(name, "_FILE")
		path := filepath.Join(dir, setting)
		if content[setting] == "" {
			t.Fatalf("%s: no test knows what %s is", p.from, setting)
		}
		if err := os.WriteFile(path, []byte(content[setting]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env[name] = path
	}
	return env
}

func environ(env map[string]string) (list []string) {
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// SPEC W3 X3
func TestEverySettingIsKnownAndEnough(t *testing.T) {
	t.Parallel()
	for _, p := range parts(t) {
		env := p.files(t, t.TempDir(), map[string]string{
			"BOTMESH_NATS_PASSWORD": "x", "BOTMESH_REDIS_URL": "rediss://redis:6379/0", "BOTMESH_TELEGRAM_SECRET": "x",
			"BOTMESH_TELEGRAM_TOKEN": "1:x", "BOTMESH_ADMIN_TOKEN": "0123456789abcdef",
		})
		c, err := config.Load(config.Input{Environ: environ(env)})
		if err != nil {
			t.Errorf("%s: %v", p.from, err)
			continue
		}
		switch p.program() {
		case "ingress":
			err = c.CheckIngress()
		case "worker":
			err = c.CheckWorker()
		case "botmesh":
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", p.from, err)
		}
		// A program ends itself ten seconds after its drain was to end.
		if p.grace <= c.Drain+10*time.Second {
			t.Errorf("%s: it is killed after %v, want more than its drain of %v and 10s", p.from, p.grace, c.Drain)
		}
		if _, port, _ := net.SplitHostPort(c.AdminListen); p.probe != "" && p.probe != port {
			t.Errorf("%s: asked on port %s, listens on %s", p.from, p.probe, port)
		}
		if role := map[string]string{"ingress": "trust", "worker": "verify"}[p.program()]; c.Streams != role || c.NATS.User != p.program() {
			t.Errorf("%s: user %s with streams %s, want %s and %s, which its rights are for", p.from, c.NATS.User, c.Streams, p.program(), role)
		}
	}
}

// The image holds each program that is started from it, and no more than they need.
func TestTheImageHoldsThePrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	build := regexp.MustCompile(`CGO_ENABLED=0 .* go build .* -o /out/ (.*)`).FindStringSubmatch(string(text))
	if build == nil {
		t.Fatal("no static build into /out/")
	}
	built := map[string]bool{}
	for _, pkg := range strings.Fields(build[1]) {
		built[filepath.Base(pkg)] = true
		if main, err := os.ReadFile(filepath.Join("..", pkg, "main.go")); err != nil || !strings.Contains(string(main), "package main") {
			t.Errorf("%s is no program: %v", pkg, err)
		}
	}
	for _, p := range parts(t) {
		if !built[p.program()] {
			t.Errorf("%s runs %s, which the image does not have", p.from, p.program())
		}
	}
	final := string(text)[strings.LastIndex(string(text), "\nFROM "):]
	for _, want := range []string{"distroless/static", ":nonroot", "\nUSER 65532:65532\n", "COPY --from=build /out/ /usr/local/bin/"} {
		if !strings.Contains(final, want) {
			t.Errorf("the image lacks %q", want)
		}
	}
	if mod, err := os.ReadFile("../go.mod"); err != nil || !regexp.MustCompile(`FROM .*golang:(\S+) `).MatchString(string(text)) ||
		!strings.Contains(string(mod), "\ngo "+regexp.MustCompile(`golang:(\S+) `).FindStringSubmatch(string(text))[1]) {
		t.Errorf("the image is not built with the Go of go.mod: %v", err)
	}
}
