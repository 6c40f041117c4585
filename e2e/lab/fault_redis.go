package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/netproxy"
	"github.com/redis/go-redis/v9"
)

// onRedisServer asks Redis itself, over a connection for this question, again if it gets
// no answer: nothing that is asked of it does harm when done twice.
func (s *scene) onRedisServer(ctx context.Context, ask func(*redis.Client) error) error {
	return insist(ctx, meetTime, func(context.Context) error { return s.onceOnRedisServer(ask) })
}

func (s *scene) onceOnRedisServer(ask func(*redis.Client) error) error {
	r := redis.NewClient(&redis.Options{Addr: s.cfg.engines.Redis.Addr, MaxRetries: -1, PoolSize: 1})
	return errors.Join(ask(r), r.Close())
}

// kept is how many keys Redis holds, once it holds any: it may have lost all just now.
func (s *scene) kept(ctx context.Context) (n int64, err error) {
	err = s.onRedisServer(ctx, func(r *redis.Client) (err error) {
		if n, err = r.DBSize(ctx).Result(); err == nil && n == 0 {
			err = errors.New("redis holds nothing")
		}
		return err
	})
	return n, err
}

// granted matches every grant of a turn.
func granted(e history.Event) bool { return e.Kind == history.Take && e.Outcome == history.Granted }

// standstill says what was seen of a Redis that nobody could use from one moment to
// another: turns were asked for, and none before it could be used again.
func (c *chaos) standstill(ctx context.Context, from, to int64) string {
	after := c.follow.await(ctx, meetTime, to, granted)
	asked, got := c.follow.turns(from, to)
	if asked == 0 || got > 0 || after == 0 {
		return ""
	}
	return fmt.Sprintf("%d turns asked for in vain in %v", asked, time.Duration(to-from).Round(100*time.Millisecond))
}

// settle is how long a fault waits until it looks again whether anybody met it.
const settle = 200 * time.Millisecond

// missed reports whether turns were asked for since a moment, or waited for by then. While
// NATS is away nobody asks.
func (c *chaos) missed(from int64) bool {
	asked, _ := c.follow.turns(from, history.Now())
	return asked > 0
}

func restartRedis(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	had, err := c.kept(ctx)
	if err != nil {
		return "", err
	}
	begin("redis")
	c.fleet.Redis.Kill()
	from := history.Now()
	wait(ctx, f.Length)
	for end := time.Now().Add(meetTime); !c.missed(from) && time.Now().Before(end) && wait(ctx, settle); {
	}
	to := history.Now()
	if err := c.fleet.Redis.Start(ctx); err != nil {
		return "", err
	}
	effect := c.standstill(ctx, from, to)
	if effect == "" {
		return "", nil
	}
	return fmt.Sprintf("%d keys gone, %s", had, effect), nil
}

func pauseRedis(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	begin("redis")
	for end := time.Now().Add(meetTime); ; {
		var asked int64
		err := c.onRedisServer(ctx, func(r *redis.Client) error {
			asked = history.Now()
			return r.Do(ctx, "CLIENT", "PAUSE", f.Length.Milliseconds(), "ALL").Err()
		})
		if err != nil {
			return "", err
		}
		from := history.Now()
		if !wait(ctx, f.Length) || c.missed(from) || time.Now().After(end) {
			return c.standstill(ctx, from, asked+f.Length.Nanoseconds()), nil
		}
	}
}

func slowRedis(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	begin("*>redis")
	var links []*netproxy.Proxy
	for _, w := range c.fleet.Workers {
		links = append(links, c.fleet.Link(w.Name, "redis"))
	}
	return c.rule(ctx, f, netproxy.Rules{Delay: 150 * time.Millisecond}, links...)
}

func emptyRedis(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	had, err := c.kept(ctx)
	if err != nil {
		return "", err
	}
	_, held, err := c.busy(ctx, f)
	if err != nil {
		return "", err
	}
	begin("redis")
	if err := c.onRedisServer(ctx, func(r *redis.Client) error { return r.FlushAll(ctx).Err() }); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d keys gone, under %s of one worker at least", had, counted(len(held), "turns")), nil
}

// firstTwice is the first of the chats in which turns are granted twice. They say
// nothing else.
const firstTwice = 1_000_000

// grantTwice has a chat's turn granted to a second worker while the first one works
// in it: the first forgets nothing, Redis does. It tries, for a while, until it saw
// that.
func grantTwice(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	const chats = 6
	begin("redis")
	twice := 0
	for try, end := 0, time.Now().Add(2*meetTime); twice == 0 && time.Now().Before(end); try++ {
		work := f.Length // so short that the first ends before it hears that it lost the turn
		if try%2 == 1 {
			work *= 3 // so long that a slow machine is in time to see it
		}
		var n atomic.Int64
		var trying sync.WaitGroup
		for i := range chats {
			chat := firstTwice + int64(f.Pick%10_000)*1000 + int64(try*chats+i)
			trying.Go(func() {
				if c.tryTwice(ctx, chat, work) {
					n.Add(1)
				}
			})
		}
		trying.Wait()
		twice += int(n.Load())
	}
	return counted(twice, "turns granted twice"), nil
}

// forget has Redis forget who has a chat's turn.
func (c *chaos) forget(ctx context.Context, key string) error {
	return c.onceOnRedisServer(func(r *redis.Client) error { // who asks can not wait
		return r.Del(ctx, "botmesh:"+c.cfg.bot+":{"+key+"}:"+string(coord.KindTurn)).Err()
	})
}

// tryTwice tries it in one chat.
func (c *chaos) tryTwice(ctx context.Context, chat int64, work time.Duration) bool {
	at, key, holder := history.Now(), history.Telegram(chat), ""
	c.users.say(ctx, chat, fmt.Sprintf("/slow %.1f", work.Seconds()))
	for end := time.Now().Add(work); holder == "" && time.Now().Before(end) && wait(ctx, 10*time.Millisecond); {
		holder = c.follow.holder(key)
	}
	if holder == "" || c.forget(ctx, key) != nil {
		return false
	}
	c.users.say(ctx, chat, "/count") // the nudge that takes somebody else there
	return c.twice(ctx, at, key, holder)
}

// twice says whether a chat's turn was granted to another while its holder had not
// heard yet that it lost it.
func (c *chaos) twice(ctx context.Context, from int64, key, holder string) bool {
	second := taken([]string{key}, holder)
	if c.follow.await(ctx, c.plan.Lease/2, from, second) == 0 {
		return false
	}
	var grant, end int64 = 0, 1 << 62
	c.follow.each(from, func(e history.Event) {
		switch {
		case second(e) && grant == 0:
			grant = e.T
		case e.Kind == history.Lost && e.Process == holder && e.Chat == key && e.T < end:
			end = e.T
		}
	})
	return grant < end
}
