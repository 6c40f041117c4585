package coord_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
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

// A job that only one replica is to do: the others are told at once.
func ExampleMemoryCoordinator_TryLead() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	a, _ := coord.NewMemory(hub, coord.Config{Replica: "a"})
	b, _ := coord.NewMemory(hub, coord.Config{Replica: "b"})
	defer a.Close(ctx)
	defer b.Close(ctx)

	lead, err := a.TryLead(ctx, "job:report")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = b.TryLead(ctx, "job:report")
	fmt.Println("b is told:", errors.Is(err, coord.ErrHeld))
	fmt.Println("a leads:", lead.Context().Err() == nil)
	fmt.Println(lead.StepDown(ctx, 0))
	// Output:
	// b is told: true
	// a leads: true
	// <nil>
}

// A standby waits; it leads as soon as the leader's session fails and it steps
// down. The one that failed stands aside for a while.
func ExampleMemoryCoordinator_Campaign() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	a, _ := coord.NewMemory(hub, coord.Config{Replica: "a"})
	b, _ := coord.NewMemory(hub, coord.Config{Replica: "b"})
	defer a.Close(ctx)
	defer b.Close(ctx)

	first, err := a.Campaign(ctx, "provider:mail")
	if err != nil {
		fmt.Println(err)
		return
	}
	elected := make(chan coord.Leadership)
	go func() {
		lead, _ := b.Campaign(ctx, "provider:mail")
		elected <- lead
	}()
	if err := first.Confirm(ctx); err == nil { // thrown out, and still the leader: not by a replica
		first.StepDown(ctx, 5*time.Second)
	}
	second := <-elected
	fmt.Println("b leads, fence grew:", second.Fence() > first.Fence())
	fmt.Println("why a stopped:", context.Cause(first.Context()))
	// Output:
	// b leads, fence grew: true
	// why a stopped: botmesh: lease of provider:mail lost: released
}

// A lock's fence is what protects: whoever stalls past the lock finds out too
// late, and what it writes then is refused by its fence.
func ExampleMemoryCoordinator_AcquireLockFenced() {
	ctx := context.Background()
	c, _ := coord.NewMemory(nil, coord.Config{})
	defer c.Close(ctx)

	first, err := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	fmt.Println("twice:", errors.Is(err, coord.ErrHeld))
	fmt.Println("longer:", c.RenewLock(ctx, "invoice:7", first.Token, time.Minute))
	fmt.Println("done:", c.ReleaseLock(ctx, "invoice:7", first.Token))

	second, _ := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	fmt.Println("fence grew:", second.Fence > first.Fence)
	fmt.Println("with the old token:", errors.Is(c.ReleaseLock(ctx, "invoice:7", first.Token), botmesh.ErrLeaseLost))
	// Output:
	// twice: true
	// longer: <nil>
	// done: <nil>
	// fence grew: true
	// with the old token: true
}

// Who holds what: for one key, and for all that is going on.
func ExampleMemoryCoordinator_Inspect() {
	ctx := context.Background()
	c, _ := coord.NewMemory(nil, coord.Config{Replica: "a"})
	defer c.Close(ctx)

	turn, err := c.Take(ctx, coord.Request{Key: "telegram.42", Place: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := c.Inspect(ctx, coord.KindTurn, "telegram.42")
	fmt.Println(view.Holder == c.Incarnation(), view.Fence == turn.Fence(), len(view.Waiting), view.Deaths, err)
	for view, err := range c.List(ctx, coord.KindTurn) {
		fmt.Println(view.Kind, view.Key, err)
	}
	// Output:
	// true true 0 0 <nil>
	// turn telegram.42 <nil>
}

// A replica dies: its turn goes on a lease later, and the next holder knows.
func ExampleMemoryCoordinator_Crash() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	lease := 100 * time.Millisecond // in tests; 5s to 30s else
	a, _ := coord.NewMemory(hub, coord.Config{Replica: "a", Lease: lease})
	b, _ := coord.NewMemory(hub, coord.Config{Replica: "b", Lease: lease})
	defer b.Close(ctx)

	a.Take(ctx, coord.Request{Key: "telegram.42"})
	a.Crash()
	turn, err := b.Take(ctx, coord.Request{Key: "telegram.42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("after a:", turn.Previous().Incarnation == a.Incarnation(), "which released:", turn.Previous().Released)
	fmt.Println(turn.Release(ctx, 0))
	// Output:
	// after a: true which released: false
	// <nil>
}

// A hub that forgets plays an emptied Redis: turns that nobody else takes go on.
func ExampleMemoryHub_Forget() {
	ctx := context.Background()
	hub := &coord.MemoryHub{}
	c, _ := coord.NewMemory(hub, coord.Config{})
	defer c.Close(ctx)

	turn, err := c.Take(ctx, coord.Request{Key: "telegram.42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	hub.Forget()
	fmt.Println("keys:", hub.Len())
	fmt.Println("released:", turn.Release(ctx, 0))
	fmt.Println("keys:", hub.Len())
	// Output:
	// keys: 0
	// released: <nil>
	// keys: 1
}

// What can not be asked for is told before anything happens.
func ExampleRequest_Validate() {
	fmt.Println(coord.Request{}.Validate())
	fmt.Println(coord.ValidateLock("invoice:7", 0))
	// Output:
	// coord: a request without a key
	// coord: ttl 0s of lock invoice:7: want 1ms to 24h0m0s
}

// While a coordinator is away an optimistic one gives turns itself. They exclude
// nobody in other processes, so that what is done under them is fenced where it
// lands.
func ExampleNewOptimistic() {
	ctx := context.Background()
	o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: &nobody{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := o.Take(ctx, coord.Request{Key: "telegram.42", Floor: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("blind:", turn.Previous().Blind, "fence above 7:", turn.Fence() > 7)
	fmt.Println(turn.Release(ctx, 0))
	// Output:
	// blind: true fence above 7: true
	// <nil>
}

// nobody is a coordinator that is away.
type nobody struct{ coord.Coordinator }

func (*nobody) Away(string) bool     { return true }
func (*nobody) AwaySince() time.Time { return time.Now() }
func (*nobody) Denied() error        { return nil }
func (*nobody) Incarnation() string  { return "nobody/1" }
