package coord_test

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh/coord"
)

// Two replicas take turns at a chat. The second one waits, and learns who held
// the chat before.
func ExampleNewMemory() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	a, _ := coord.NewMemory(hub, coord.Config{Replica: "a"})
	b, _ := coord.NewMemory(hub, coord.Config{Replica: "b"})
	defer a.Close(ctx)
	defer b.Close(ctx)

	first, err := a.Take(ctx, coord.Request{Key: "telegram.42", Place: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := b.Take(ctx, coord.Request{Key: "telegram.42", Place: 8, Waiting: func() {
		fmt.Println("b waits")
		first.Release(ctx, 7)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("b's turn, fence grew:", second.Fence() > first.Fence())
	fmt.Println("before it, a held it:", second.Previous().Incarnation == a.Incarnation())
	fmt.Println("and is done up to", second.Previous().Passed)
	fmt.Println(second.Release(ctx, 8))
	// Output:
	// b waits
	// b's turn, fence grew: true
	// before it, a held it: true
	// and is done up to 7
	// <nil>
}
