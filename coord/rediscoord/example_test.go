package rediscoord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
)

// A replica handles a chat when it is its turn. It needs a Redis, so it is not run
// as a test.
func ExampleNew() {
	ctx := context.Background()
	client, err := rediscoord.Dial(ctx, "redis+sentinel://10.0.0.1,10.0.0.2,10.0.0.3/main")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	c, err := rediscoord.New(rediscoord.Config{Client: client, Prefix: "mybot", Lease: 10 * time.Second, Logger: slog.Default()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)

	turn, err := c.Take(ctx, coord.Request{Key: "telegram.42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle(turn.Context()) // ends with the turn
	if err := turn.Release(ctx, 0); err != nil {
		fmt.Println("the turn was lost:", err)
	}
}

func handle(context.Context) {}

// A bad address is told without its password.
func ExampleDial() {
	_, err := rediscoord.Dial(context.Background(), "redis+sentinel://:secret@10.0.0.1")
	fmt.Println(err)
	// Output: rediscoord: no name of a master: want redis+sentinel://host,host/master
}

// A worker whose every effect is fenced where it lands goes on while Redis is away. It
// needs a Redis, so it is not run as a test.
func ExampleCoordinator_Away() {
	ctx := context.Background()
	client, err := rediscoord.Dial(ctx, "redis://10.0.0.1/0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	c, err := rediscoord.New(rediscoord.Config{Client: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: c}) // closes c, too
	if err != nil {
		fmt.Println(err)
		return
	}
	defer o.Close(ctx)

	turn, err := o.Take(ctx, coord.Request{Key: "telegram.42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if turn.Previous().Blind {
		fmt.Println("Redis is away since", c.AwaySince(), "and others may hold the chat, too")
	}
	turn.Release(ctx, 0)
}

// One replica of many holds a mailbox open, and another when that one is gone. It needs
// a Redis, so it is not run as a test; see the same of [coord.MemoryCoordinator].
func ExampleCoordinator_Campaign() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := dialled(ctx)
	defer c.Close(ctx)

	lead, err := c.Campaign(ctx, "provider:mail") // waits on a standby
	if err != nil {
		fmt.Println(err)
		return
	}
	handle(lead.Context()) // ends with the leadership
	if err := lead.StepDown(ctx, 3*time.Second); err != nil {
		fmt.Println("the leadership was lost:", err)
	}
}

// A job that one replica does, if none does already. It needs a Redis, so it is not run
// as a test.
func ExampleCoordinator_TryLead() {
	ctx := context.Background()
	c := dialled(ctx)
	defer c.Close(ctx)

	lead, err := c.TryLead(ctx, "job:report")
	if errors.Is(err, coord.ErrHeld) {
		return // another does it
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lead.StepDown(ctx, 0)
	handle(lead.Context())
}

// A lock protects by its fence: the store that is written to keeps the highest it saw
// and refuses lower ones. It needs a Redis, so it is not run as a test.
func ExampleCoordinator_AcquireLockFenced() {
	ctx := context.Background()
	c := dialled(ctx)
	defer c.Close(ctx)

	lock, err := c.AcquireLockFenced(ctx, "invoice:7", time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("write with fence", lock.Fence)
	if err := c.RenewLock(ctx, "invoice:7", lock.Token, time.Minute); err != nil {
		fmt.Println("stop: ", err)
		return
	}
	if err := c.ReleaseLock(ctx, "invoice:7", lock.Token); err != nil {
		fmt.Println("it had ended before:", err)
	}
}

// Who holds what, for an operator. It needs a Redis, so it is not run as a test.
func ExampleCoordinator_List() {
	ctx := context.Background()
	c := dialled(ctx)
	defer c.Close(ctx)

	for view, err := range c.List(ctx, coord.KindTurn) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(view.Key, view.Holder, view.Since, len(view.Waiting), view.Deaths)
	}
	if one, err := c.Inspect(ctx, coord.KindTurn, "telegram.42"); err == nil && one.Holder != "" {
		alive, err := c.Alive(ctx, one.Holder)
		fmt.Println(one.Holder, alive, err)
	}
}

// dialled is a coordinator of a Redis that has to be there.
func dialled(ctx context.Context) *rediscoord.Coordinator {
	client, err := rediscoord.Dial(ctx, "redis://10.0.0.1/0")
	if err != nil {
		panic(err)
	}
	c, err := rediscoord.New(rediscoord.Config{Client: client})
	if err != nil {
		panic(err)
	}
	return c
}
