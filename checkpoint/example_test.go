package checkpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// Two replicas replace the same row: one wins, the other is told and reloads.
func ExampleMemory() {
	ctx := context.Background()
	store := &checkpoint.Memory{}
	old, _ := store.Swap(ctx, "telegram.7", checkpoint.Row{}, []byte("count: 1"), "first", 0)

	_, err := store.Swap(ctx, "telegram.7", old, []byte("count: 2"), "replica a", 0)
	fmt.Println(err)
	_, err = store.Swap(ctx, "telegram.7", old, []byte("count: 2"), "replica b", 0)
	fmt.Println(errors.Is(err, botmesh.ErrConflict))
	row, _ := store.Load(ctx, "telegram.7")
	fmt.Println(row.Revision, row.Nonce)
	// Output:
	// <nil>
	// true
	// 2 replica a
}
