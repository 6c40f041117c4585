package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/proc"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const (
	token  = "700:bench-token"
	secret = "bench-secret"
)

// workload is what the chats do. Each has at most one message unanswered.
type workload struct {
	name  string
	chats int
	rate  int // messages a second of all chats together, zero for as fast as they go
}

// result is one measurement.
type result struct {
	rate          float64                  // replies a second
	p50, p95, p99 time.Duration            // from the webhook's post to the provider call
	cpu           map[string]time.Duration // of each part, for each reply
	driver        time.Duration            // what load and platform took, for each reply
	peak          map[string]int64         // of each part, bytes
}

// parts are what a process belongs to, in the order of the report.
var parts = []string{"ingress", "worker", "nats", "redis"}

func partOf(c *proc.Child) string {
	for _, p := range parts {
		if strings.HasPrefix(c.Name(), p) {
			return p
		}
	}
	panic("unknown process " + c.Name())
}

// measure runs a system under a workload: first to warm up, then for o.span.
func measure(ctx context.Context, s system, w workload, o options, dir string) (result, error) {
	p, err := platform.Start(platform.Config{API: telegramtest.New(token), Token: token, Secret: secret})
	if err != nil {
		return result{}, err
	}
	defer p.Close()
	f, err := fleet.New(fleet.Config{Programs: s.Programs, Platform: p, Dir: dir, Ingress: o.ingress, Workers: o.workers})
	if err != nil {
		return result{}, err
	}
	defer f.Stop()
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := f.Start(ready); err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, f.Logs())
	}

	d := newDrive(p, f, w)
	stop := d.start(ctx)
	defer stop()
	if err := pause(ctx, o.span/3); err != nil {
		return result{}, err
	}
	before, from := usage(f), p.Now()
	if err := pause(ctx, o.span); err != nil {
		return result{}, err
	}
	after, to := usage(f), p.Now()
	if err := stop(); err != nil {
		return result{}, fmt.Errorf("%w\n%s", err, f.Logs())
	}
	return summarize(p.Calls(), d.posted, from, to, before, after)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// driver is the part that is this process: the load and the platform.
const driver = "driver"

// usage sums up what the processes of each part have cost, and this one.
func usage(f *fleet.Fleet) map[string]proc.Usage {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		panic(err) // it has no other way to fail
	}
	sum := map[string]proc.Usage{driver: {CPU: time.Duration(self.Utime.Nano() + self.Stime.Nano())}}
	for _, c := range f.Children() {
		u, err := c.Usage()
		if err != nil {
			continue // it has ended, which the load finds out
		}
		part := partOf(c)
		sum[part] = proc.Usage{CPU: sum[part].CPU + u.CPU, Peak: sum[part].Peak + u.Peak}
	}
	return sum
}

// drive is a workload on its way.
type drive struct {
	p *platform.Platform
	f *fleet.Fleet
	w workload

	mu     sync.Mutex
	posted map[string][]time.Duration // when each chat's messages were, in order
}

func newDrive(p *platform.Platform, f *fleet.Fleet, w workload) *drive {
	return &drive{p: p, f: f, w: w, posted: map[string][]time.Duration{}}
}

// start sets the chats going. The returned function stops them, waits for the
// messages that are out, and says what failed.
func (d *drive) start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var ended atomic.Bool
	var group sync.WaitGroup
	for i := range d.w.chats {
		group.Go(func() {
			if err := d.chat(ctx, int64(1000+i), &ended); err != nil {
				cancel(err)
			}
		})
	}
	return sync.OnceValue(func() error {
		ended.Store(true)
		late := time.AfterFunc(20*time.Second, func() { cancel(fmt.Errorf("replies are missing")) })
		defer late.Stop()
		group.Wait()
		err := context.Cause(ctx)
		cancel(nil)
		return err
	})
}

// chat says /count, waits for the reply, and at a given rate for its next time.
func (d *drive) chat(ctx context.Context, id int64, ended *atomic.Bool) error {
	var every time.Duration
	if d.w.rate > 0 {
		every = time.Second * time.Duration(d.w.chats) / time.Duration(d.w.rate)
		if err := pause(ctx, every*time.Duration(id%int64(d.w.chats))/time.Duration(d.w.chats)); err != nil {
			return err
		}
	}
	next := time.Now()
	for n := 1; !ended.Load(); n++ {
		d.note(id)
		if err := d.p.Say(ctx, d.f.URLs(), id, "/count"); err != nil {
			return err
		}
		if err := d.p.Await(ctx, id, func(texts []string) bool { return len(texts) >= n }); err != nil {
			return err
		}
		next = next.Add(every)
		if wait := time.Until(next); wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *drive) note(id int64) {
	chat := strconv.FormatInt(id, 10)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.posted[chat] = append(d.posted[chat], d.p.Now())
}

// summarize makes a result of what the platform saw between two times. A reply that
// is missing, out of order or doubled fails the measurement.
func summarize(calls []check.Call, posted map[string][]time.Duration, from, to time.Duration, before, after map[string]proc.Usage) (result, error) {
	want := map[string][]string{}
	for chat, times := range posted {
		want[chat] = check.Counts(len(times))
	}
	if _, err := check.Replies(check.History{Calls: calls}, want); err != nil {
		return result{}, err
	}
	var times []time.Duration
	seen := map[string]int{}
	for _, c := range calls {
		at := posted[c.Chat][seen[c.Chat]]
		seen[c.Chat]++
		if c.At >= from && c.At < to {
			times = append(times, c.At-at)
		}
	}
	if len(times) == 0 {
		return result{}, fmt.Errorf("no replies")
	}
	slices.Sort(times)
	percentile := func(p int) time.Duration { return times[(len(times)-1)*p/100] }
	r := result{
		rate: float64(len(times)) / (to - from).Seconds(),
		p50:  percentile(50), p95: percentile(95), p99: percentile(99),
		cpu: map[string]time.Duration{}, peak: map[string]int64{},
		driver: (after[driver].CPU - before[driver].CPU) / time.Duration(len(times)),
	}
	for _, part := range parts {
		r.cpu[part] = (after[part].CPU - before[part].CPU) / time.Duration(len(times))
		r.peak[part] = after[part].Peak
	}
	return r, nil
}
