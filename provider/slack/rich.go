package slack

import (
	"regexp"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// A text with styles is a block of rich text
// (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). Slack says of no
// limit for it, and refuses a message whose blocks have more than some 13200 characters.
const (
	maxRich = 12000
	around  = 80 // characters of an element besides its text and address, at most
)

var (
	styled = provider.Splitter{Unit: escaped, Max: maxSection}
	// bare is an address that a text says, which is no link in rich text by itself.
	bare = regexp.MustCompile(`\bhttps?://[^\s<>"]*[^\s<>"'.,;:!?)\]}*_~]`)
)

// Styles implements [provider.Styler].
func (s *Sender) Styles(botmesh.Span) bool { return true }

// stretch is lines of a rich text, or lines of code.
type stretch struct {
	Type     string   `json:"type"`
	Elements []phrase `json:"elements"`
}

const section, preformatted = "rich_text_section", "rich_text_preformatted"

// phrase is a text or a link in a stretch. It is not escaped.
type phrase struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	URL   string `json:"url,omitempty"`
	Style *style `json:"style,omitempty"`
}

type style struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strike,omitempty"`
	Code   bool `json:"code,omitempty"`
}

// rich is a text with its spans, as the elements of a block of rich text.
func rich(send botmesh.Send) (all []stretch) {
	send.Spans = append(slices.Clone(send.Spans), addresses(send)...)
	for _, run := range provider.Runs(send) {
		typ := section
		if run.Pre {
			typ = preformatted
		}
		if len(all) == 0 || all[len(all)-1].Type != typ {
			all = append(all, stretch{Type: typ})
		}
		last := &all[len(all)-1]
		last.Elements = append(last.Elements, phraseOf(run))
	}
	return apart(all)
}

// addresses are the links that a text says without a span.
func addresses(send botmesh.Send) (links []botmesh.Span) {
	for _, at := range bare.FindAllStringIndex(send.Text, -1) {
		taken := slices.ContainsFunc(send.Spans, func(s botmesh.Span) bool {
			apart := s.To <= at[0] || s.From >= at[1]
			return !apart && (s.Style == botmesh.StyleLink || s.Style == botmesh.StyleCode || s.Style == botmesh.StylePre)
		})
		if url := send.Text[at[0]:at[1]]; !taken && botmesh.ValidLink(url) {
			links = append(links, botmesh.Span{From: at[0], To: at[1], Style: botmesh.StyleLink, URL: url})
		}
	}
	return links
}

// phraseOf makes a phrase of a run. A link has no code: Slack lists all other styles for one.
func phraseOf(run provider.Run) phrase {
	p := phrase{Type: "text", Text: run.Text, URL: run.URL}
	if run.URL != "" {
		p.Type = "link"
	}
	if of := (style{run.Bold, run.Italic, run.Strike, run.Code && run.URL == ""}); of != (style{}) {
		p.Style = &of
	}
	return p
}

// apart takes the line ends off around code, which stands on lines of its own anyway.
// Slack takes no phrase without a text.
func apart(all []stretch) (kept []stretch) {
	for i, s := range all {
		first, last := &s.Elements[0], &s.Elements[len(s.Elements)-1]
		if s.Type == section && i > 0 {
			first.Text = strings.TrimPrefix(first.Text, "\n")
		}
		if s.Type == section && i < len(all)-1 {
			last.Text = strings.TrimSuffix(last.Text, "\n")
		}
		s.Elements = slices.DeleteFunc(s.Elements, func(p phrase) bool { return p.Text == "" })
		if len(s.Elements) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// size is how long the rich text of a part is, in the unit of which Slack takes maxSection.
func size(send botmesh.Send) int {
	chars := provider.Unit(provider.CodePoints)
	n := 0
	for _, s := range rich(send) {
		n += around
		for _, p := range s.Elements {
			n += around + chars.Len(p.Text) + chars.Len(p.URL)
		}
	}
	return n * maxSection / maxRich
}

// unstyled is what is sent where Slack does not take the spans of a send.
func unstyled(send botmesh.Send) botmesh.Send {
	whole := provider.Plain(send)
	if text.Unit.Len(whole.Text) > maxSection {
		whole.Text = send.Text
	}
	return whole
}
