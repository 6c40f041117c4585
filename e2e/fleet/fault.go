package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
)

// inDoubt counts the sends that may have reached the platform twice, deliveries
// the calls by what came of them.
const (
	inDoubt    = "bot_outbox_in_doubt_total"
	deliveries = "bot_outbox_deliveries_total"
	late       = `outcome="unknown"`
)

// reading is what a process said when it was last asked.
type reading struct {
	doubt, late int
	at          time.Duration // when it was asked
}

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

// Hurry asks a worker's process to end (SIGTERM), and does again until it has, as
// somebody who does not want to wait for its drain. It returns the exit code.
func (f *Fleet) Hurry(ctx context.Context, r *Replica) (code int, err error) {
	f.ReadDoubt(ctx, r)
	for ctx.Err() == nil {
		f.fault(r.Process())
		r.Child().Ask()
		select {
		case <-r.Child().Exited():
			return r.Child().Wait(ctx)
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return -1, fmt.Errorf("fleet: %s still drains: %w", r.Name, context.Cause(ctx))
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

// ReadDoubt reads a worker's counters. One that does not answer keeps what it last
// said.
func (f *Fleet) ReadDoubt(ctx context.Context, r *Replica) {
	process, at := r.Process(), f.cfg.Platform.Now()
	m, err := r.Metrics(ctx)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readings[process] = reading{int(m.Sum(inDoubt)), int(m.Sum(deliveries, late)), at}
}

// Doubt reads every live worker's counters and returns the sums over all processes
// that ever were: the sends in doubt, and the calls whose answer came too late.
func (f *Fleet) Doubt(ctx context.Context) (doubt check.Doubt, late int) {
	for _, r := range f.Workers {
		f.ReadDoubt(ctx, r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	doubt.Read = map[string]time.Duration{}
	for process, r := range f.readings {
		doubt.Counted += r.doubt
		doubt.Read[process] = r.at
		late += r.late
	}
	return doubt, late
}
