package main

import (
	"strings"
	"testing"
)

// Whoever asks this program about flows is told which one knows them.
func TestFlowsAreOfABotsOwnProgram(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"flows": 0, "flows -o json": 0, "flows lock": 2, "flows diff my.lock": 2} {
		code, out, errs := finished(t, nil, strings.Fields(args)...)
		if code != want || !strings.Contains(out+errs, "go run ./cmd/mybot flows lock") {
			t.Errorf("%v: got exit code %d, %q and %q, want %d and how to do it", args, code, out, errs, want)
		}
	}
}
