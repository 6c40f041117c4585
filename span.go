package botmesh

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Style is how a stretch of a text is shown. It is a word of the wire.
type Style string

// The styles.
const (
	StyleBold   Style = "bold"
	StyleItalic Style = "italic"
	StyleStrike Style = "strike"
	StyleCode   Style = "code" // within a line
	StylePre    Style = "pre"  // lines of code
	StyleLink   Style = "link" // leads to Span.URL
)

// MaxSpans is how many spans a send may have.
const MaxSpans = 1000

// Span gives a style to a stretch of a text. Stretches may overlap; code is shown without
// other styles.
type Span struct {
	// From and To are bytes of the text, between characters: Text[From:To].
	From  int   `json:"from"`
	To    int   `json:"to"`
	Style Style `json:"style"`
	// URL is where a link leads: http, https, mailto or tel.
	URL string `json:"url,omitempty"`
}

// InUTF8 is s with a text in UTF-8. A byte of the text that is none, such as the rest of a
// character that was cut, becomes U+FFFD, as it does in JSON, and the spans stay with their words.
func (s Send) InUTF8() Send {
	if utf8.ValidString(s.Text) {
		return s
	}
	text, now := s.Text, make([]int, len(s.Text)+1) // where each byte is now
	s.Text = string([]rune(text))
	for at, next := 0, 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		for i := range n {
			now[at+i] = next + i
		}
		at, next = at+n, next+utf8.RuneLen(r)
	}
	now[len(text)] = len(s.Text)
	s.Spans = slices.Clone(s.Spans)
	for i, span := range s.Spans {
		if span.From >= 0 && span.From < span.To && span.To <= len(text) {
			s.Spans[i].From, s.Spans[i].To = now[span.From], now[span.To]
		} else {
			s.Spans[i].To = 0 // no stretch of this one either
		}
	}
	return s
}

// checkSpans says what is wrong with the spans of a text.
func checkSpans(text string, spans []Span) error {
	if len(spans) > MaxSpans {
		return fmt.Errorf("%d spans, want at most %d", len(spans), MaxSpans)
	}
	border := func(at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }
	for n, s := range spans {
		switch {
		case s.From < 0 || s.To > len(text) || s.From >= s.To:
			return fmt.Errorf("span %d is from %d to %d, want a stretch of the text's %d bytes", n, s.From, s.To, len(text))
		case !border(s.From) || !border(s.To):
			return fmt.Errorf("span %d begins or ends within a character", n)
		case !slices.Contains([]Style{StyleBold, StyleItalic, StyleStrike, StyleCode, StylePre, StyleLink}, s.Style):
			return fmt.Errorf("span %d has the style %q, want bold, italic, strike, code, pre or link", n, s.Style)
		case s.Style == StyleLink && !ValidLink(s.URL):
			return fmt.Errorf("span %d is a link, want an http, https, mailto or tel URL of at most %d bytes", n, MaxMediaURL)
		case s.Style != StyleLink && s.URL != "":
			return errors.New("only a link has a URL")
		}
	}
	return nil
}

// HasLink reports whether a stretch of the text is a link. Where it leads is told by the
// span alone, so that a build which knows none would lose it.
func (s Send) HasLink() bool {
	return slices.ContainsFunc(s.Spans, func(span Span) bool { return span.Style == StyleLink })
}

// ValidLink reports whether a link may lead there: an address of the web, of mail or of a
// telephone, without spaces and quotes, of at most [MaxMediaURL] bytes.
func ValidLink(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > MaxMediaURL || strings.ContainsFunc(address, oddInURL) {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Hostname() != "" && u.User == nil
	case "mailto", "tel":
		return u.Opaque != ""
	}
	return false
}
