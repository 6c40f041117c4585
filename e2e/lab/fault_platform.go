package main

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/platform"
)

// weather lets a third of the chats have bad weather for the length of a fault, and
// counts the calls that met it.
func (c *chaos) weather(ctx context.Context, f Fault, begin func(string), w platform.Weather) int {
	var met atomic.Int64
	begin("platform")
	c.platform.Weather(func(chat string) platform.Weather {
		id, err := strconv.ParseUint(chat, 10, 64)
		if err != nil || (id+f.Pick)%3 != 0 {
			return platform.Weather{}
		}
		met.Add(1)
		return w
	})
	wait(ctx, f.Length)
	for met.Load() == 0 && wait(ctx, 50*time.Millisecond) {
	}
	c.platform.Weather(nil)
	return int(met.Load())
}

func throttle(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	n := c.weather(ctx, f, begin, platform.Weather{Status: http.StatusTooManyRequests, RetryAfter: time.Second})
	return counted(n, "calls refused"), nil
}

func failing(taken bool) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		n := c.weather(ctx, f, begin, platform.Weather{Status: http.StatusInternalServerError, Taken: taken})
		return counted(n, "calls failed"), nil
	}
}

func losing(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	return counted(c.weather(ctx, f, begin, platform.Weather{Lose: true}), "answers withheld"), nil
}

func slowPlatform(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	return counted(c.weather(ctx, f, begin, platform.Weather{Delay: 300 * time.Millisecond}), "calls slowed"), nil
}

func doubling(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	at := history.Now()
	begin("platform")
	c.users.twice.Store(true)
	taken := func() int {
		return c.follow.count(at, func(e history.Event) bool { return e.Kind == history.Webhook && e.Status/100 == 2 })
	}
	wait(ctx, f.Length)
	for taken() < 2 && wait(ctx, 50*time.Millisecond) { // none is taken while NATS is away
	}
	c.users.twice.Store(false)
	n := taken()
	return counted(n/2, "webhooks posted twice at once"), nil
}
