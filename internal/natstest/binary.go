package natstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// Binary returns the path of a nats-server of the version that this module pins. It
// is built at the first call on a machine and kept in the user's cache.
var Binary = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "botmesh-test")
	path := filepath.Join(dir, "nats-server-"+server.VERSION)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("natstest: %w", err)
	}
	// Two test processes may build at once: each has a file of its own, and the
	// rename is atomic.
	built := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(built)
	if out, err := exec.Command("go", "build", "-o", built, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", fmt.Errorf("natstest: build nats-server: %w\n%s", err, out)
	}
	if err := os.Rename(built, path); err != nil {
		return "", fmt.Errorf("natstest: %w", err)
	}
	return path, nil
})
