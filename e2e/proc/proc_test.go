package proc

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("PROC_TEST_PARENT") != "":
		parent()
	case os.Getenv("PROC_TEST_WRITER") != "":
		writer()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/botmesh-go/botmesh/e2e/proc.spawner"))
}

func start(t *testing.T, script string, env ...string) *Child {
	t.Helper()
	c, err := Start(Config{Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Env: env, Logs: t.TempDir()})
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(c.Kill)
	return c
}

// until polls for an observed condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not so in 20 s: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestChildSaysWhatItWroteAndItsExitCode(t *testing.T) {
	t.Parallel()
	c := start(t, `echo "out $WORD"; echo err >&2; exit 7`, "WORD=hello")
	code, err := c.Wait(t.Context())
	if err != nil || code != 7 {
		t.Errorf("got exit code %d (%v), want 7", code, err)
	}
	if got, want := c.Output(), "out hello\nerr\n"; got != want {
		t.Errorf("got output %q, want %q", got, want)
	}
}

func TestChildSeesNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("BOTMESH_BOT", "stray")
	c := start(t, `echo "[$BOTMESH_BOT]"`)
	if _, err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Output(), "[]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTermGivesTheExitCodeAndKillsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	good := start(t, `trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done`)
	until(t, "the child is up", func() bool { return good.Output() == "up\n" })
	if code, err := good.Term(t.Context()); code != 3 || err != nil {
		t.Errorf("got exit code %d (%v), want 3", code, err)
	}

	deaf := start(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	until(t, "the child is up", func() bool { return deaf.Output() == "up\n" })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := deaf.Term(ctx); err == nil {
		t.Error("got no error from a child that ignores SIGTERM, want one")
	}
	<-deaf.Exited()
}

func TestFreezeStopsAndThawGoesOn(t *testing.T) {
	t.Parallel()
	c, err := Start(Config{Name: "writer", Path: os.Args[0], Env: []string{"PROC_TEST_WRITER=1"}, Logs: t.TempDir()})
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(c.Kill)
	until(t, "the child writes", func() bool { return c.Output() != "" })
	c.Freeze()
	if got := processState(t, c.Pid()); got != "T" {
		t.Errorf("got state %s, want T: it goes on after Freeze", got)
	}
	before := len(c.Output())
	c.Thaw()
	until(t, "the child goes on", func() bool { return len(c.Output()) > before })
}

func processState(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
}

func TestKillTakesTheWholeGroup(t *testing.T) {
	t.Parallel()
	c := start(t, `sleep 1000 & echo $!; wait`)
	until(t, "the child named its own child", func() bool { return strings.HasSuffix(c.Output(), "\n") })
	grandchild, err := strconv.Atoi(strings.TrimSpace(c.Output()))
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	until(t, "the grandchild is gone", func() bool { return gone(grandchild) })
}

// gone is true of a process that is no more, or a zombie that nobody waits for.
func gone(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(b), ") Z ")
}

// writer writes until it is killed. A shell would not do: one that is stopped while
// it starts a program is not shown as stopped.
func writer() {
	for range time.Tick(5 * time.Millisecond) {
		os.Stdout.WriteString("x\n")
	}
}

// parent starts a child, says its pid and waits to be killed.
func parent() {
	c, err := Start(Config{Name: "orphan", Path: "/bin/sleep", Args: []string{"1000"}, Logs: os.TempDir()})
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strconv.Itoa(c.Pid()) + "\n")
	select {}
}

func TestChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"PROC_TEST_PARENT=1", "TMPDIR=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("reading the child's pid: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	until(t, "the orphan is gone", func() bool { return gone(pid) })
}

func TestUsageGrowsWithWork(t *testing.T) {
	t.Parallel()
	c := start(t, `while :; do :; done`)
	until(t, "the child used 50 ms", func() bool {
		u, err := c.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u.CPU >= 50*time.Millisecond && u.Peak > 100<<10
	})
}

func TestUsageReadsTheKernelsFormat(t *testing.T) {
	t.Parallel()
	cpu, err := cpuTime([]byte("42 (a) b) (c) S 1 42 42 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 1 2 3"))
	if err != nil || cpu != 1750*time.Millisecond {
		t.Errorf("got %v (%v), want 1.75s", cpu, err)
	}
	peak, err := peakMemory([]byte("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t    20 kB\n"))
	if err != nil || peak != 20<<10 {
		t.Errorf("got %d (%v), want %d", peak, err, 20<<10)
	}
}

func TestFreeAddrsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		a, err := FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		if seen[a] {
			t.Fatalf("got %s twice", a)
		}
		seen[a] = true
	}
}
