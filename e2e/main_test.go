package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/e2e/proc"

	// What the programs are made of: a result that go test kept is of these.
	_ "github.com/botmesh-go/botmesh/e2e/talk"
	_ "github.com/botmesh-go/botmesh/examples/demo"
	_ "github.com/botmesh-go/botmesh/internal/ingressd"
	_ "github.com/botmesh-go/botmesh/worker"
)

// programs are what all tests run, built once, and talker is the worker of those that
// hand chats over.
var (
	programs proc.Programs
	talker   string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "botmesh-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	programs, err = proc.Build(ctx, dir)
	if err == nil {
		talker = filepath.Join(dir, "talker")
		err = proc.Compile(ctx, dir, "./e2e/talk/talker")
	}
	switch {
	case errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "":
		fmt.Fprintf(os.Stderr, "SKIPPED: none of the black-box tests was run: %v\n", err)
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code := m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(goleak.IgnoreTopFunction("github.com/botmesh-go/botmesh/e2e/proc.spawner")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
