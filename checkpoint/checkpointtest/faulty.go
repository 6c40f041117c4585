package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// Fault is what happens to one Swap.
type Fault int

// The faults of a Swap.
const (
	None        Fault = iota
	Refused           // not done, answered with ErrRefused
	LostRequest       // not done, answered with ErrUnknown
	LostAnswer        // done, answered with ErrUnknown
)

// errFault marks what a [Faulty] did.
var errFault = errors.New("checkpointtest: planted fault")

// Faulty is a store whose swaps go wrong as Choose says, as those of a store do
// whose context ended before an answer was settled. For answers that the store
// itself has to settle, plant faults below it.
type Faulty struct {
	checkpoint.Store
	Choose func(key string) Fault
}

// Swap swaps, or does what Choose says.
func (f *Faulty) Swap(ctx context.Context, key string, old checkpoint.Row, value []byte, nonce string, ttl time.Duration) (checkpoint.Row, error) {
	switch fault := f.Choose(key); fault {
	case Refused:
		return checkpoint.Row{}, fmt.Errorf("%w: %w", botmesh.ErrRefused, errFault)
	case LostRequest:
		return checkpoint.Row{}, fmt.Errorf("%w: %w", botmesh.ErrUnknown, errFault)
	case LostAnswer:
		if _, err := f.Store.Swap(ctx, key, old, value, nonce, ttl); err != nil {
			return checkpoint.Row{}, err
		}
		return checkpoint.Row{}, fmt.Errorf("%w: %w", botmesh.ErrUnknown, errFault)
	}
	return f.Store.Swap(ctx, key, old, value, nonce, ttl)
}
