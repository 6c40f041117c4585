package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/e2e/probe"
)

func planOf(seed uint64, length time.Duration) Plan {
	return newPlan(Plan{Seed: seed, Length: length, Lease: 3 * time.Second})
}

func TestPlanIsTheSeeds(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(planOf(7, time.Minute), planOf(7, time.Minute)); diff != "" {
		t.Errorf("two plans of one seed differ:\n%s", diff)
	}
	if cmp.Equal(planOf(7, time.Minute), planOf(8, time.Minute)) {
		t.Error("got one plan from two seeds")
	}
}

// However short a run is, no kind of fault is left out, and those that come first
// are one of each.
func TestPlanHasEveryKindFirst(t *testing.T) {
	t.Parallel()
	for _, length := range []time.Duration{time.Second, 10 * time.Minute} {
		p := planOf(7, length)
		for _, name := range tracks() {
			faults := p.Tracks[name]
			var first, want []string
			for _, f := range faults[:round(name)] {
				first = append(first, f.Kind)
			}
			for _, k := range kinds {
				if k.track == name {
					want = append(want, k.name)
				}
			}
			slices.Sort(first)
			slices.Sort(want)
			if diff := cmp.Diff(want, first); diff != "" {
				t.Errorf("%v, first round of %s (-want +got):\n%s", length, name, diff)
			}
			if more := len(faults) > round(name); more != (length > time.Minute) {
				t.Errorf("%v: got %d faults of %s, want more than a round only in a long run", length, len(faults), name)
			}
		}
	}
}

func TestLengthsAreOfTheLease(t *testing.T) {
	t.Parallel()
	if got := kindOf("freeze worker 1.5").long(2 * time.Second); got != 3*time.Second {
		t.Errorf("got %v, want 3s", got)
	}
	if got := kindOf("nats cluster killed").long(2 * time.Second); got != time.Second {
		t.Errorf("got %v, want 1s", got)
	}
}

func TestUsersSayWhatTheSeedDecides(t *testing.T) {
	t.Parallel()
	said := func(seed uint64) (all []string) {
		r := rand.New(rand.NewPCG(seed, 3))
		for n := range 100 {
			a := next(r, 3, n)
			all = append(all, append(a.texts, a.sent)...)
		}
		return all
	}
	if diff := cmp.Diff(said(1), said(1)); diff != "" {
		t.Errorf("one seed said two things:\n%s", diff)
	}
	if cmp.Equal(said(1), said(2)) {
		t.Error("two seeds said the same")
	}
}

// A point without a case would never be seen to fire.
func TestSweepHasEveryPoint(t *testing.T) {
	t.Parallel()
	all := crashes("", true)
	if want := 2 * len(probe.Points()); len(all) != want {
		t.Errorf("got %d cases, want %d", len(all), want)
	}
	for _, p := range probe.Points() {
		if !slices.Contains(crashes("", false), crash{p, probe.Kill}) {
			t.Errorf("%s is never killed", p.Name)
		}
	}
	if got := crashes("commit.after:stop", false); len(got) != 1 || got[0].action != probe.Stop {
		t.Errorf("got %v, want the one case that was named", got)
	}
}
