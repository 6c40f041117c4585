package rediscoord_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

func init() { asHolder = holder }

const freezeLease = 3 * time.Second

// holder takes a turn, stops itself when it is told to, and says whether it would
// have acted under the turn when it goes on.
func holder(url string) error {
	client, err := rediscoord.Dial(context.Background(), url)
	if err != nil {
		return err
	}
	c, err := rediscoord.New(rediscoord.Config{Client: client, Lease: freezeLease})
	if err != nil {
		return err
	}
	turn, err := c.Take(context.Background(), coord.Request{Key: "k"})
	if err != nil {
		return err
	}
	fmt.Println("held", c.Incarnation())
	fmt.Scanln()
	runtime.LockOSThread()
	before := turn.Context().Err()
	// This very thread, and without telling the runtime, which could run a timer first.
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGSTOP))
	after := turn.Context().Err()
	fmt.Println("thawed", before, after, context.Cause(turn.Context()))
	return nil
}

// SPEC: T7. HOLE H24. A process that stood still past its lease does not act under
// it once more when it goes on, not even for the moment that its timers need.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderURL+"="+server.URL(), "GOMAXPROCS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	said := bufio.NewScanner(out)
	if !said.Scan() || !strings.HasPrefix(said.Text(), "held ") {
		t.Fatalf("the holder says %q", said.Text())
	}
	incarnation := strings.TrimPrefix(said.Text(), "held ")

	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: freezeLease})
	<-time.After(freezeLease / 2) // the holder renews meanwhile
	began := time.Now()
	in.Write([]byte("\n"))
	turn := take(t, b, coord.Request{Key: "k"})
	if got, want := turn.Previous(), (coord.Previous{Incarnation: incarnation}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if got := time.Since(began); got < freezeLease/2 {
		t.Errorf("the frozen holder's turn was taken after %s", got)
	}
	cmd.Process.Signal(syscall.SIGCONT)
	said.Scan()
	why := botmesh.LeaseLostError{Key: "k", Reason: botmesh.LossStalled}
	if got, want := said.Text(), "thawed <nil> context canceled "+why.Error(); got != want {
		t.Errorf("the holder says %q, want %q", got, want)
	}
	if turn.Context().Err() != nil {
		t.Error("the thawed holder ended its successor's turn")
	}
}
