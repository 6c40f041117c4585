package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/private"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
)

// role makes the test binary one of the programs below.
const role = "PROGRAM_TEST_ROLE"

var roles = map[string]Program{
	// drains when told to
	"orderly": {Name: "botmesh-test", Run: func(ctx context.Context, p Process) error {
		p.Private.Watch(private.Probes{})
		<-ctx.Done()
		return nil
	}},
	// does not end by itself
	"stubborn": {Name: "botmesh-test", Run: func(ctx context.Context, p Process) error {
		<-ctx.Done()
		p.Log.Info("draining for ever")
		select {}
	}},
	"failing": {Name: "botmesh-test", Run: func(context.Context, Process) error { return errors.New("the disk is gone") }},
	"wrong": {Name: "botmesh-test", Run: func(context.Context, Process) error {
		return errors.Join(config.Wrong(errors.New("stream A differs")), errors.New("stream B differs"))
	}},
	"needy": {
		Name: "botmesh-test", Check: config.Config.CheckWorker, Usage: []string{"dance [settings]"},
		Elsewhere: func(arg string) string { return map[string]string{"swim": "the one with a pool"}[arg] },
	},
}

func TestMain(m *testing.M) {
	if p, ok := roles[os.Getenv(role)]; ok {
		p.Defaults = map[string]string{"admin_listen": "127.0.0.1:0"}
		Main(p)
	}
	goleak.VerifyTestMain(m)
}

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	stdout *bufferedPipe
	stderr *bytes.Buffer
}

func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // then it is killed
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, exe, args...), stderr: &bytes.Buffer{}}
	p.cmd.Env = append(env, role+"="+name)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = &bufferedPipe{r: out}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the program and returns its exit code and what it wrote.
func (p *process) end(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	rest, err := io.ReadAll(p.stdout.r)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), p.stdout.seen.String() + string(rest), p.stderr.String()
}

func (p *process) signal(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// bufferedPipe reads a program's output until a text was in it.
type bufferedPipe struct {
	r    io.Reader
	seen bytes.Buffer
}

func (b *bufferedPipe) until(t *testing.T, text string) string {
	t.Helper()
	for one := make([]byte, 1); !strings.Contains(b.seen.String(), text); {
		n, err := b.r.Read(one)
		b.seen.Write(one[:n])
		if err != nil {
			t.Fatalf("got %q and %v, want %q", b.seen.String(), err, text)
		}
	}
	return b.seen.String()
}

// field returns the value of key in a line of JSON.
func field(t *testing.T, text, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"`+key+`":"`)
	if !ok {
		t.Fatalf("got %q, want a %s in it", text, key)
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// SPEC W3
func TestSignalDrainsAndEndsWell(t *testing.T) {
	t.Parallel()
	p := launch(t, "orderly", []string{"BOTMESH_REPLICA_ID=r7", "BOTMESH_BOT=shop"})
	started := p.stdout.until(t, "\n")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + field(t, started, "private") + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("health: got %d, want 200", resp.StatusCode)
	}
	p.signal(t)
	code, stdout, stderr := p.end(t)
	if code != ExitOK || stderr != "" {
		t.Errorf("got code %d and %q, want 0 and nothing", code, stderr)
	}
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		for key, want := range map[string]string{"service": "botmesh-test", "replica": "r7", "bot": "shop"} {
			if got := field(t, line, key); got != want {
				t.Errorf("%s: got %s, want %s in %s", key, got, want, line)
			}
		}
	}
	if !strings.Contains(stdout, `"msg":"stopped"`) {
		t.Errorf("got %s, want it to say that it stopped", stdout)
	}
}

// With a certificate the private address is HTTPS alone, for those who trust its authority.
//
// SPEC X3
func TestThePrivateAddressOverTLS(t *testing.T) {
	t.Parallel()
	ours, others := tlstest.New(t), tlstest.New(t)
	cert, key := ours.Pair(t, t.TempDir(), "worker")
	p := launch(t, "orderly", []string{"BOTMESH_ADMIN_TLS_CERT=" + cert, "BOTMESH_ADMIN_TLS_KEY=" + key})
	address := field(t, p.stdout.until(t, "\n"), "private")
	for _, c := range []struct {
		scheme, authority string
		taken             bool
	}{{"https", ours.CA, true}, {"https", others.CA, false}, {"http", ours.CA, false}} {
		trusts, err := tlsfiles.Client(tlsfiles.Files{CA: c.authority}, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: trusts}}
		resp, err := client.Get(c.scheme + "://" + address + "/metrics")
		if taken := err == nil && resp.StatusCode == http.StatusOK; taken != c.taken {
			t.Errorf("%s, trusting %s: got taken %v (%v), want %v", c.scheme, c.authority, taken, err, c.taken)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	p.signal(t)
	if code, _, stderr := p.end(t); code != ExitOK || stderr != "" {
		t.Errorf("got code %d and %q, want 0 and nothing", code, stderr)
	}
}

// SPEC W3
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := launch(t, "stubborn", []string{"BOTMESH_DRAIN=1h"})
	p.stdout.until(t, "\n")
	p.signal(t)
	p.stdout.until(t, "draining for ever")
	<-time.After(repetition) // one that comes sooner is the first one again
	began := time.Now()
	p.signal(t)
	if code, stdout, _ := p.end(t); code != ExitFailed || !strings.Contains(stdout, "ended by a second signal") {
		t.Errorf("got code %d and %s, want 1 and why", code, stdout)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A wrapper may pass the same signal on twice: that is no wish to end at once.
func TestRepeatedSignalIsTheFirstOneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		began := time.Now()
		time.AfterFunc(repetition/2, func() { signals <- syscall.SIGTERM })
		time.AfterFunc(2*repetition, func() { signals <- syscall.SIGINT })
		second, ended := another(signals, began, nil)
		if second != syscall.SIGINT || ended || time.Since(began) != 2*repetition {
			t.Errorf("got %v, %v after %v, want the interrupt after %v", second, ended, time.Since(began), 2*repetition)
		}
		if second, ended := another(signals, began, time.After(time.Hour)); second != nil || ended {
			t.Errorf("time is up: got %v, %v, want no signal", second, ended)
		}
		close(signals)
		if _, ended := another(signals, began, nil); !ended {
			t.Error("closed: got a signal, want the end")
		}
	})
}

func TestReportNamesTheProgramOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	Report(&out, "botmesh", errors.New("botmesh: not answered: no\nand more"))
	if got, want := out.String(), "botmesh: not answered: no\nbotmesh: and more\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A wrong configuration is one line for each thing and exit code 2; anything else
// that fails is 1.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		role, env string
		args      []string
		code      int
		want      string
	}{
		"missing":  {"needy", "", nil, ExitWrong, "program.test: BOTMESH_TELEGRAM_TOKEN is not set: a worker needs the token of at least one provider (or the web chat, BOTMESH_WEBCHAT_SECRET)\n"},
		"unread":   {"needy", "BOTMESH_LEASE=3", nil, ExitWrong, "program.test: BOTMESH_LEASE must be a number with a unit, such as 15s\n"},
		"flag":     {"needy", "", []string{"--leas=3s"}, ExitWrong, "program.test: --leas: unknown flag; did you mean --lease?\n"},
		"argument": {"needy", "", []string{"swum"}, ExitWrong, "program.test: unexpected argument \"swum\": settings are flags, such as --bot=demo; --help shows what there is\n"},
		"another":  {"needy", "", []string{"swim", "lock"}, ExitWrong, "program.test: \"swim\" is for the one with a pool\n"},
		"exporter": {"orderly", "OTEL_TRACES_EXPORTER=pigeon", nil, ExitWrong, "program.test: export: traces by OTEL_TRACES_EXPORTER=pigeon: unknown exporter or metrics producer\n"},
		"wrong":    {"wrong", "", nil, ExitWrong, "program.test: stream A differs\nprogram.test: stream B differs\n"},
		"failed":   {"failing", "", nil, ExitFailed, "program.test: the disk is gone\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := launch(t, tt.role, []string{tt.env}, tt.args...).end(t)
			if code != tt.code || stderr != tt.want {
				t.Errorf("got code %d and %q, want %d and %q", code, stderr, tt.code, tt.want)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	code, stdout, _ := launch(t, "needy", nil, "--help").end(t)
	if code != ExitOK || !strings.Contains(stdout, "--telegram-token[-file]") || !strings.Contains(stdout, "(127.0.0.1:0)") || !strings.HasPrefix(stdout, "Usage: program.test [flags]\n       program.test dance [settings]\n\n") {
		t.Errorf("help: got code %d and %s, want 0 and every setting", code, stdout)
	}
	code, stdout, _ = launch(t, "needy", []string{"BOTMESH_LEASE=wrong"}, "--version").end(t)
	if code != ExitOK || stdout != "program.test (botmesh devel)\n" {
		t.Errorf("version: got code %d and %s, want 0 and the version", code, stdout)
	}
}

func TestTakenPrivateAddressSaysWhichSettingToChange(t *testing.T) {
	t.Parallel()
	p := launch(t, "orderly", nil)
	addr := field(t, p.stdout.until(t, "\n"), "private")
	code, _, stderr := launch(t, "orderly", []string{"BOTMESH_ADMIN_LISTEN=" + addr}).end(t)
	if code != ExitFailed || !strings.Contains(stderr, addr) || !strings.Contains(stderr, "BOTMESH_ADMIN_LISTEN") {
		t.Errorf("got code %d and %q, want 1, the address and the setting", code, stderr)
	}
	p.signal(t)
	p.end(t)
}
