package coord_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// alone is a coordinator that nobody stands in the way of.
func alone() *coord.MemoryCoordinator {
	c, err := coord.NewMemory(nil, coord.Config{Replica: "a"})
	if err != nil {
		panic(err)
	}
	return c
}

// A ticket whose work a holder has done is not granted.
func ExampleMemoryCoordinator_Take() {
	ctx := context.Background()
	c := alone()
	defer c.Close(ctx)

	turn, _ := c.Take(ctx, coord.Request{Key: "telegram.42", Place: 7})
	_, err := c.Take(ctx, coord.Request{Key: "telegram.42", Place: 8, Waiting: func() {
		turn.Release(ctx, 9) // the holder went on to 9
	}})
	var passed *coord.PassedError
	fmt.Println("done by another:", errors.As(err, &passed))
	// Output: done by another: true
}

// Who is gone does not come back: the same replica started again is another incarnation.
func ExampleMemoryCoordinator_Alive() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	a, _ := coord.NewMemory(hub, coord.Config{Replica: "a"})
	again, _ := coord.NewMemory(hub, coord.Config{Replica: "a"})
	defer again.Close(ctx)
	a.Close(ctx)

	for _, c := range []*coord.MemoryCoordinator{a, again} {
		alive, err := again.Alive(ctx, c.Incarnation())
		fmt.Println(c.Replica(), alive, err)
	}
	fmt.Println("the same:", a.Incarnation() == again.Incarnation())
	// Output:
	// a false <nil>
	// a true <nil>
	// the same: false
}

// What is held when a coordinator closes goes on at once.
func ExampleMemoryCoordinator_Close() {
	ctx := context.Background()
	c := alone()
	turn, _ := c.Take(ctx, coord.Request{Key: "telegram.42"})
	fmt.Println(c.Close(ctx))
	fmt.Println("ended:", errors.Is(context.Cause(turn.Context()), botmesh.ErrLeaseLost))
	// Output:
	// <nil>
	// ended: true
}

// All that is led.
func ExampleMemoryCoordinator_List() {
	ctx := context.Background()
	c := alone()
	defer c.Close(ctx)

	lead, _ := c.TryLead(ctx, "job:report")
	defer lead.StepDown(ctx, 0)
	for view, err := range c.List(ctx, coord.KindLead) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(view.Key, view.Holder == c.Incarnation())
	}
	// Output: job:report true
}

// A lock that ran out is another's to take, and its old token does not hold it again.
func ExampleMemoryCoordinator_RenewLock() {
	ctx := context.Background()
	c := alone()
	defer c.Close(ctx)

	lock, _ := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	fmt.Println("held:", c.RenewLock(ctx, "invoice:7", lock.Token, time.Minute))
	fmt.Println("another's:", errors.Is(c.RenewLock(ctx, "invoice:7", "a token", time.Minute), botmesh.ErrLeaseLost))
	// Output:
	// held: <nil>
	// another's: true
}

// A lock that is given up is free at once, and its next fence is higher.
func ExampleMemoryCoordinator_ReleaseLock() {
	ctx := context.Background()
	c := alone()
	defer c.Close(ctx)

	first, _ := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	fmt.Println(c.ReleaseLock(ctx, "invoice:7", first.Token))
	second, err := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	fmt.Println(second.Fence > first.Fence, err)
	// Output:
	// <nil>
	// true <nil>
}

// A key that nobody holds or waits for is remembered for its fence.
func ExampleMemoryHub_Len() {
	ctx := context.Background()
	hub := &coord.MemoryHub{MaxIdleKeys: 2}
	c, _ := coord.NewMemory(hub, coord.Config{})
	defer c.Close(ctx)

	for _, key := range []string{"telegram.1", "telegram.2", "telegram.3"} {
		turn, _ := c.Take(ctx, coord.Request{Key: key})
		turn.Release(ctx, 0)
	}
	fmt.Println(hub.Len())
	// Output: 2
}

// What an operator looks for first: is anybody there?
func ExampleView_Idle() {
	ctx := context.Background()
	c := alone()
	defer c.Close(ctx)

	turn, _ := c.Take(ctx, coord.Request{Key: "telegram.42"})
	view, _ := c.Inspect(ctx, coord.KindTurn, "telegram.42")
	fmt.Println("idle:", view.Idle())
	turn.Release(ctx, 0)
	view, _ = c.Inspect(ctx, coord.KindTurn, "telegram.42")
	fmt.Println("idle:", view.Idle())
	// Output:
	// idle: false
	// idle: true
}

// A lock's name and time are looked at before anything is asked.
func ExampleValidateLock() {
	fmt.Println(coord.ValidateLock("invoice:7", time.Minute))
	fmt.Println(coord.ValidateLock("invoice:7", 48*time.Hour) == nil)
	// Output:
	// <nil>
	// false
}
