//go:debug randseednop=0
package sim

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

var (
	seeds = flag.Int("seeds", defaultSeeds, "how many schedules to try")
	from  = flag.Uint64("from", 1, "the first schedule")
	seed  = flag.Uint64("seed", 0, "the only schedule to try, with its trace")
	hunt  = flag.Bool("hunt", false, "only say which schedule breaks a rule first, and which rule")
	faith = flag.String("only", "", "numbers of the faults of the schedule that happen, all if empty")
)

// A schedule has one goroutine that runs at a time: more processors only make it
// slower.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// result is what came of a schedule.
type result struct {
	failures []failure
	trace    []string
	digest   uint64
	faults   int
	steps    int
	stats    map[string]int
	rested   time.Duration
}

// play plays one schedule. All that is random comes from its seed, also the nonces
// and the pauses of the rooms.
func play(t *testing.T, seed uint64, only map[int]bool, verbose bool) (r result) {
	cryptotest.SetGlobalRandom(t, seed)
	rand.Seed(int64(seed)) //lint:ignore SA1019 the pauses between tries come from the global source
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed, only, verbose)
		s.run()
		r = result{s.judge.failures, s.trace, s.digest.Sum64(), s.faults, s.steps, s.stats, s.rested}
	})
	return r
}

// TestSimulation plays one schedule after the other: what is random is the process's,
// so that no two can be played at once.
//
// SPEC: J2 J4 J5 J6 J8 T6 T14 O1 O2 O3 O4 O7 C1 C5 C6. DESIGN: I1 I2 I3 I4 I5 I6 I7 I9 I10.
// DESIGN: N3 N4 N5 N6 N7 N10 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 D1 D2 D3 D4 D5 D7.
// HOLE: H1 H2 H3 H4 H5 H6 H8 H9 H10 H12 H14 H15 H27 H28.
func TestSimulation(t *testing.T) {
	if *seed > 0 {
		for _, f := range play(t, *seed, numbers(t, *faith), true).failures {
			t.Error(f)
		}
		return
	}
	if *hunt {
		for n := range uint64(*seeds) {
			fmt.Println("play", *from+n)
			if f := play(t, *from+n, nil, false).failures; len(f) > 0 {
				t.Fatalf("broken: %v", f[0])
			}
		}
		return
	}
	sum, began, steps, longest := map[string]int{}, time.Now(), 0, time.Duration(0)
	for n := range uint64(*seeds) {
		r := play(t, *from+n, nil, false)
		if len(r.failures) > 0 {
			t.Fatal(account(t, *from+n, r))
		}
		for what, n := range r.stats {
			sum[what] += n
		}
		steps, longest = steps+r.steps, max(longest, r.rested)
	}
	took := time.Since(began)
	t.Logf("%d schedules of %d steps in %v, %.0f a second; at rest %v after the last fault at the latest",
		*seeds, steps / *seeds, took.Round(time.Millisecond), float64(*seeds)/took.Seconds(), longest)
	for _, what := range slices.Sorted(maps.Keys(sum)) {
		t.Logf("%8d %s", sum[what], what)
	}
	if *seeds >= 1000 {
		wantAll(t, sum)
	}
}

// wantAll fails if something that may happen did not: such a run proves nothing.
func wantAll(t *testing.T, sum map[string]int) {
	for _, what := range []string{
		"read refuse", "write refuse", "write drop", "write lose", "write late", "swap refuse", "swap drop", "swap lose", "swap late", "swap lie",
		"call drop", "call lose", "call later", "call never", "edit", "turn drop", "lag", "mark lost", "redelivery",
		"kill", "freeze", "drain", "forget", "amnesia", "liar", "release lost", "remove", "new journal", "new outbox",
		"conflict CP", "conflict OUTBOX", "take-over", "unknown, settled as done", "unknown, settled as lost", "claim from another", "doubled in doubt",
		"receipt delivered", "receipt permanent", "receipt held", "died of a record", "suspect alone", "convicted", "applied", "told", "told by another chat",
	} {
		if sum[what] == 0 {
			t.Errorf("got no schedule with %q, want one", what)
		}
	}
}

// TestReplay plays schedules twice: the same seed is the same run, to the letter.
func TestReplay(t *testing.T) {
	for n := range uint64(max(1, *seeds/20)) {
		a, b := play(t, *from+n, nil, false), play(t, *from+n, nil, false)
		if a.digest == b.digest {
			continue
		}
		i := 0
		for i < min(len(a.trace), len(b.trace)) && a.trace[i] == b.trace[i] {
			i++
		}
		t.Errorf("seed %d differs from itself at line %d:\n%s\n-%s\n+%s", *from+n, i, strings.Join(a.trace[max(0, i-12):i], "\n"),
			strings.Join(a.trace[i:min(i+3, len(a.trace))], "\n-"), strings.Join(b.trace[i:min(i+3, len(b.trace))], "\n+"))
	}
}

func numbers(t *testing.T, list string) map[int]bool {
	if list == "" {
		return nil
	}
	of := map[int]bool{}
	for n := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		of[i] = true
	}
	return of
}
