package botmesh_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
)

func TestSpansOfASend(t *testing.T) {
	t.Parallel()
	const text = "ab日c"
	link := func(url string) botmesh.Span { return botmesh.Span{To: 1, Style: botmesh.StyleLink, URL: url} }
	for name, c := range map[string]struct {
		span botmesh.Span
		want string // a word of the error, empty for none
	}{
		"whole":           {botmesh.Span{To: 6, Style: botmesh.StyleBold}, ""},
		"a character":     {botmesh.Span{From: 2, To: 5, Style: botmesh.StylePre}, ""},
		"web":             {link("https://example.org/a?b=c#d"), ""},
		"mail":            {link("mailto:me@example.org"), ""},
		"telephone":       {link("tel:+3912345"), ""},
		"empty":           {botmesh.Span{From: 1, To: 1, Style: botmesh.StyleBold}, "stretch"},
		"backwards":       {botmesh.Span{From: 2, To: 1, Style: botmesh.StyleBold}, "stretch"},
		"before":          {botmesh.Span{From: -1, To: 1, Style: botmesh.StyleBold}, "stretch"},
		"beyond":          {botmesh.Span{To: 7, Style: botmesh.StyleBold}, "stretch"},
		"within at first": {botmesh.Span{From: 3, To: 5, Style: botmesh.StyleBold}, "within"},
		"within at last":  {botmesh.Span{To: 4, Style: botmesh.StyleBold}, "within"},
		"no style":        {botmesh.Span{To: 1}, "style"},
		"link of script":  {link("javascript:alert(1)"), "https"},
		"link of a login": {link("https://me:pw@example.org"), "https"},
		"link to nowhere": {link("https:///a"), "https"},
		"no link":         {link(""), "https"},
		"address of none": {botmesh.Span{To: 1, Style: botmesh.StyleBold, URL: "https://example.org"}, "only a link"},
	} {
		err := botmesh.Send{Text: text, Spans: []botmesh.Span{c.span}}.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got error %v, want %q in it", name, err, c.want)
		}
	}
	many := make([]botmesh.Span, botmesh.MaxSpans+1)
	if err := (botmesh.Send{Text: text, Spans: many}).Validate(); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("too many: got error %v, want the bound in it", err)
	}
}

func TestOnlyAnIDIsEdited(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]botmesh.Send{
		"":                      {Text: "a", Edits: strings.Repeat("1", botmesh.MaxMessageID)},
		"want at most 512":      {Text: "a", Edits: strings.Repeat("1", botmesh.MaxMessageID+1)},
		"is no line of text":    {Text: "a", Edits: "1\n2"},
		"and grows or replaces": {Text: "a", Edits: "1", Grows: true},
		"replaces another too":  {Text: "a", Edits: "1", Replaces: 1},
	} {
		if err := s.Validate(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", s, err, want)
		}
	}
}

func TestSpansOfATextThatIsNoUTF8(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, word string
	}{
		"cut at the end":   {"see it: caf\xc3", "it"},
		"cut before":       {"caf\xc3 \xff\xff see here", "here"},
		"all of it":        {"\x80\xff", "\x80\xff"},
		"the rest of one":  {"a\x97\xa5b", "\x97\xa5b"},
		"good all of it":   {"日本 é", "é"},
		"a good character": {"\xe6日本", "本"},
	} {
		from := strings.Index(c.text, c.word)
		given := botmesh.Send{Text: c.text, Spans: []botmesh.Span{{From: from, To: from + len(c.word), Style: botmesh.StyleBold}}}
		got := given.InUTF8()
		var stored string
		if data, err := json.Marshal(given.Text); err != nil || json.Unmarshal(data, &stored) != nil || got.Text != stored {
			t.Errorf("%s: got %q and %v, want what JSON makes of it: %q", name, got.Text, err, stored)
		}
		if word := got.Text[got.Spans[0].From:got.Spans[0].To]; word != string([]rune(c.word)) {
			t.Errorf("%s: got the span at %q, want it at %q", name, word, c.word)
		}
		if given.Spans[0].From != from || given.Validate() != nil {
			t.Errorf("%s: got %v of %+v, want it valid and left alone", name, given.Validate(), given)
		}
	}
	for want, span := range map[string]botmesh.Span{
		"stretch": {From: 2, To: 5, Style: botmesh.StyleBold},
		"within":  {From: 1, To: 2, Style: botmesh.StyleBold},
	} {
		if err := (botmesh.Send{Text: "\xff日", Spans: []botmesh.Span{span}}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q in it", span, err, want)
		}
	}
}
