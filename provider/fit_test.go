package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// starred is how long a send is in bytes with two stars for each of its spans.
func starred(s botmesh.Send) int { return len(s.Text) + 2*len(s.Spans) }

func TestSplitStyled(t *testing.T) {
	t.Parallel()
	spans := func(pairs ...int) (all []botmesh.Span) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, botmesh.Span{From: pairs[i], To: pairs[i+1], Style: botmesh.StyleBold})
		}
		return all
	}
	for name, c := range map[string]struct {
		text  string
		spans []botmesh.Span
		last  int
		want  []string
	}{
		"no spans":        {"one two three", nil, 12, []string{"one two", "three"}},
		"fits":            {"  one two", spans(2, 5), 12, []string{"  one two"}},
		"over by spans":   {"one two 3 4", spans(0, 3), 12, []string{"one two 3", "4"}},
		"at a line":       {"one two\n3 4 5", spans(0, 3, 8, 9), 12, []string{"one two", "3 4 5"}},
		"shorter at last": {"one two", spans(0, 3), 8, []string{"one", "two"}},
		"spans before it": {"a b cdef g", spans(0, 1, 2, 3, 4, 8), 8, []string{"a b", "cdef g"}},
		"too many spans":  {"abc", spans(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1), 12, []string{"abc"}},
		"too many later":  {"abc def", spans(4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5), 12, []string{"abc", "def"}},
		"only space":      {strings.Repeat(" ", 13), spans(0, 3), 12, []string{""}},
		"one character":   {"é", spans(0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2), 12, []string{"é"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := provider.Splitter{Unit: provider.Bytes, Max: 12}
			if diff := cmp.Diff(c.want, s.SplitStyled(botmesh.Send{Text: c.text, Spans: c.spans}, c.last, starred)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// Each part is as long as the platform takes with the spans that Split gives it in the end,
// and nothing is lost.
func TestSplitStyledFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		send := drawStyled(t)
		limit := rapid.IntRange(16, 40).Draw(t, "limit")
		last := rapid.IntRange(16, limit).Draw(t, "last")
		split := func(s botmesh.Send) []botmesh.Send {
			return provider.Parts(provider.Splitter{Unit: provider.Bytes, Max: limit}.SplitStyled(s, last, starred), nil)
		}
		parts, err := provider.Split(styled{split: split, styles: "bold italic strike"}, send)
		if err != nil {
			t.Fatal(err)
		}
		var got []provider.Run
		for i, p := range parts {
			most := limit
			if i == len(parts)-1 {
				most = last
			}
			if starred(p) > most {
				t.Fatalf("part %d of %d: got %d bytes for %q, want at most %d", i, len(parts), starred(p), p.Text, most)
			}
			got = append(got, provider.Runs(p)...)
		}
		if diff := cmp.Diff(letters(provider.Runs(send)), letters(got)); diff != "" {
			t.Fatalf("styles of characters (-whole +parts):\n%s", diff)
		}
	})
}

func TestPlain(t *testing.T) {
	t.Parallel()
	got := provider.Plain(botmesh.Send{Text: "a b", Spans: []botmesh.Span{{To: 1, Style: botmesh.StyleLink, URL: "tel:1"}, {To: 3, Style: botmesh.StyleBold}}})
	if diff := cmp.Diff(botmesh.Send{Text: "a (tel:1) b"}, got); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
}
