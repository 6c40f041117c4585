package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// role makes the test binary the command.
const role = "CLI_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
	case "own":
		ownMain()
	default:
		main()
	}
	goleak.VerifyTestMain(m)
}

func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // then it is killed
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(env, role+"=1")
	return cmd
}

// finished runs a command to its end.
func finished(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// devProcess is a running botmesh dev.
type devProcess struct {
	addr string // of the web chat
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
}

func startDev(t *testing.T, dir, nats string, more ...string) *devProcess {
	t.Helper()
	env := []string{"BOTMESH_LISTEN=127.0.0.1:0", "BOTMESH_ADMIN_LISTEN=127.0.0.1:0", "BOTMESH_NATS_URL=" + nats, "BOTMESH_TELEGRAM_TOKEN=12:x"}
	return startProcess(t, command(t, append(env, more...), "dev", "--dir", dir))
}

// startProcess runs cmd until it says where its chat is.
func startProcess(t *testing.T, cmd *exec.Cmd) *devProcess {
	t.Helper()
	d := &devProcess{cmd: cmd, errs: &bytes.Buffer{}}
	d.cmd.Stderr = d.errs
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReader(out)
	line, err := d.out.ReadString('\n')
	_, after, ok := strings.Cut(line, "http://")
	if err != nil || !ok {
		t.Fatalf("got %q (%v) and %s, want the address of the chat", line, err, d.errs)
	}
	d.addr, _, _ = strings.Cut(after, " ")
	return d
}

// stop interrupts it, as Ctrl-C does, and returns what else it said.
func (d *devProcess) stop(t *testing.T) string {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(d.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("got %v and %s, want a good end", err, d.errs)
	}
	return string(rest)
}

// freeNATS is an address where a server can listen.
func freeNATS(t *testing.T) string { return "nats://" + freeAddr(t) }

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Help is a word too, of all commands and of one.
func TestHelp(t *testing.T) {
	t.Parallel()
	for word, flag := range map[string][]string{"help": {"--help"}, "help chats ls": {"chats", "ls", "--help"}} {
		code, got, stderr := finished(t, nil, strings.Fields(word)...)
		if _, want, _ := finished(t, nil, flag...); code != 0 || stderr != "" || got != want || want == "" {
			t.Errorf("%s: got exit code %d, %q and %q, want %q", word, code, got, stderr, want)
		}
	}
}
