package jettest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Fault is what happens to one publish.
type Fault int

// The faults of a publish.
const (
	None          Fault = iota
	Refused             // not done, answered with ErrRefused
	LostRequest         // not done, answered with ErrUnknown
	LostAnswer          // done, answered with ErrUnknown
	Late                // answered with ErrUnknown, and done after the next publish
	FalseConflict       // not done, answered with ErrConflict, as a cluster does now and then
	OwnConflict         // done, answered with ErrConflict, as a single server does to a repetition
)

// errFault marks what a [Faulty] did.
var errFault = errors.New("jettest: planted fault")

// Faulty is a stream whose publishes go wrong as Choose says, and whose reads fail
// as Read says. A nil function plants nothing.
type Faulty struct {
	jet.Stream
	Choose func(jet.Publish) Fault
	Read   func() error

	mu   sync.Mutex
	late []jet.Publish
}

// Publish publishes, or does what Choose says.
func (f *Faulty) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	fault := None
	if f.Choose != nil {
		fault = f.Choose(p)
	}
	if fault == Late {
		f.mu.Lock()
		f.late = append(f.late, p)
		f.mu.Unlock()
		return jet.Ack{}, planted(botmesh.ErrUnknown)
	}
	defer f.land(ctx)
	switch fault {
	case Refused:
		return jet.Ack{}, planted(botmesh.ErrRefused)
	case LostRequest:
		return jet.Ack{}, planted(botmesh.ErrUnknown)
	case FalseConflict:
		return jet.Ack{}, planted(botmesh.ErrConflict)
	}
	ack, err := f.Stream.Publish(ctx, p)
	switch {
	case fault == LostAnswer:
		return jet.Ack{}, planted(botmesh.ErrUnknown)
	case fault == OwnConflict && err == nil:
		return jet.Ack{}, planted(botmesh.ErrConflict)
	}
	return ack, err
}

// land does the publishes that were late. What becomes of them nobody hears.
func (f *Faulty) land(ctx context.Context) {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, p := range late {
		_, _ = f.Stream.Publish(ctx, p)
	}
}

// Last reads, or fails as Read says.
func (f *Faulty) Last(ctx context.Context, subject string) (jet.Stored, error) {
	if err := f.read(); err != nil {
		return jet.Stored{}, err
	}
	return f.Stream.Last(ctx, subject)
}

// Get reads, or fails as Read says.
func (f *Faulty) Get(ctx context.Context, seq uint64) (jet.Stored, error) {
	if err := f.read(); err != nil {
		return jet.Stored{}, err
	}
	return f.Stream.Get(ctx, seq)
}

// Next reads, or fails as Read says.
func (f *Faulty) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	if err := f.read(); err != nil {
		return jet.Stored{}, err
	}
	return f.Stream.Next(ctx, subject, from)
}

func (f *Faulty) read() error {
	if f.Read == nil {
		return nil
	}
	return f.Read()
}

func planted(kind error) error { return fmt.Errorf("%w: %w", kind, errFault) }
