package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/proc"
)

// nodes is how many NATS servers the faults are done to.
const nodes = 3

// parts builds the programs and runs what is asked for.
func parts(ctx context.Context, o options) error {
	programs, root, err := build(ctx, filepath.Join(o.out, "bin"))
	if err != nil {
		return err
	}
	part, point, _ := strings.Cut(o.only, "=")
	var errs []error
	if part == "" || part == "chaos" {
		errs = append(errs, runChaos(ctx, o, programs, root))
	}
	if part == "" || part == "crash" {
		errs = append(errs, runSweep(ctx, o, programs, point))
	}
	if part == "" || part == "poison" {
		errs = append(errs, runPoison(ctx, o, programs))
	}
	if part == "" || part == "blind" {
		errs = append(errs, runBlind(ctx, o, programs))
	}
	return errors.Join(errs...)
}

// build compiles the programs.
func build(ctx context.Context, dir string) (p proc.Programs, root string, err error) {
	began := time.Now()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return p, "", err
	}
	if root, err = proc.Root(ctx); err != nil {
		return p, "", err
	}
	if p, err = proc.BuildOf(ctx, dir, "./e2e/lab/ingress", "./e2e/lab/worker"); err != nil {
		return p, "", err
	}
	fmt.Printf("lab: programs built in %v\n", time.Since(began).Round(time.Second))
	return p, root, nil
}

func runChaos(ctx context.Context, o options, programs proc.Programs, root string) error {
	plan := newPlan(Plan{
		Seed: o.seed, Length: o.length, Lease: o.lease, Nodes: nodes, Ingress: o.ingress, Workers: o.workers,
		Load: Load{Seed: o.seed, Chats: o.chats, Rate: o.rate},
	})
	dir := filepath.Join(o.out, "chaos")
	engines, stop, err := serve(ctx, fleet.EnginesConfig{
		Programs: programs, Dir: filepath.Join(dir, "engines"), Nodes: nodes,
		JetStream: filepath.Join(root, "deploy", "nats", "cluster", "jetstream.conf"),
	})
	if err != nil {
		return err
	}
	defer stop()
	if err := plan.save(dir); err != nil {
		return err
	}
	began := time.Now()
	e, v, err := unrest(ctx, sceneConfig{
		programs: programs, engines: engines, dir: dir, bot: "lab",
		ingress: o.ingress, workers: o.workers, proxied: true, lease: o.lease,
	}, plan)
	report(os.Stdout, fmt.Sprintf("chaos: %v", time.Since(began).Round(time.Second)), dir, e, v)
	return errors.Join(err, failed("chaos", v))
}

// serve starts servers. The caller stops them.
func serve(ctx context.Context, cfg fleet.EnginesConfig) (*fleet.Engines, func(), error) {
	engines, err := fleet.NewEngines(cfg)
	if err != nil {
		return nil, nil, err
	}
	stop := func() { _ = engines.Stop() } // an error is a listener's
	starting, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the servers did not start in time"))
	defer cancel()
	if err := engines.Start(starting); err != nil {
		stop()
		return nil, nil, err
	}
	return engines, stop, nil
}

// single are the servers of the parts that need no cluster.
func single(ctx context.Context, programs proc.Programs, dir string) (*fleet.Engines, func(), error) {
	return serve(ctx, fleet.EnginesConfig{Programs: programs, Dir: filepath.Join(dir, "engines")})
}

func runSweep(ctx context.Context, o options, programs proc.Programs, only string) error {
	cases := crashes(only, o.only != "")
	if len(cases) == 0 {
		return fmt.Errorf("lab: no crash point begins with %q", only)
	}
	dir := filepath.Join(o.out, "crash")
	engines, stop, err := single(ctx, programs, dir)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	var bad []error
	held := 0
	fmt.Printf("\ncrash: %d cases\n", len(cases))
	sweep(ctx, programs, engines, dir, cases, func(r outcome) {
		switch err := r.Err(); {
		case err != nil:
			report(os.Stdout, fmt.Sprintf("crash %s: %v", r.crash, r.took.Round(100*time.Millisecond)), r.dir, r.evidence, r.verdict)
			bad = append(bad, r.err, failed("crash "+r.crash.String(), r.verdict))
		case only != "":
			held++
			report(os.Stdout, fmt.Sprintf("crash %s: %v", r.crash, r.took.Round(100*time.Millisecond)), r.dir, r.evidence, r.verdict)
		default:
			held++
			fmt.Printf("  %-22s held  %v\n", r.crash, r.took.Round(100*time.Millisecond))
		}
	})
	fmt.Printf("  %d of %d held, %v\n", held, len(cases), time.Since(began).Round(time.Second))
	return errors.Join(bad...)
}

func runPoison(ctx context.Context, o options, programs proc.Programs) error {
	dir := filepath.Join(o.out, "poison")
	engines, stop, err := single(ctx, programs, dir)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	e, v, err := poison(ctx, sceneConfig{programs: programs, engines: engines, dir: dir})
	report(os.Stdout, fmt.Sprintf("poison: %v", time.Since(began).Round(time.Second)), dir, e, v)
	return errors.Join(err, failed("poison", v))
}

// judgeAgain judges what a part of a run left in its directory.
func judgeAgain(dir string) error {
	e, v, err := judge(dir)
	if err != nil {
		return err
	}
	report(os.Stdout, dir, dir, e, v)
	return failed(dir, v)
}
