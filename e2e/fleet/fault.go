package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/botmesh-go/botmesh/e2e/check"
)

// inDoubt is the counter of sends that may have reached the platform twice.
const inDoubt = "bot_outbox_in_doubt_total"

// Kill takes a worker's process away with SIGKILL, having read its in-doubt counter
// just before.
func (f *Fleet) Kill(ctx context.Context, r *Replica) {
	f.ReadDoubt(ctx, r)
	f.fault(r.Process())
	r.Child().Kill()
}

// KillNATS takes the NATS server away with SIGKILL, from everybody.
func (f *Fleet) KillNATS() {
	f.fault("")
	f.NATS.Kill()
}

// Freeze stops a worker's process where it is.
func (f *Fleet) Freeze(ctx context.Context, r *Replica) {
	f.ReadDoubt(ctx, r)
	f.fault(r.Process())
	r.Child().Freeze()
}

func (f *Fleet) fault(process string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, check.Fault{By: process, At: f.cfg.Platform.Now()})
}

// Faults are what was done to the fleet, in order.
func (f *Fleet) Faults() []check.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.faults)
}

// ReadDoubt reads a worker's in-doubt counter. One that does not answer keeps what
// it last said.
func (f *Fleet) ReadDoubt(ctx context.Context, r *Replica) {
	process, at := r.Process(), f.cfg.Platform.Now()
	m, err := r.Metrics(ctx)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt[process], f.read[process] = int(m.Sum(inDoubt)), at
}

// Doubt reads every live worker's in-doubt counter and returns the sum over all
// processes that ever were.
func (f *Fleet) Doubt(ctx context.Context) check.Doubt {
	for _, r := range f.Workers {
		f.ReadDoubt(ctx, r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := check.Doubt{Read: maps.Clone(f.read)}
	for _, n := range f.doubt {
		d.Counted += n
	}
	return d
}
