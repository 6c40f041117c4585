package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Backend{
		New:      func(testing.TB) checkpoint.Store { return &checkpoint.Memory{} },
		TooLarge: 1<<20 + 1,
	})
}

// SPEC: C5. After an unknown the same Swap again tells what became of it.
func TestAnUnknownIsSettledByTheSameSwapAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []checkpointtest.Fault{checkpointtest.LostAnswer, checkpointtest.LostRequest} {
		m := &checkpoint.Memory{}
		planted := []checkpointtest.Fault{fault, checkpointtest.None}
		s := &checkpointtest.Faulty{Store: m, Choose: func(string) checkpointtest.Fault {
			f := planted[0]
			planted = planted[1:]
			return f
		}}
		if _, err := s.Swap(t.Context(), "x.1", checkpoint.Row{}, []byte("1"), "n1", 0); !errors.Is(err, botmesh.ErrUnknown) {
			t.Fatalf("fault %d: got %v, want ErrUnknown", fault, err)
		}
		if row, err := s.Swap(t.Context(), "x.1", checkpoint.Row{}, []byte("1"), "n1", 0); err != nil || row.Revision != 1 {
			t.Errorf("fault %d: got %+v, %v, want revision 1", fault, row, err)
		}
	}
}
