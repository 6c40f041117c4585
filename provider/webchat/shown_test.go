package webchat

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// A message is changed in its place however often, whichever of its ids is named, and others stay
// where they are.
func TestPageShowsEditsInTheirPlace(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here, which runs the page's script")
	}
	c := newTestChat(t, Config{})
	said := func(id, text, edits string) event {
		return c.event(botmesh.Letter{Parts: []botmesh.Part{{ID: id, Send: botmesh.Send{Text: text, Edits: edits}}}})
	}
	for name, test := range map[string]struct {
		events []event
		want   []string
	}{
		"Once":        {[]event{said("a", "0 of 2", ""), said("x", "other", ""), said("b", "1 of 2", "a")}, []string{"Bot: 1 of 2", "Bot: other"}},
		"OfTheFirst":  {[]event{said("a", "0 of 2", ""), said("x", "other", ""), said("b", "1 of 2", "a"), said("c", "2 of 2", "a")}, []string{"Bot: 2 of 2", "Bot: other"}},
		"OfTheLast":   {[]event{said("a", "0 of 2", ""), said("b", "1 of 2", "a"), said("x", "other", ""), said("c", "2 of 2", "b")}, []string{"Bot: 2 of 2", "Bot: other"}},
		"OfBoth":      {[]event{said("a", "0", ""), said("b", "1", "a"), said("c", "2", "b"), said("d", "3", "a"), said("e", "4", "c")}, []string{"Bot: 4"}},
		"NotSeenHere": {[]event{said("x", "other", ""), said("b", "1 of 2", "a"), said("c", "2 of 2", "a")}, []string{"Bot: other", "Bot: 2 of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := json.Marshal(test.events)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), node, "testdata/shown.mjs")
			var wrong bytes.Buffer
			cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &wrong
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("got %v: %s", err, wrong.String())
			}
			var got []string
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("bubbles (-want +got):\n%s", diff)
			}
		})
	}
}
