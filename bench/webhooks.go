package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/proc"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// budget is what verifying and storing a webhook may take, of 99 in 100.
const budget = 50 * time.Millisecond

// webhookChats is how many chats the webhooks are of.
const webhookChats = 1000

// answers is what came of webhooks that were posted at a rate, whoever answers how
// fast. Each time counts from when its webhook was due, so that one that had to wait
// for the driver is no faster for it.
type answers struct {
	took    []time.Duration // of those that were taken, sorted
	refused int             // 503
	cpu     map[string]time.Duration
	load    string // of the machine, before and after
}

func (a answers) percentile(p int) time.Duration { return a.took[(len(a.took)-1)*p/100] }

// webhooks posts to the ingress alone, no worker runs, and reports how long it took
// to answer: it verifies, parses and stores each webhook, where the bare loop only
// parses and publishes it. The error is errOver if that is not within the budget.
func webhooks(ctx context.Context, out io.Writer, o options, systems []system, dir string) error {
	if o.webhooks == 0 {
		return nil
	}
	results := make([][]answers, len(systems))
	for round := range o.rounds {
		for i, s := range systems {
			a, err := post(ctx, s, o, filepath.Join(dir, fmt.Sprintf("webhooks-%s-%d", s.name, round)))
			if err != nil {
				return fmt.Errorf("%s, webhooks: %w", s.name, err)
			}
			results[i] = append(results[i], a)
		}
	}
	return reportWebhooks(out, o.webhooks, systems, results)
}

func post(ctx context.Context, s system, o options, dir string) (answers, error) {
	p, err := platform.Start(platform.Config{API: telegramtest.New(token), Token: token, Secret: secret})
	if err != nil {
		return answers{}, err
	}
	defer p.Close()
	f, err := fleet.New(fleet.Config{Programs: s.Programs, Platform: p, Dir: dir, Ingress: o.ingress})
	if err != nil {
		return answers{}, err
	}
	defer f.Stop()
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := f.Start(ready); err != nil {
		return answers{}, fmt.Errorf("%w\n%s", err, f.Logs())
	}
	if _, err := postAll(ctx, p, f.URLs(), o.webhooks, o.span/3); err != nil { // to warm up
		return answers{}, err
	}
	before, load := usage(f), loadavg()
	a, err := postAll(ctx, p, f.URLs(), o.webhooks, o.span)
	if err != nil {
		return answers{}, fmt.Errorf("%w\n%s", err, f.Logs())
	}
	a.load = load + " to " + loadavg()
	a.cpu = costOf(before, usage(f), len(a.took))
	return a, nil
}

// costOf is what each part has cost for each of n.
func costOf(before, after map[string]proc.Usage, n int) map[string]time.Duration {
	cost := map[string]time.Duration{}
	for part, u := range after {
		cost[part] = (u.CPU - before[part].CPU) / time.Duration(n)
	}
	return cost
}

// postAll posts rate webhooks a second for a time, each when it is due.
func postAll(ctx context.Context, p *platform.Platform, urls []string, rate int, span time.Duration) (answers, error) {
	var (
		mu   sync.Mutex
		a    answers
		errs []error
		wg   sync.WaitGroup
	)
	n, begin := int(span.Seconds()*float64(rate)), time.Now()
	for i := range n {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if err := pause(ctx, time.Until(due)); err != nil {
			return answers{}, err
		}
		wg.Go(func() {
			got, err := p.Post(ctx, urls[i%len(urls)], p.Message(int64(1000+i%webhookChats), "hello"))
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				errs = append(errs, err)
			case got.Taken():
				a.took = append(a.took, took)
			case got.RetryAfter != "":
				a.refused++
			default:
				errs = append(errs, fmt.Errorf("%d %s", got.Status, got.Body))
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 || len(a.took) == 0 {
		return answers{}, fmt.Errorf("%d of %d webhooks failed: %w", len(errs), n, errors.Join(errs[:min(3, len(errs))]...))
	}
	slices.Sort(a.took)
	return a, nil
}

// loadavg is how many processes the machine had to run lately, on average.
func loadavg() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
