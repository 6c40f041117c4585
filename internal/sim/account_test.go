package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// account says what went wrong in a schedule, with as few faults as it takes, how it
// came to that, and how to see it again.
func account(t *testing.T, seed uint64, r result) string {
	r, only := shrink(t, seed, r)
	list := []string{}
	for _, n := range slices.Sorted(maps.Keys(only)) {
		list = append(list, fmt.Sprint(n))
	}
	if len(list) == 0 {
		list = []string{"0"} // no fault has this number
	}
	f := r.failures[0]
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d broke %v\n", seed, f)
	for _, line := range r.trace {
		if matters(line, f.chat) {
			fmt.Fprintln(&s, "  ", line)
		}
	}
	fmt.Fprintln(&s, "the end of the trace:")
	for _, line := range r.trace[max(0, len(r.trace)-40):] {
		fmt.Fprintln(&s, "  ", line)
	}
	fmt.Fprintf(&s, "see all of it: go test ./internal/sim -run TestSimulation -seed %d -only %q", seed, strings.Join(list, ","))
	return s.String()
}

// matters reports whether a line of the trace is of a chat and more than a call that
// passed, or of what befell a replica.
func matters(line, chat string) bool {
	_, what, _ := strings.Cut(line, " ")
	for _, word := range []string{"start ", "kill ", "freeze ", "drain ", "the lease ", "amnesia"} {
		if strings.HasPrefix(what, word) {
			return true
		}
	}
	return chat != "" && strings.Contains(line, chat) && !strings.HasSuffix(line, " pass")
}

// shrink leaves out faults, first many at once, for as long as the same rule breaks.
func shrink(t *testing.T, seed uint64, r result) (result, map[int]bool) {
	only := map[int]bool{}
	for n := range r.faults {
		only[n+1] = true
	}
	rule := r.failures[0].rule
	for size, tries := len(only)/2, 300; size > 0 && tries > 0; size /= 2 {
		of := slices.Sorted(maps.Keys(only))
		for chunk := range slices.Chunk(of, size) {
			fewer := maps.Clone(only)
			for _, n := range chunk {
				delete(fewer, n)
			}
			if tries--; tries < 0 {
				break
			}
			if again := play(t, seed, fewer, false); len(again.failures) > 0 && again.failures[0].rule == rule {
				r, only = again, fewer
			}
		}
	}
	return r, only
}
