package provider_test

import (
	"context"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// styled is a platform of a longest text that shows some styles.
type styled struct {
	provider.Sender
	split  func(botmesh.Send) []botmesh.Send
	styles string
}

func (s styled) ID() string                             { return "styled" }
func (s styled) Styles(span botmesh.Span) bool          { return strings.Contains(s.styles, string(span.Style)) }
func (s styled) Split(send botmesh.Send) []botmesh.Send { return s.split(send) }
func (s styled) Call(context.Context, provider.Call) (provider.Sent, error) {
	return provider.Sent{}, nil
}

// upTo cuts to at most most bytes.
func upTo(most int) func(botmesh.Send) []botmesh.Send {
	s := provider.Splitter{Unit: provider.Bytes, Max: most}
	return func(send botmesh.Send) []botmesh.Send { return provider.Parts(s.Split(send.Text), send.Buttons) }
}

// marked is a send with its spans as {b…}.
func marked(s botmesh.Send) string {
	var b strings.Builder
	for i := 0; i <= len(s.Text); i++ {
		for _, span := range s.Spans {
			if span.To == i {
				b.WriteString("}")
			}
		}
		for _, span := range s.Spans {
			if span.From == i {
				b.WriteString("{" + string(span.Style[0]))
			}
		}
		if i < len(s.Text) {
			b.WriteByte(s.Text[i])
		}
	}
	return b.String()
}

func TestSplitSharesSpans(t *testing.T) {
	t.Parallel()
	span := func(text, of string, style botmesh.Style, url string) botmesh.Span {
		at := strings.Index(text, of)
		return botmesh.Span{From: at, To: at + len(of), Style: style, URL: url}
	}
	const text, url = "one two three four", "https://example.org/a"
	bold, link := span(text, "two three", botmesh.StyleBold, ""), span(text, "four", botmesh.StyleLink, url)
	for name, c := range map[string]struct {
		text   string
		spans  []botmesh.Span
		styles string
		split  func(botmesh.Send) []botmesh.Send
		want   []string
	}{
		"whole":             {text, []botmesh.Span{bold, link}, "bold link", upTo(99), []string{"one {btwo three} {lfour}"}},
		"cut within":        {text, []botmesh.Span{bold, link}, "bold link", upTo(8), []string{"one {btwo}", "{bthree}", "{lfour}"}},
		"styles unknown":    {text, []botmesh.Span{bold, link}, "link", upTo(99), []string{"one two three {lfour}"}},
		"link written out":  {text, []botmesh.Span{bold, link}, "bold", upTo(99), []string{"one {btwo three} four (" + url + ")"}},
		"link in bold":      {text, []botmesh.Span{{To: 18, Style: "bold"}, span(text, "two", botmesh.StyleLink, url)}, "bold", upTo(99), []string{"{bone two (" + url + ") three four}"}},
		"links in a row":    {text, []botmesh.Span{span(text, "one", botmesh.StyleLink, url), link, bold}, "bold", upTo(99), []string{"one (" + url + ") {btwo three} four (" + url + ")"}},
		"address as text":   {"see example.org/a", []botmesh.Span{span("see example.org/a", "example.org/a", botmesh.StyleLink, url)}, "", upTo(99), []string{"see example.org/a"}},
		"space before":      {"  one two", []botmesh.Span{span("  one two", "two", botmesh.StyleBold, "")}, "bold", upTo(99), []string{"  one {btwo}"}},
		"space at the cut":  {"one \n\n two", []botmesh.Span{{From: 2, To: 9, Style: "bold"}}, "bold", upTo(4), []string{"on{be}", "{btw}o"}},
		"only space":        {"one   two", []botmesh.Span{{From: 3, To: 5, Style: "bold"}}, "bold", upTo(99), []string{"one   two"}},
		"text put below":    {text, []botmesh.Span{bold}, "bold", func(s botmesh.Send) []botmesh.Send { return []botmesh.Send{{Text: s.Text + "\n1. A"}} }, []string{"one {btwo three} four\n1. A"}},
		"text of its own":   {text, []botmesh.Span{bold}, "bold", func(botmesh.Send) []botmesh.Send { return []botmesh.Send{{Text: "two"}, {}} }, []string{"two", ""}},
		"no UTF-8":          {"a\xff\xe6 two", []botmesh.Span{{From: 4, To: 7, Style: "bold"}}, "bold", upTo(99), []string{"a\uFFFD\uFFFD {btwo}"}},
		"within characters": {"ä日本", []botmesh.Span{{From: 2, To: 8, Style: "code"}}, "code", upTo(5), []string{"ä{c日}", "{c本}"}},
	} {
		parts, err := provider.Split(styled{split: c.split, styles: c.styles}, botmesh.Send{Text: c.text, Spans: c.spans})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, p := range parts {
			got = append(got, marked(p))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// However a text is cut, each of its characters keeps its styles.
func TestSplitKeepsStyles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		send := drawStyled(t)
		parts, err := provider.Split(styled{split: upTo(rapid.IntRange(4, 70).Draw(t, "max")), styles: "bold italic strike"}, send)
		if err != nil {
			t.Fatal(err)
		}
		var got []provider.Run
		for _, p := range parts {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			got = append(got, provider.Runs(p)...)
		}
		if diff := cmp.Diff(letters(provider.Runs(send)), letters(got)); diff != "" {
			t.Fatalf("styles of characters (-whole +parts):\n%s", diff)
		}
	})
}

// drawStyled is a short text with up to four spans.
func drawStyled(t *rapid.T) botmesh.Send {
	text := rapid.StringMatching(`[a-z日👩‍👧 \n]{0,60}`).Draw(t, "text")
	var borders []int
	for i := range text {
		borders = append(borders, i)
	}
	borders = append(borders, len(text))
	send := botmesh.Send{Text: text}
	for range rapid.IntRange(0, 4).Draw(t, "spans") {
		from, to := rapid.SampledFrom(borders).Draw(t, "from"), rapid.SampledFrom(borders).Draw(t, "to")
		style := rapid.SampledFrom([]botmesh.Style{botmesh.StyleBold, botmesh.StyleItalic, botmesh.StyleStrike}).Draw(t, "style")
		if from < to {
			send.Spans = append(send.Spans, botmesh.Span{From: from, To: to, Style: style})
		}
	}
	return send
}

// letters are what is seen, each with its styles.
func letters(runs []provider.Run) (all []provider.Run) {
	for _, r := range runs {
		for _, c := range r.Text {
			if !unicode.IsSpace(c) {
				r.Text = string(c)
				all = append(all, r)
			}
		}
	}
	return all
}

func TestRuns(t *testing.T) {
	t.Parallel()
	got := provider.Runs(botmesh.Send{Text: "abcdef", Spans: []botmesh.Span{
		{From: 0, To: 3, Style: botmesh.StyleBold}, {From: 1, To: 4, Style: botmesh.StyleItalic}, {From: 2, To: 6, Style: botmesh.StyleCode}, {From: 0, To: 1, Style: botmesh.StyleLink, URL: "tel:1"},
		{From: 4, To: 6, Style: botmesh.StyleLink, URL: "tel:2"}, {From: 5, To: 6, Style: botmesh.StylePre},
	}})
	want := []provider.Run{{Text: "a", Bold: true, URL: "tel:1"}, {Text: "b", Bold: true, Italic: true}, {Text: "c", Code: true}, {Text: "d", Code: true}, {Text: "e", Code: true, URL: "tel:2"}, {Text: "f", Pre: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := provider.Runs(botmesh.Send{}); got != nil {
		t.Errorf("of nothing: got %v, want none", got)
	}
}
