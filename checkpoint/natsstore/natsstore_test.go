package natsstore_test

import (
	"testing"

	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/checkpointtest"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

const tooLarge = 1<<20 + 1

func TestInMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, checkpointtest.Backend{
		New: func(testing.TB) checkpoint.Store {
			return natsstore.New(jet.NewMemory().Stream("CP", jet.MemoryConfig{MaxPerSubject: 1}), "demo")
		},
		TooLarge: tooLarge,
	})
}

func TestOnAServer(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, onServer(dial(t, natstest.Start(t)), 1))
}
