package jet_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// benchStream is a stream that holds one message of 300 bytes on each of 1024 subjects.
func benchStream(b *testing.B) (c *jet.Conn, s jet.Stream, subject func(i int64) string) {
	b.Helper()
	c = dial(b, natstest.Start(b))
	name := "B" + nuid.Next()
	if _, err := c.JetStream().CreateStream(b.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, AllowDirect: true}); err != nil {
		b.Fatal(err)
	}
	s = c.Stream(name)
	subject = func(i int64) string { return name + "." + strconv.FormatInt(i%1024, 10) }
	for i := range int64(1024) {
		if _, err := s.Publish(b.Context(), jet.Publish{Msg: jet.Msg{Subject: subject(i), Data: make([]byte, 300)}}); err != nil {
			b.Fatal(err)
		}
	}
	return c, s, subject
}

// parallel runs do by that many callers, with a number that counts all calls.
func parallel(b *testing.B, callers int, do func(i int64) error) {
	var calls atomic.Int64
	b.SetParallelism(callers / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	defer reportCPU(b)()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(calls.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// reportCPU reports the processor time of client and server together, which is
// steadier than the time that passes on a machine that does other things too.
func reportCPU(b *testing.B) (stop func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/float64(b.N), "cpu-µs/op") }
}

// BenchmarkPublish compares the ways to publish with the one that jet takes.
func BenchmarkPublish(b *testing.B) {
	for _, callers := range []int{2, 64, 256} {
		for _, way := range []struct {
			name string
			do   func(c *jet.Conn, s jet.Stream) func(ctx context.Context, subject string) error
		}{
			{"jet", func(_ *jet.Conn, s jet.Stream) func(context.Context, string) error {
				return func(ctx context.Context, subject string) error {
					_, err := s.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: subject, Data: make([]byte, 300)}})
					return err
				}
			}},
			{"PublishMsg", func(c *jet.Conn, _ jet.Stream) func(context.Context, string) error {
				return func(ctx context.Context, subject string) error {
					_, err := c.JetStream().PublishMsg(ctx, &nats.Msg{Subject: subject, Data: make([]byte, 300)})
					return err
				}
			}},
			{"PublishMsgAsync", func(c *jet.Conn, _ jet.Stream) func(context.Context, string) error {
				return func(ctx context.Context, subject string) error {
					f, err := c.JetStream().PublishMsgAsync(&nats.Msg{Subject: subject, Data: make([]byte, 300)})
					if err != nil {
						return err
					}
					select {
					case <-f.Ok():
						return nil
					case err := <-f.Err():
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, callers), func(b *testing.B) {
				c, s, subject := benchStream(b)
				do := way.do(c, s)
				parallel(b, callers, func(i int64) error { return do(b.Context(), subject(i)) })
			})
		}
	}
}

func BenchmarkReads(b *testing.B) {
	c, s, subject := benchStream(b)
	for name, do := range map[string]func(i int64) error{
		"Last":     func(i int64) error { _, err := s.Last(b.Context(), subject(i)); return err },
		"RangeOf1": func(i int64) error { _, err := s.Range(b.Context(), subject(i), 1, 32); return err },
		"RangeOf0": func(i int64) error { _, err := s.Range(b.Context(), subject(i), 2000, 32); return err },
		"GetDirect": func(i int64) error {
			_, err := c.NATS().RequestWithContext(b.Context(), "$JS.API.DIRECT.GET."+s.Name(), []byte(`{"next_by_subj":"`+subject(i)+`"}`))
			return err
		},
	} {
		b.Run(name+"/64", func(b *testing.B) { parallel(b, 64, do) })
	}
}

// BenchmarkPull pulls by batches of 64 and acknowledges each message.
func BenchmarkPull(b *testing.B) {
	_, s, subject := benchStream(b)
	for i := range int64(b.N) {
		if i >= 1024 {
			if _, err := s.Publish(b.Context(), jet.Publish{Msg: jet.Msg{Subject: subject(i), Data: make([]byte, 300)}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	c, err := s.Consumer(b.Context(), jet.ConsumerConfig{Name: "c", HeadersOnly: true, AckWait: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	defer reportCPU(b)()
	b.ResetTimer()
	for left := min(b.N, 1<<30); left > 0; {
		if err := c.Pull(b.Context(), min(left, 64), time.Second, func(d jet.Delivery) { left--; _ = d.Ack() }); err != nil {
			b.Fatal(err)
		}
	}
}
