package identity

import (
	"strings"
	"testing"
)

// SPEC: D4.
func TestReplica(t *testing.T) {
	t.Parallel()
	for given, ok := range map[string]bool{
		"pod-1.bots_a:9":         true,
		strings.Repeat("x", 253): true,
		strings.Repeat("x", 254): false,
		"a b":                    false,
		"a/b":                    false,
		"a\n":                    false,
		"ä":                      false,
	} {
		got, err := Replica(given)
		if (err == nil) != ok || ok && got != given {
			t.Errorf("Replica(%q): got %q, %v, want ok %t", given, got, err, ok)
		}
	}
	first, _ := Replica("")
	second, _ := Replica("")
	if first == "" || first == second {
		t.Errorf("got %q and %q, want two random ids", first, second)
	}
}

// SPEC: D4.
func TestIncarnation(t *testing.T) {
	t.Parallel()
	first, second := Incarnation("pod-1"), Incarnation("pod-1")
	if first == second || !strings.HasPrefix(first, "pod-1/") {
		t.Errorf("got %q and %q, want two of pod-1", first, second)
	}
}
