package proc

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// natsServer is the server's main package, of the version that go.mod pins.
const natsServer = "github.com/nats-io/nats-server/v2"

// Programs are the paths of what a run starts.
type Programs struct {
	Ingress string
	Worker  string
	NATS    string
	Redis   string
}

// Build compiles this module's programs and the NATS server into dir, and finds
// the machine's redis-server. An error of [exec.ErrNotFound] says that there is
// no redis-server; the other programs are built all the same.
func Build(ctx context.Context, dir string) (Programs, error) {
	root, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return Programs{}, fmt.Errorf("proc: finding the module: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/ingress", "./cmd/worker", natsServer)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("proc: building the programs: %w\n%s", err, out)
	}
	p := Programs{
		Ingress: filepath.Join(dir, "ingress"),
		Worker:  filepath.Join(dir, "worker"),
		NATS:    filepath.Join(dir, "nats-server"),
	}
	if p.Redis, err = exec.LookPath("redis-server"); err != nil {
		return p, fmt.Errorf("proc: %w: install it, on Debian and Ubuntu with apt-get install redis-server", err)
	}
	return p, nil
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(out)), err
}
