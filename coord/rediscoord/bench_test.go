package rediscoord_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// BenchmarkTurn takes and releases the turns of 64 chats at once, as a busy
// worker does. It reports the script calls per turn and the CPU time of this
// process and of Redis.
func BenchmarkTurn(b *testing.B) {
	server := redistest.Start(b)
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers)+"chats", func(b *testing.B) {
			c := join(b, rediscoord.Config{Client: dial(b, server)})
			look := server.Client(b)
			warm, err := c.Take(b.Context(), coord.Request{Key: "warm"})
			if err != nil {
				b.Fatal(err)
			}
			warm.Release(b.Context(), 0)
			before, calls := cpu(), scripts(b, look)
			redisBefore := redisCPU(b, look)
			var chats, place atomic.Uint64
			b.SetParallelism(max(1, callers/2))
			b.ResetTimer()
			if callers == 1 {
				for range b.N {
					turn(b, c, "one", place.Add(1))
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					key := fmt.Sprintf("chat-%d", chats.Add(1))
					for pb.Next() {
						turn(b, c, key, place.Add(1))
					}
				})
			}
			b.StopTimer()
			n := float64(b.N)
			b.ReportMetric(float64(scripts(b, look)-calls)/n, "scripts/turn")
			b.ReportMetric(float64((cpu()-before).Microseconds())/n, "client-µs/turn")
			b.ReportMetric((redisCPU(b, look)-redisBefore)*1e6/n, "redis-µs/turn")
		})
	}
}

// BenchmarkWake wakes one of 1000 chats that wait, again and again: from the release
// on one replica to the turn on another. It reports how long that takes, what it costs
// Redis, and how long a bare message takes, published and heard, on the same machine
// in between.
func BenchmarkWake(b *testing.B) {
	const chats = 1000
	server := redistest.Start(b)
	holder := join(b, rediscoord.Config{Client: dial(b, server), Lease: time.Minute})
	waiter := join(b, rediscoord.Config{Client: dial(b, server), Lease: time.Minute})
	look := server.Client(b)
	subscribed(b, look, waiter)
	bare := newBare(b, server)
	type woken struct {
		turn coord.Turn
		at   time.Time
	}
	var held [chats]coord.Turn
	var wakes [chats]chan woken
	wait := func(i int) {
		waits := make(chan struct{})
		go func() {
			turn, err := waiter.Take(b.Context(), coord.Request{Key: strconv.Itoa(i), Waiting: func() { close(waits) }})
			if err != nil {
				b.Error(err)
			}
			wakes[i] <- woken{turn, time.Now()}
		}()
		<-waits
	}
	for i := range chats {
		wakes[i] = make(chan woken, 1)
		held[i] = take(b, holder, coord.Request{Key: strconv.Itoa(i)})
		wait(i)
	}
	took := make([]time.Duration, 0, b.N)
	var commands int
	b.ResetTimer()
	for n := range b.N {
		i := n % chats
		before := scripts(b, look)
		began := time.Now()
		release(b, held[i])
		w := <-wakes[i]
		took = append(took, w.at.Sub(began))
		b.StopTimer()
		bare.say(b)
		release(b, w.turn)
		commands += scripts(b, look) - before
		held[i] = take(b, holder, coord.Request{Key: strconv.Itoa(i)})
		wait(i)
		b.StartTimer()
	}
	b.StopTimer()
	report(b, took, "")
	report(b, bare.took, "bare-")
	b.ReportMetric(float64(commands)/float64(b.N), "scripts/wake")
	for i := range chats { // nobody waits for an idle lease to end
		release(b, held[i])
		release(b, (<-wakes[i]).turn)
	}
}

// bare publishes messages and hears them, with nothing of ours in between.
type bare struct {
	from  redis.UniversalClient
	heard <-chan *redis.Message
	took  []time.Duration
}

func newBare(b *testing.B, server *redistest.Server) *bare {
	sub := dial(b, server).Subscribe(b.Context(), "bare")
	b.Cleanup(func() { sub.Close() })
	if _, err := sub.Receive(b.Context()); err != nil {
		b.Fatal(err)
	}
	return &bare{from: dial(b, server), heard: sub.Channel()}
}

// say is one message.
func (s *bare) say(b *testing.B) {
	began := time.Now()
	if err := s.from.Publish(b.Context(), "bare", "x").Err(); err != nil {
		b.Fatal(err)
	}
	<-s.heard
	s.took = append(s.took, time.Since(began))
}

// report tells the median and the slowest of a hundred.
func report(b *testing.B, took []time.Duration, what string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), what+"p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), what+"p99-µs")
}

func turn(b *testing.B, c coord.Coordinator, key string, place uint64) {
	turn, err := c.Take(b.Context(), coord.Request{Key: key, Place: place})
	if err != nil {
		b.Error(err)
		return
	}
	if err := turn.Release(b.Context(), place); err != nil {
		b.Error(err)
	}
}

// cpu is the processor time that this process used.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// redisCPU is the processor time that the server used, in seconds.
func redisCPU(t testing.TB, look *redis.Client) float64 {
	said := info(t, look, "cpu")
	user, _ := strconv.ParseFloat(said["used_cpu_user"], 64)
	sys, _ := strconv.ParseFloat(said["used_cpu_sys"], 64)
	return user + sys
}
