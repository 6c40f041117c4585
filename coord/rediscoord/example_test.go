package rediscoord_test

import (
	"context"
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
