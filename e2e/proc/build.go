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
	return BuildOf(ctx, dir, "./cmd/ingress", "./cmd/worker")
}

// BuildOf is [Build] with an ingress and a worker of the caller's: packages that end
// in these names.
func BuildOf(ctx context.Context, dir, ingress, worker string) (Programs, error) {
	err := Compile(ctx, dir, ingress, worker, natsServer)
	if err != nil {
		return Programs{}, err
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

// Compile builds main packages into dir, each under the last name of its path.
// Relative paths are of the module's root.
func Compile(ctx context.Context, dir string, packages ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("proc: building the programs: %w\n%s", err, out)
	}
	return nil
}

// Root is the directory of this module, which the working directory is in.
func Root(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("proc: finding the module: %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}
