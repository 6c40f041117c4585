package main

import (
	"strings"
	"testing"
)

// Whoever asks this program about flows is told which one knows them.
func TestFlowsAreOfABotsOwnProgram(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"flows"}, {"flows", "lock"}, {"flows", "diff", "my.lock"}} {
		code, out, errs := finished(t, nil, args...)
		if code != 2 || out != "" || !strings.Contains(errs, "go run ./cmd/mybot flows lock") {
			t.Errorf("%v: got exit code %d, %q and %q, want 2 and how to do it", args, code, out, errs)
		}
	}
}
