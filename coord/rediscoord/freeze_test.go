package rediscoord_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// holderURL names the variable that makes this test binary a holder of a turn.
const holderURL = "REDISCOORD_TEST_HOLDER"

func TestMain(m *testing.M) {
	logging.Disable() // connections fail here on purpose
	if url := os.Getenv(holderURL); url != "" {
		if err := holder(url); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const freezeLease = time.Second

// holder takes a turn and acts under it, without a pause that a timer could use,
// until it is lost. It prints when it acted last.
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
	var acted time.Time
	for {
		now := time.Now()
		if turn.Context().Err() != nil {
			break
		}
		acted = now
	}
	var why *botmesh.LeaseLostError
	if !errors.As(context.Cause(turn.Context()), &why) {
		return context.Cause(turn.Context())
	}
	fmt.Println("lost", why.Reason, acted.UnixNano())
	return nil
}

// SPEC: T7. HOLE H24. A process that stood still past its lease does not act under
// it once more when it goes on, not even for the moment that its timers need.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderURL+"="+server.URL(), "GOMAXPROCS=2")
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
	word := func(kind string) []string {
		t.Helper()
		if !said.Scan() {
			t.Fatalf("the holder ended: %v", said.Err())
		}
		f := strings.Fields(said.Text())
		if f[0] != kind {
			t.Fatalf("the holder says %q, want %s", said.Text(), kind)
		}
		return f
	}
	incarnation := word("held")[1]

	b := join(t, rediscoord.Config{Client: dial(t, server), Lease: freezeLease})
	<-time.After(3 * freezeLease / 2) // the holder renews meanwhile
	cmd.Process.Signal(syscall.SIGSTOP)
	began := time.Now()
	turn := take(t, b, coord.Request{Key: "k"})
	taken := time.Now()
	if got, want := turn.Previous(), (coord.Previous{Incarnation: incarnation}); got != want {
		t.Errorf("got previous %+v, want %+v", got, want)
	}
	if got := taken.Sub(began); got < freezeLease/2 {
		t.Errorf("the frozen holder's turn was taken after %s", got)
	}
	cmd.Process.Signal(syscall.SIGCONT)
	f := word("lost")
	if got := botmesh.LossReason(f[1]); got != botmesh.LossStalled {
		t.Errorf("got reason %s, want stalled", got)
	}
	acted, _ := strconv.ParseInt(f[2], 10, 64)
	if late := time.Unix(0, acted).Sub(taken); late > 0 {
		t.Errorf("the holder acted %s after its successor was granted the turn", late)
	}
	if turn.Context().Err() != nil {
		t.Error("the thawed holder ended its successor's turn")
	}
}
