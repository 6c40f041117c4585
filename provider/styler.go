package provider

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh"
)

// Styler is implemented by a Sender whose platform can show styles in a text.
type Styler interface {
	// Styles reports whether the platform shows a span: by its style, and for a link by where
	// it leads. Split and Call get no other: the text of a link that is not shown has its
	// address behind it.
	//
	// Split cuts the text as one without spans, with room for what they add, see
	// [Splitter.SplitStyled]; each part gets its share of them afterwards, so that no cut
	// breaks any. Call shows what [Plain] makes of it where the platform refuses the styles.
	Styles(span botmesh.Span) bool
}

// spell leaves in s the spans that a platform shows, and writes where the other links lead.
func spell(s Sender, send botmesh.Send) botmesh.Send {
	if len(send.Spans) == 0 {
		return send
	}
	styler, _ := s.(Styler)
	shows := func(span botmesh.Span) bool { return styler != nil && styler.Styles(span) }
	var keep, links []botmesh.Span
	for _, span := range send.Spans {
		switch {
		case shows(span):
			keep = append(keep, span)
		case span.Style == botmesh.StyleLink && !says(send.Text[span.From:span.To], span.URL):
			links = append(links, span)
		}
	}
	links = join(links)
	// From the last, so that the places before it stay what they are.
	slices.SortStableFunc(links, func(a, b botmesh.Span) int { return cmp.Compare(b.To, a.To) })
	for _, link := range links {
		address := " (" + link.URL + ")"
		send.Text = send.Text[:link.To] + address + send.Text[link.To:]
		for i := range keep {
			if keep[i].From >= link.To {
				keep[i].From += len(address)
			}
			if keep[i].To > link.To {
				keep[i].To += len(address)
			}
		}
	}
	keep = join(apart(keep))
	send.Spans = keep[:min(len(keep), botmesh.MaxSpans)]
	return send
}

// Plain is a send as a platform shows it that refuses its spans: its text, with the
// addresses of its links.
func Plain(send botmesh.Send) botmesh.Send { return spell(nil, send) }

// says reports whether a link's text is its address.
func says(text, address string) bool {
	_, bare, _ := strings.Cut(address, ":")
	return text == address || text == bare || text == strings.TrimPrefix(bare, "//")
}

// share gives each part the spans of its piece of the whole. Parts are pieces of its text
// in order, without the white space between them; what a provider wrote instead or below
// has no spans.
func share(whole botmesh.Send, parts []botmesh.Send) {
	if len(whole.Spans) == 0 {
		return
	}
	rest := whole.Text
	for i := range parts {
		text := parts[i].Text
		n := common(rest, text)
		if trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace); n < len(text) && common(trimmed, text) > n {
			rest, n = trimmed, common(trimmed, text)
		}
		from := len(whole.Text) - len(rest)
		parts[i].Spans = clip(whole.Spans, from, from+n, text)
		rest = rest[n:]
	}
}

// common is how many bytes two texts begin with alike, in whole characters.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// clip is the spans of a piece, which is text or what that begins with.
func clip(spans []botmesh.Span, from, to int, text string) (all []botmesh.Span) {
	for _, s := range spans {
		s.From, s.To = max(s.From, from)-from, min(s.To, to)-from
		if s.From < s.To && strings.TrimSpace(text[s.From:s.To]) != "" {
			all = append(all, s)
		}
	}
	return all
}

// Run is a stretch of a text that is shown in one way.
type Run struct {
	Text   string `json:"text"`
	Bold   bool   `json:"bold,omitempty"`
	Italic bool   `json:"italic,omitempty"`
	Strike bool   `json:"strike,omitempty"`
	Code   bool   `json:"code,omitempty"`
	Pre    bool   `json:"pre,omitempty"`
	URL    string `json:"url,omitempty"`
}

// Runs is a text with its spans as stretches that follow each other, for a platform whose
// styles do not overlap. Code has no other style; within a line it may be a link.
func Runs(s botmesh.Send) []Run {
	borders := []int{0, len(s.Text)}
	for _, span := range s.Spans {
		borders = append(borders, span.From, span.To)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	var runs []Run
	for i := 1; i < len(borders); i++ {
		runs = append(runs, run(s, borders[i-1], borders[i]))
	}
	return runs
}

// run is the stretch between two borders.
func run(s botmesh.Send, from, to int) Run {
	r := Run{Text: s.Text[from:to]}
	for _, span := range s.Spans {
		if span.From > from || span.To < to {
			continue
		}
		switch span.Style {
		case botmesh.StyleBold:
			r.Bold = true
		case botmesh.StyleItalic:
			r.Italic = true
		case botmesh.StyleStrike:
			r.Strike = true
		case botmesh.StyleCode:
			r.Code = true
		case botmesh.StylePre:
			r.Pre = true
		case botmesh.StyleLink:
			r.URL = span.URL
		}
	}
	switch {
	case r.Pre:
		return Run{Text: r.Text, Pre: true}
	case r.Code:
		return Run{Text: r.Text, Code: true, URL: r.URL}
	}
	return r
}
