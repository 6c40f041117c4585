package natstest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Node is a nats-server that runs as a child process.
type Node struct {
	// Name is the server's, as it says in a stream's or consumer's cluster info.
	Name string
	// URL is the address for clients. It stays the same over a restart.
	URL string

	args []string
	log  string // path
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
}

// Process runs one nats-server with JetStream until the test ends. It is ready when
// a client can connect; the arguments are added to its own.
func Process(t testing.TB, args ...string) *Node {
	t.Helper()
	n := newNode(t, "n1", freePorts(t, 1)[0], args...)
	n.Start(t)
	waitReady(t, n.URL, 1)
	return n
}

// Run runs one nats-server with just these arguments until the test ends. Name and
// URL are what the arguments make of it. It is not waited for.
func Run(t testing.TB, name, url string, args ...string) *Node {
	t.Helper()
	n := prepare(t, name, url, args)
	n.Start(t)
	return n
}

// newNode prepares a server that listens on a port and keeps its streams in a
// folder of the test.
func newNode(t testing.TB, name string, port int, args ...string) *Node {
	t.Helper()
	return prepare(t, name, fmt.Sprintf("nats://127.0.0.1:%d", port),
		append([]string{"-a", "127.0.0.1", "-p", fmt.Sprint(port), "-n", name, "-js", "-sd", filepath.Join(t.TempDir(), "data")}, args...))
}

func prepare(t testing.TB, name, url string, args []string) *Node {
	t.Helper()
	n := &Node{Name: name, URL: url, args: args, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		n.Kill()
		if t.Failed() {
			t.Logf("last lines of %s:\n%s", name, tail(n.log))
		}
	})
	return n
}

// Start starts the process, with what it stored before if it ran before.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	path, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	n.cmd = exec.Command(path, n.args...)
	n.cmd.Stdout, n.cmd.Stderr, n.cmd.SysProcAttr = log, log, attributes()
	if err := n.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", n.Name, err)
	}
	n.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait()
	}(n.cmd, n.done)
}

// Kill ends the process with SIGKILL, if it runs, and waits until it is gone.
func (n *Node) Kill() {
	if n.cmd == nil {
		return
	}
	n.signal(syscall.SIGKILL)
	<-n.done
	n.cmd = nil
}

// Stop freezes the process with SIGSTOP, Cont thaws it.
func (n *Node) Stop() { n.signal(syscall.SIGSTOP) }

// Cont lets a frozen process go on.
func (n *Node) Cont() { n.signal(syscall.SIGCONT) }

// signal reaches the whole process group. It fails only if the process is gone.
func (n *Node) signal(s syscall.Signal) { _ = syscall.Kill(-n.cmd.Process.Pid, s) }

// freePorts are ports that were free a moment ago.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// tail is the end of a log.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
