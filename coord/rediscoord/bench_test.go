package rediscoord_test

import (
	"fmt"
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
