package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

// office is where an operator sits: a fleet, and a shell with its programs.
type office struct {
	*scene
	bin string
	env map[string]string
}

// newOffice is a fleet whose chat 42 wrote the journal's first records.
func newOffice(t *testing.T) *office {
	t.Helper()
	// The shell's program is not this test's: a change of it is to run the test again.
	for _, file := range globbed(t, "../cmd/botmesh/*.go") {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	if err := proc.Compile(t.Context(), bin, "./cmd/botmesh"); err != nil {
		t.Fatal(err)
	}
	s := described(t, map[string]string{"BOTMESH_TRIES": "1", "BOTMESH_TELEGRAM_IN_DOUBT": "hold"}, func(c *fleet.Config) { c.Ingress, c.Workers = 1, 1 })
	if err := s.Start(s.within(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for i := range records {
		s.say(chat, "/count")
		s.hears(chat, fmt.Sprintf("count: %d", i+1), 20*time.Second)
	}
	s.idle(20 * time.Second)
	return &office{scene: s, bin: bin, env: map[string]string{
		"PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME": t.TempDir(),
		"BOTMESH_BOT": fleet.Bot, "BOTMESH_NATS_URL": "nats://" + s.NATS.Addr, "BOTMESH_REDIS_URL": "redis://" + s.Redis.Addr + "/0",
		"BOTMESH_TELEGRAM_TOKEN": token, "BOTMESH_TELEGRAM_API_URL": s.Platform.URL("office"),
	}}
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d files, %v", pattern, len(files), err)
	}
	return files
}

func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := proc.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// shell is a command line in the operator's shell. The pages' mybot is the fleet's worker.
func (o *office) shell(ctx context.Context, line string, more map[string]string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+strings.Replace(line, "go run ./cmd/mybot", programs.Worker, 1))
	cmd.Dir = o.env["HOME"]
	env := maps.Clone(o.env)
	maps.Copy(env, more)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// cli runs a command line that must do well, and returns what it prints.
func (o *office) cli(line string) string {
	o.t.Helper()
	var errs bytes.Buffer
	cmd := o.shell(o.within(30*time.Second), line, nil)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%s: %v\n%s%s", line, err, out, &errs)
	}
	return string(out)
}

// until repeats a command, as JSON, until it says something.
func (o *office) until(line, says string) {
	o.t.Helper()
	o.eventually(30*time.Second, line+" says "+says, func(context.Context) error {
		if out := o.cli(line + " -o json"); !strings.Contains(out, says) {
			return fmt.Errorf("got %s", out)
		}
		return nil
	})
}

// run runs a command of the pages.
func (o *office) run(c documented) {
	o.t.Helper()
	line := c.command + c.more
	if c.swap != nil {
		is := c.swap()
		line = strings.Replace(line, is[0], is[1], 1)
	}
	var out bytes.Buffer
	cmd := o.shell(o.within(time.Minute), line, c.environ)
	if c.follows {
		o.follow(c, cmd)
		return
	}
	o.document(line)
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), c.says) {
		o.t.Errorf("%s: got exit code %d, want %d and %q in\n%s", line, code, c.code, c.says, &out)
	}
}

// acts are the commands that act, which --dry-run keeps from it. Delivering and rebuilding
// are left out: what they show is told by tests of their own.
var acts = regexp.MustCompile(`^botmesh (chats (pause|resume)|dlq (requeue|drop)|outbox (retry|hold|release|drop)|leases break) `)

// document holds what a command shows for programs to be one JSON document.
func (o *office) document(line string) {
	o.t.Helper()
	if strings.Contains(line, "--deliver") || strings.Contains(line, "rebuild") {
		return
	}
	if acts.MatchString(line) {
		line += " --dry-run"
	}
	if own, is := strings.CutPrefix(line, "go run ./cmd/mybot replay"); is { // its chats come last
		line = "go run ./cmd/mybot replay -o json" + own
	} else {
		line += " -o json"
	}
	var errs bytes.Buffer
	cmd := o.shell(o.within(time.Minute), line, nil)
	cmd.Stderr = &errs
	out, _ := cmd.Output() // it exits as the command itself does
	if !json.Valid(out) {
		o.t.Errorf("%s: got no JSON document:\n%s%s", line, out, &errs)
	}
}

// follow runs a command until it said what it should, then interrupts it.
func (o *office) follow(c documented, cmd *exec.Cmd) {
	o.t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		o.t.Fatalf("%s: %v", c.command, err)
	}
	said := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !said && strings.Contains(lines.Text(), c.says) {
			said = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				o.t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !said {
		o.t.Errorf("%s: got %v, said %q: %v\n%s", c.command, err, c.says, said, &errs)
	}
}

var (
	fences  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	spans   = regexp.MustCompile("`(botmesh [^`]+)`")
	comment = regexp.MustCompile(`\s+#\s.*$`)
)

// ofPages are the commands of the pages for operators: those of fences, and inline ones.
func ofPages(t *testing.T) (fenced, inline []string) {
	t.Helper()
	for _, page := range []string{"../docs/operations.md", "../docs/runbooks.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, fence := range fences.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(fence[1]) {
				if line = comment.ReplaceAllString(strings.TrimSpace(line), ""); strings.HasPrefix(line, "botmesh ") || strings.HasPrefix(line, "go run ") {
					fenced = append(fenced, line)
				}
			}
		}
		for _, span := range spans.FindAllStringSubmatch(fences.ReplaceAllString(string(text), ""), -1) {
			inline = append(inline, span[1])
		}
	}
	return fenced, inline
}

// covers reports whether a command has the verb and the flags of an inline one.
func (c documented) covers(inline string) bool {
	has := strings.Fields(c.command + c.more)
	for i, word := range strings.Fields(inline) {
		flag := strings.HasPrefix(word, "-")
		switch {
		case word == "…":
			return true
		case flag && !slices.ContainsFunc(has, func(w string) bool {
			return w == word || !strings.Contains(word, "=") && strings.HasPrefix(w, word+"=")
		}):
			return false
		case !flag && (i >= len(has) || has[i] != word):
			return false
		}
	}
	return true
}

// compare holds what is run against what the pages have.
func compare(t *testing.T, all []documented) {
	t.Helper()
	fenced, inline := ofPages(t)
	if len(fenced) < 40 || len(inline) < 30 {
		t.Fatalf("found %d commands in fences and %d inline: the pages are not read as they are written", len(fenced), len(inline))
	}
	for _, command := range fenced {
		if !slices.ContainsFunc(all, func(c documented) bool { return c.command == command }) {
			t.Errorf("the pages have %q, which no test runs", command)
		}
	}
	for _, command := range inline {
		if !slices.ContainsFunc(all, func(c documented) bool { return c.covers(command) }) {
			t.Errorf("the pages have %q, which no test runs", command)
		}
	}
	for _, c := range all {
		if !slices.Contains(fenced, c.command) && !slices.Contains(inline, c.command) {
			t.Errorf("%q is run, and the pages do not have it", c.command)
		}
	}
}
