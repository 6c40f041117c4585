package webchat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// The page gets a text and, if it has spans that are valid, its stretches; one that knows
// no stretches shows the text, also where it takes another one's place.
func TestEventHasRuns(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	bold := []botmesh.Span{{From: 4, To: 6, Style: botmesh.StyleBold}, {From: 0, To: 3, Style: botmesh.StyleLink, URL: "https://example.org/"}}
	for name, test := range map[string]struct {
		send botmesh.Send
		want string
	}{
		"spans":    {botmesh.Send{Text: "so é", Spans: []botmesh.Span{{From: 3, To: 5, Style: botmesh.StyleBold}}}, `{"id":"p","text":"so é","runs":[{"text":"so "},{"text":"é","bold":true}]}`},
		"link":     {botmesh.Send{Text: "see it", Spans: bold}, `{"id":"p","text":"see it","runs":[{"text":"see","url":"https://example.org/"},{"text":" "},{"text":"it","bold":true}]}`},
		"none":     {botmesh.Send{Text: "see it"}, `{"id":"p","text":"see it"}`},
		"too far":  {botmesh.Send{Text: "see i", Spans: bold}, `{"id":"p","text":"see i"}`},
		"bad link": {botmesh.Send{Text: "see", Spans: []botmesh.Span{{To: 3, Style: botmesh.StyleLink, URL: "javascript:alert(1)"}}}, `{"id":"p","text":"see"}`},
	} {
		e := c.event(botmesh.Letter{Parts: []botmesh.Part{{ID: "p", Send: test.send}}})
		got, err := json.Marshal(e.Parts[0])
		if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Workers and ingresses of another version: what has no spans is a text here, and what has
// styles is a text there. What has a link is not read there, see the letters' versions.
func TestRunsAmongVersions(t *testing.T) {
	t.Parallel()
	var older botmesh.Letter
	if err := json.Unmarshal([]byte(`{"id":"l","parts":[{"id":"p","send":{"text":"see it (https://example.org/)"}}]}`), &older); err != nil {
		t.Fatal(err)
	}
	if got := newTestChat(t, Config{}).event(older); len(got.Parts) != 1 || got.Parts[0].Runs != nil || !strings.HasPrefix(got.Parts[0].Text, "see it (") {
		t.Errorf("got %+v, want the text alone", got)
	}
	newer, err := json.Marshal(botmesh.Letter{Parts: []botmesh.Part{{ID: "p", Send: botmesh.Send{Text: "see it", Spans: []botmesh.Span{{To: 3, Style: botmesh.StyleBold}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var there struct {
		Parts []struct {
			Send struct {
				Text string `json:"text"`
			} `json:"send"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(newer, &there); err != nil || len(there.Parts) != 1 || there.Parts[0].Send.Text != "see it" {
		t.Errorf("got %+v, %v, want the text", there, err)
	}
}
