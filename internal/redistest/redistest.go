// Package redistest runs real Redis servers for a test, one, a master with replicas
// and Sentinels, or a cluster: child processes on free ports, with directories of
// their own, that die with their parent.
package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrMissing says that there is no redis-server on this machine.
var ErrMissing = errors.New("redistest: no redis-server in PATH: install it (Debian, Ubuntu: apt-get install redis-server)")

// startWait bounds how long a server may take until it answers.
const startWait = 20 * time.Second

// Server is a running redis-server. Safe for concurrent use.
type Server struct {
	bin  string
	port int
	args func(port int) []string

	mu   sync.Mutex
	proc *child // nil while it is down
}

// Start runs a server until the test ends. Without a redis-server the test is
// skipped, or fails if the environment has CI set. More arguments configure it,
// as "--appendonly", "yes"; without any it keeps nothing over a restart.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, inMemory(t.TempDir(), args))
}

func start(t testing.TB, args func(port int) []string) *Server {
	t.Helper()
	s, err := launch(args)
	if errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New runs a server that keeps its files in dir, until Close.
func New(dir string, args ...string) (*Server, error) { return launch(inMemory(dir, args)) }

// inMemory are the arguments of a server that keeps nothing unless more of them
// say so.
func inMemory(dir string, more []string) func(port int) []string {
	return func(port int) []string {
		return append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--enable-debug-command", "local"}, more...)
	}
}

// launch runs a server on a free port.
func launch(args func(port int) []string) (*Server, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrMissing
	}
	var errs []error
	for range 3 { // another process may take the free port first
		s := &Server{bin: bin, args: args}
		if s.port, err = freePort(); err == nil {
			err = s.Restart()
		}
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Addr is where the server listens, host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's address as redis://….
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Client returns a plain client for looking at the server, closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { c.Close() })
	return c
}

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// Close ends the server for good.
func (s *Server) Close() { s.Kill() }

// Stop freezes the server with SIGSTOP: it takes connections and answers nothing.
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Continue lets a frozen server go on.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.cmd.Process.Signal(sig)
	}
}

// Restart starts the server, on the same port and with what it has on disk, after
// killing it if it runs. It returns when the server answers.
func (s *Server) Restart() error {
	s.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.proc, err = spawn(s.bin, s.args(s.port)); err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	if err := s.proc.answers(s.Addr()); err != nil {
		s.proc.kill()
		err = fmt.Errorf("redistest: %w\n%s", err, s.proc.output.String())
		s.proc = nil
		return err
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("redistest: finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// child is one run of the server.
type child struct {
	cmd    *exec.Cmd
	output bytes.Buffer  // to be read after gone
	gone   chan struct{} // closed when the process has ended
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.gone
}

// answers waits until the server takes commands.
func (c *child) answers(addr string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startWait)
	for !ping(addr) {
		select {
		case <-tick.C:
		case <-c.gone:
			return errors.New("redis-server ended at once")
		case <-late:
			return errors.New("redis-server does not answer")
		}
	}
	return nil
}

// ping reports whether the server answers, and is not still loading its data.
func ping(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	answer := make([]byte, 5)
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, answer)
	return err == nil && string(answer) != "-LOAD"
}
