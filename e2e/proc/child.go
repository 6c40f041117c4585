package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Config describes a child.
type Config struct {
	// Name is the child's in messages and the name of its log file. Two children of
	// the same name in the same Logs append to one file.
	Name string
	// Path is the program, Args what follows its name.
	Path string
	Args []string
	// Env is all of the child's environment but PATH, HOME and TMPDIR, as
	// "NAME=value".
	Env []string
	// Logs is the directory of the log file, which holds all the child writes.
	Logs string
}

// Child is a running process, alone in its process group. It dies with the
// process that started it, however that one ends. Safe for concurrent use.
type Child struct {
	name   string
	cmd    *exec.Cmd
	log    string
	began  time.Time
	exited chan struct{}
	state  *os.ProcessState // set before exited is closed
}

// Start starts a child. The caller ends it with [Child.Kill] or [Child.Term].
func Start(cfg Config) (*Child, error) {
	c := &Child{
		name:   cfg.Name,
		cmd:    exec.Command(cfg.Path, cfg.Args...),
		log:    filepath.Join(cfg.Logs, cfg.Name+".log"),
		exited: make(chan struct{}),
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("proc: log of %s: %w", cfg.Name, err)
	}
	defer log.Close() // the child has its own
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.Env = append(inherited(), cfg.Env...)
	c.cmd.SysProcAttr = group()
	c.began = time.Now()
	if err := spawn(c.cmd.Start); err != nil {
		return nil, fmt.Errorf("proc: starting %s: %w", cfg.Name, err)
	}
	go c.wait()
	return c, nil
}

func (c *Child) wait() {
	_ = c.cmd.Wait() // what it came to is in the state
	c.state = c.cmd.ProcessState
	close(c.exited)
}

// inherited is what children see of this process's environment: no setting of
// the programs under test, no exporter's address.
func inherited() []string {
	var env []string
	for _, pair := range os.Environ() {
		switch name, _, _ := strings.Cut(pair, "="); name {
		case "PATH", "HOME", "TMPDIR":
			env = append(env, pair)
		}
	}
	return env
}

// Name is the name that the child was given.
func (c *Child) Name() string { return c.name }

// Pid is the child's process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Exited is closed when the child has ended and was waited for.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Kill sends SIGKILL to the child's group and waits until the child is gone. It
// does nothing to a child that has ended.
func (c *Child) Kill() {
	c.signal(syscall.SIGKILL)
	<-c.exited
}

// Freeze stops the child where it is (SIGSTOP). It waits, for ten seconds at most, until
// every thread of it stands: on a loaded machine some go on for a while after the signal.
func (c *Child) Freeze() {
	c.signal(syscall.SIGSTOP)
	for late := time.Now().Add(freezeTime); !c.stands() && time.Now().Before(late); {
		select {
		case <-c.exited:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// freezeTime bounds the wait for a child to stand.
const freezeTime = 10 * time.Second

// stands reports whether no thread of the child can go on. Where there is no /proc
// nobody can tell.
func (c *Child) stands() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.Pid()))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		state := stat[bytes.LastIndexByte(stat, ')')+1:] // behind the name, in which there may be anything
		if !bytes.HasPrefix(state, []byte(" T")) {
			return false
		}
	}
	return true
}

// Thaw lets a frozen child go on (SIGCONT).
func (c *Child) Thaw() { c.signal(syscall.SIGCONT) }

// Ask asks the child to end (SIGTERM) and does not wait for it.
func (c *Child) Ask() { c.signal(syscall.SIGTERM) }

// Term asks the child to end (SIGTERM) and returns its exit code. A child that
// has not ended when ctx does is killed, which is an error.
func (c *Child) Term(ctx context.Context) (int, error) {
	c.Ask()
	code, err := c.Wait(ctx)
	if err != nil {
		c.Kill()
		return -1, fmt.Errorf("proc: %s did not end after SIGTERM and was killed: %w", c.name, err)
	}
	return code, nil
}

// Wait returns the exit code of the child once it ended by itself. It is -1 if a
// signal ended it.
func (c *Child) Wait(ctx context.Context) (int, error) {
	select {
	case <-c.exited:
		return c.state.ExitCode(), nil
	case <-ctx.Done():
		return -1, fmt.Errorf("proc: waiting for %s to end: %w", c.name, context.Cause(ctx))
	}
}

func (c *Child) signal(s syscall.Signal) {
	select {
	case <-c.exited: // its id may be another's by now
		return
	default:
	}
	if err := syscall.Kill(-c.Pid(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
		panic(fmt.Sprintf("proc: %v to our own child %s: %v", s, c.name, err))
	}
}

// Output is all that the child, and others of its name, have written.
func (c *Child) Output() string {
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
