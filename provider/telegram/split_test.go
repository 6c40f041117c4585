package telegram

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// SPEC: O8
func TestSplit(t *testing.T) {
	t.Parallel()
	buttons := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	long := strings.Repeat("a ", MaxText)
	parts := newSender(t, "http://127.0.0.1:1").Split(botmesh.Send{Text: long, Buttons: buttons})
	if len(parts) != 2 {
		t.Fatalf("got %d parts, want 2", len(parts))
	}
	if parts[0].Buttons != nil || cmp.Diff(buttons, parts[1].Buttons) != "" {
		t.Errorf("got buttons %v and %v, want them below the last part", parts[0].Buttons, parts[1].Buttons)
	}
	if n := splitter.Unit.Len(parts[0].Text); n < MaxText-2 || n > MaxText {
		t.Errorf("got a first part of %d units, want it filled", n)
	}
}
