package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// However many spans cover a character, its part has one of each style at most, and it is shown
// as with all of them.
func TestSplitJoinsSpans(t *testing.T) {
	t.Parallel()
	const text = "one two three four"
	styles := []botmesh.Style{botmesh.StyleBold, botmesh.StyleItalic, botmesh.StyleLink}
	rapid.Check(t, func(t *rapid.T) {
		send := botmesh.Send{Text: text}
		for range rapid.IntRange(0, 12).Draw(t, "spans") {
			from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
			span := botmesh.Span{From: from, To: rapid.IntRange(from+1, len(text)).Draw(t, "to"), Style: rapid.SampledFrom(styles).Draw(t, "style")}
			if span.Style == botmesh.StyleLink {
				span.URL = fmt.Sprint("tel:", rapid.IntRange(1, 3).Draw(t, "to whom"))
			}
			send.Spans = append(send.Spans, span)
		}
		given := slices.Clone(send.Spans)
		parts, err := provider.Split(styled{split: upTo(8), styles: "bold italic link"}, send)
		if err != nil {
			t.Fatal(err)
		}
		var got []provider.Run
		for _, p := range parts {
			for i := range p.Text {
				seen := map[botmesh.Style]bool{}
				for _, s := range p.Spans {
					if s.From <= i && i < s.To {
						if seen[s.Style] {
							t.Fatalf("got %v of %q, want one span of a style at each place", p.Spans, p.Text)
						}
						seen[s.Style] = true
					}
				}
			}
			got = append(got, provider.Runs(p)...)
		}
		send.Spans = given
		if diff := cmp.Diff(letters(provider.Runs(send)), letters(got)); diff != "" {
			t.Fatalf("styles of characters (-whole +parts):\n%s", diff)
		}
	})
}

// Links that lie within each other, each to somewhere else, are cut into no more spans than a
// send may have.
func TestSplitBoundsLinks(t *testing.T) {
	t.Parallel()
	const n = botmesh.MaxSpans
	send := botmesh.Send{Text: strings.Repeat("a", 2*n)}
	for i := range n {
		send.Spans = append(send.Spans, botmesh.Span{From: i, To: 2*n - i, Style: botmesh.StyleLink, URL: fmt.Sprint("tel:", i)})
	}
	parts, err := provider.Split(styled{split: upTo(2 * n), styles: "link"}, send)
	if err != nil || len(parts) != 1 {
		t.Fatalf("got %d parts and %v, want one", len(parts), err)
	}
	if err := parts[0].Validate(); err != nil {
		t.Error(err)
	}
}
