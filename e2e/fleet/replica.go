package fleet

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/proc"
)

// Replica is one ingress or worker. It keeps its name, settings and addresses over
// restarts; every start is another process. Safe for concurrent use.
type Replica struct {
	// Name is the replica's id.
	Name string
	// URL is the public base address, of an ingress only. Admin is the private one.
	URL   string
	Admin string

	cfg proc.Config
	// env gives the settings that differ with each start.
	env func(process string) []string

	mu     sync.Mutex
	child  *proc.Child
	starts int
	once   []string
}

// Once gives the next start, and only that, more settings, as "NAME=value".
func (r *Replica) Once(env ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.once = env
}

// Launch starts the process without waiting for more.
func (r *Replica) Launch() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts++
	cfg := r.cfg
	cfg.Env = slices.Concat(cfg.Env, r.env(r.process()), r.once)
	r.once = nil
	child, err := proc.Start(cfg)
	if err != nil {
		return err
	}
	r.child = child
	return nil
}

// Start starts the process and waits until it says that it is ready.
func (r *Replica) Start(ctx context.Context) error {
	if err := r.Launch(); err != nil {
		return err
	}
	return r.AwaitReady(ctx)
}

// AwaitReady waits until the replica says that it is ready. It is an error if the
// process ends instead.
func (r *Replica) AwaitReady(ctx context.Context) error {
	ctx, cancel := watch(ctx, r.Name, r.Child())
	defer cancel()
	return poll(ctx, r.Name+" is ready", func(ctx context.Context) error {
		status, body, err := r.get(ctx, "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("readyz %d %s", status, body)
		}
		return err
	})
}

// tail is the end of a log.
func tail(log string) string {
	const most = 2000
	if over := len(log) - most; over > 0 {
		return "… " + log[over:]
	}
	return log
}

// Ready asks once whether the replica is ready.
func (r *Replica) Ready(ctx context.Context) bool {
	status, _, err := r.get(ctx, "/readyz")
	return err == nil && status == http.StatusOK
}

// AliveNotReady gives no error if the replica says that it lives and is not ready.
func (r *Replica) AliveNotReady(ctx context.Context) error {
	status, body, err := r.get(ctx, "/healthz")
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("fleet: healthz of %s: %d %s (%v)", r.Name, status, body, err)
	}
	if status, _, err = r.get(ctx, "/readyz"); err != nil || status != http.StatusServiceUnavailable {
		return fmt.Errorf("fleet: readyz of %s: %d (%v)", r.Name, status, err)
	}
	return nil
}

// Child is the replica's process, nil before its first start.
func (r *Replica) Child() *proc.Child {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.child
}

// Process names the running process: the replica and how many times it was started.
func (r *Replica) Process() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process()
}

func (r *Replica) process() string { return fmt.Sprintf("%s.%d", r.Name, r.starts) }

// Term asks the process to end and returns its exit code.
func (r *Replica) Term(ctx context.Context) (int, error) { return r.Child().Term(ctx) }

// adminTimeout bounds one question to a replica, which may be frozen.
const adminTimeout = 2 * time.Second
