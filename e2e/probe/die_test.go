package probe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// TestPublishes is run by other tests in a process of its own.
func TestPublishes(t *testing.T) {
	if os.Getenv(history.EnvFile) == "" {
		t.Skip("for a process of its own")
	}
	p, err := probe.FromEnv(probe.Ingress)
	if err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv(history.EnvFile) + os.Getenv(history.EnvProcess) + os.Getenv(probe.EnvCrash); got != "" {
		t.Errorf("got %q left in the environment, want none of the variables", got)
	}
	s := p.Stream(jet.NewMemory().Stream("BOT_demo_INBOX", jet.MemoryConfig{}))
	if _, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "bot.in.demo.fake.7"}}); err != nil {
		t.Fatal(err)
	}
}

// publishing starts a process that publishes once, with a point armed. What it left
// in its history is known once it was waited for.
func publishing(t *testing.T, crash string) (cmd *exec.Cmd, read func() []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "it"+history.Suffix)
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPublishes$")
	cmd.Env = append(os.Environ(), history.EnvFile+"="+file, history.EnvProcess+"=it", probe.EnvCrash+"="+crash)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() (lines []string) {
		events, err := history.ReadDir(dir, history.All)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			lines = append(lines, strings.TrimSpace(e.Process+" "+string(e.Kind)+" "+string(e.Phase)+e.ID))
		}
		return lines
	}
}

func TestKilledAtAPoint(t *testing.T) {
	t.Parallel()
	for crash, want := range map[string][]string{
		"publish.before:kill":  {"it started", "it point publish.before"},
		"publish.after@1:kill": {"it started", "it publish call", "it publish done", "it point publish.after"},
	} {
		cmd, read := publishing(t, crash)
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: got %v, want it killed", crash, err)
		}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Errorf("%s: history (-want +got):\n%s", crash, diff)
		}
	}
	cmd, _ := publishing(t, "publish.after@2:kill")
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the second hit, of one: got %v, want it to end well", err)
	}
}

func TestStoppedAtAPoint(t *testing.T) {
	t.Parallel()
	cmd, read := publishing(t, "publish.before:stop")
	var status syscall.WaitStatus
	for !status.Stopped() {
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"it started", "it point publish.before"}, read()); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want it to go on and end well", err)
	}
	want := []string{"it started", "it point publish.before", "it publish call", "it publish done"}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("gone on (-want +got):\n%s", diff)
	}
}

func TestCrashesThatCanNotBeArmed(t *testing.T) {
	t.Parallel()
	for crash, says := range map[string]string{
		"commit.before":        "kill or :stop",
		"commit.before:die":    "kill or :stop",
		"commit.befor:kill":    "no such point",
		"commit.before@0:kill": "a hit of 1 or more",
		"commit.before@x:stop": "a hit of 1 or more",
	} {
		if _, err := probe.New(probe.Config{Crash: crash}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error that says %s", crash, err, says)
		}
	}
}
