package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the command's.
type options struct {
	length  time.Duration
	chats   int
	rate    float64
	seed    uint64
	lease   time.Duration
	workers int
	ingress int
	only    string
	out     string
	keep    bool
	judge   string
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if o.judge != "" {
		do = func(context.Context, options) error { return judgeAgain(o.judge) }
	}
	if err := do(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "lab: failed\n%v\n", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("lab", flag.ContinueOnError)
	f.DurationVar(&o.length, "for", 30*time.Second, "how long faults are done; each kind is done once at least")
	f.IntVar(&o.chats, "chats", 64, "chats that talk during the faults")
	f.Float64Var(&o.rate, "rate", 20, "messages a second, all chats together")
	f.Uint64Var(&o.seed, "seed", 0, "decides plan and load; 0 takes the commit's, or a random one where changes are not committed")
	f.DurationVar(&o.lease, "lease", 3*time.Second, "BOTMESH_LEASE during the faults")
	f.IntVar(&o.workers, "workers", 3, "worker processes")
	f.IntVar(&o.ingress, "ingress", 2, "ingress processes")
	f.StringVar(&o.only, "only", "", "one part alone: chaos, crash[=<point>[:kill|:stop]], poison or blind")
	f.StringVar(&o.out, "out", "", "where logs, histories and dumps go; a temporary directory that a good run removes if not set")
	f.BoolVar(&o.keep, "keep", false, "keep that directory after a good run, too")
	f.StringVar(&o.judge, "judge", "", "judge again what a run left in a directory, with today's checks, and run nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	part, _, _ := strings.Cut(o.only, "=")
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("lab: unexpected %q", f.Args())
	case o.only != "" && part != "chaos" && part != "crash" && part != "poison" && part != "blind":
		return o, fmt.Errorf("lab: -only %s: want chaos, crash, poison or blind", o.only)
	case o.length <= 0 || o.chats < 8 || o.rate <= 0 || o.lease < time.Second || o.workers < 2 || o.ingress < 2:
		return o, errors.New("lab: want a length, 8 chats, a rate, a lease of 1s, 2 workers and 2 ingresses at least")
	}
	if o.seed == 0 {
		o.seed = seed()
	}
	return o, nil
}

// seed is the commit's, so that another run of a commit repeats its plan.
func seed() uint64 {
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil || exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
		return 1 + rand.Uint64N(1_000_000)
	}
	h := fnv.New32a()
	h.Write(commit)
	return 1 + uint64(h.Sum32())%1_000_000
}

// run runs the parts, keeps the artefacts of a failure and says where they are.
func run(ctx context.Context, o options) (err error) {
	made := o.out == ""
	if o.out, err = directory(o.out); err != nil {
		return err
	}
	fmt.Printf("lab: seed %d, artefacts in %s\n", o.seed, o.out)
	began := time.Now()
	err = parts(ctx, o)
	fmt.Printf("\nlab: %v in all\n", time.Since(began).Round(time.Second))
	switch {
	case err != nil:
		fmt.Printf("lab: logs, histories and dumps are in %s\nlab: again with: %s\n", o.out, o.again())
	case made && !o.keep:
		return os.RemoveAll(o.out)
	}
	return err
}

// directory makes the directory of a run, a temporary one if it has no name. What an
// earlier run left would be taken for this one's.
func directory(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "botmesh-lab-")
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return "", err
	}
	if left, err := os.ReadDir(name); err != nil || len(left) > 0 {
		return "", errors.Join(fmt.Errorf("lab: -out %s: not empty", name), err)
	}
	return name, nil
}

// again is the command that repeats the plan.
func (o options) again() string {
	cmd := fmt.Sprintf("go run ./e2e/lab -seed %d -for %v -chats %d -rate %g -lease %v -workers %d -ingress %d",
		o.seed, o.length, o.chats, o.rate, o.lease, o.workers, o.ingress)
	if o.only != "" {
		cmd += " -only " + o.only
	}
	return cmd
}
