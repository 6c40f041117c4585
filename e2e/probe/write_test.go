package probe

import (
	"encoding/json"
	"testing"

	"github.com/botmesh-go/botmesh/checkpoint"
)

// A record whose id the chat knows moves that id behind the others.
func TestSortsOfCommits(t *testing.T) {
	t.Parallel()
	var ids checkpoint.RecentIDs
	for _, id := range []string{"a", "b", "c"} {
		ids = ids.With(id)
	}
	last := checkpoint.Checkpoint{Cursor: 3, State: json.RawMessage(`1`), Recent: ids}
	for _, test := range []struct {
		name   string
		change func(*checkpoint.Checkpoint)
		want   string
	}{
		{"an id again", func(c *checkpoint.Checkpoint) { c.Recent = ids.With("a") }, "cursor"},
		{"no id", func(*checkpoint.Checkpoint) {}, "cursor"},
		{"a new id", func(c *checkpoint.Checkpoint) { c.Recent = ids.With("d") }, "commit"},
		{"a new state", func(c *checkpoint.Checkpoint) { c.State = json.RawMessage(`2`) }, "commit"},
		{"effects", func(c *checkpoint.Checkpoint) { c.Effects = &checkpoint.Effects{} }, "commit"},
		{"a dead letter", func(c *checkpoint.Checkpoint) { c.Effects = &checkpoint.Effects{Dead: &checkpoint.Dead{}} }, "aside"},
		{"a try", func(c *checkpoint.Checkpoint) { c.Cursor, c.Tries = 3, &checkpoint.Tries{Record: 4, N: 1} }, "try"},
	} {
		next := last
		next.Cursor = 4
		test.change(&next)
		if got := sortOf(last, next); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
