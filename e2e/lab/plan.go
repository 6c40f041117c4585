package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Plan is what will be done in a run of faults, made before it starts. The same
// options and the same seed make the same plan; when exactly things happen is up to
// the machine.
type Plan struct {
	Seed    uint64        `json:"seed"`
	Length  time.Duration `json:"length"`
	Lease   time.Duration `json:"lease"`
	Nodes   int           `json:"nodes"`
	Ingress int           `json:"ingress"`
	Workers int           `json:"workers"`
	Load    Load          `json:"load"`
	// Tracks run beside each other, the faults of one track one after the other.
	Tracks map[string][]Fault `json:"tracks"`
}

// Fault is one fault of a plan.
type Fault struct {
	Kind string `json:"kind"`
	// Pause is waited before it, counted from the end of the one before.
	Pause time.Duration `json:"pause"`
	// Length is how long it lasts, where that is for us to say.
	Length time.Duration `json:"length"`
	// Pick chooses what it befalls, among what there is.
	Pick uint64 `json:"pick"`
}

// kind is a sort of fault.
type kind struct {
	name   string
	track  string
	leases float64       // its length, in leases
	length time.Duration // or by the clock
	inject injector
}

// long is the length of a fault under a lease.
func (k kind) long(lease time.Duration) time.Duration {
	return k.length + time.Duration(k.leases*float64(lease))
}

// maxPause bounds the calm between two faults of a track.
const maxPause = 1500 * time.Millisecond

// newPlan fills each track with every kind of fault in a random order, again and
// again until the length is used up. The first round is done in any case, however
// slow the machine.
func newPlan(p Plan) Plan {
	r := rand.New(rand.NewPCG(p.Seed, 0))
	p.Tracks = map[string][]Fault{}
	for _, track := range tracks() {
		var used time.Duration
		for round := 0; round == 0 || used < p.Length; round++ {
			of := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.track != track })
			r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			for _, k := range of {
				f := Fault{Kind: k.name, Pause: time.Duration(r.Int64N(int64(maxPause))), Length: k.long(p.Lease), Pick: r.Uint64()}
				if round > 0 && used > p.Length {
					break
				}
				used += f.Pause + f.Length
				p.Tracks[track] = append(p.Tracks[track], f)
			}
		}
	}
	return p
}

// round is how many faults of a track have each kind once.
func round(track string) (n int) {
	for _, k := range kinds {
		if k.track == track {
			n++
		}
	}
	return n
}

// tracks are the names of the tracks, in the order of the table.
func tracks() (names []string) {
	for _, k := range kinds {
		if !slices.Contains(names, k.track) {
			names = append(names, k.track)
		}
	}
	return names
}

func (p Plan) save(dir string) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("lab: the plan: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plan.json"), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("lab: the plan: %w", err)
	}
	return nil
}

func kindOf(name string) kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	return kinds[i]
}
