// Command bench measures what Botmesh does at its main job, beside a bare loop of
// the same engine calls in the same run: replies a second, the time from webhook
// to provider call, processor time for each reply, and peak memory; and how long
// webhooks that come at a rate wait until they are stored and answered.
//
// It fails, with 1 as its exit code, if 99 in 100 webhooks are not answered within the
// budget, of the measurement of middle p99.
//
//	go run ./bench [-for 6s] [-rounds 3] [-ingress 1] [-workers 2] [-webhooks 1000] [-replies=false]
//
// Both run as processes of their own, against a NATS server and a Redis of their
// own, and call one fake platform. The load and the platform share the machine's
// processors with them and are not counted. The demo bot counts the messages of a
// chat and replies with the count.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/botmesh-go/botmesh/e2e/proc"
)

// options are the command's flags.
type options struct {
	span     time.Duration // of one measurement
	rounds   int
	ingress  int
	workers  int
	replies  bool
	webhooks int // a second
}

func main() {
	var o options
	flag.DurationVar(&o.span, "for", 6*time.Second, "how long each measurement takes")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of each row; the median counts")
	flag.IntVar(&o.ingress, "ingress", 1, "ingress processes")
	flag.IntVar(&o.workers, "workers", 2, "worker processes")
	flag.BoolVar(&o.replies, "replies", true, "measure replies")
	flag.IntVar(&o.webhooks, "webhooks", 1000, "webhooks a second at which the ingress is measured by itself, 0 for not")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errOver says that a measurement is over its budget.
var errOver = errors.New("over the budget")

// rows are what is measured.
var rows = []workload{
	{name: "64 chats, flat out", chats: 64},
	{name: "256 chats, flat out", chats: 256},
	{name: "64 chats, 50/s", chats: 64, rate: 50},
}

func run(ctx context.Context, out io.Writer, o options) error {
	dir, err := os.MkdirTemp("", "botmesh-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	systems, err := build(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d ingress and %d workers, one NATS server, one Redis; median of %d measurements of %v\n\n", o.ingress, o.workers, o.rounds, o.span)
	for _, w := range rows {
		if !o.replies {
			break
		}
		// The two take turns, so that what else the machine does befalls both.
		results := make([][]result, len(systems))
		for round := range o.rounds {
			for i, s := range systems {
				r, err := measure(ctx, s, w, o, filepath.Join(dir, fmt.Sprintf("%d-%s-%d", w.chats+w.rate, s.name, round)))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
				}
				results[i] = append(results[i], r)
			}
		}
		report(out, w, systems, results)
	}
	return webhooks(ctx, out, o, systems, dir)
}

// system is one of those that are compared.
type system struct {
	name string
	proc.Programs
}

func build(ctx context.Context, dir string) ([]system, error) {
	programs, err := proc.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	bare := filepath.Join(dir, "bare")
	if err := os.Mkdir(bare, 0o755); err != nil {
		return nil, err
	}
	if err := proc.Compile(ctx, bare, "./bench/bare/ingress", "./bench/bare/worker"); err != nil {
		return nil, err
	}
	loop := programs
	loop.Ingress, loop.Worker = filepath.Join(bare, "ingress"), filepath.Join(bare, "worker")
	return []system{{"botmesh", programs}, {"bare loop", loop}}, nil
}
