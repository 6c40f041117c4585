package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A bug is planted where the code still reads as it did when it was written down.
func TestEveryBugHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, b := range bugs() {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", b.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), b.old); n != 1 {
			t.Errorf("%s, %s: got %q %d times in %s, want once", b.rule, b.why, b.old, n, b.file)
		}
		if b.elsewhere != "" && b.unseen == "" {
			t.Errorf("%s, %s: got no reason why the simulation does not see it, want one", b.rule, b.why)
		}
	}
}
