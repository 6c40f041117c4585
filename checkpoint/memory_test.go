package checkpoint_test

import (
	"testing"

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
