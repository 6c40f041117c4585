package provider

import (
	"strings"
	"unicode"

	"github.com/botmesh-go/botmesh"
)

// SplitStyled is [Splitter.SplitLast] for the text of a send whose spans add to what the
// platform is sent. Each part fits by size too, which is how long the platform takes it to
// be with the spans that it gets, in the unit of the limits. Where even a single character
// does not fit with its spans, the part is cut as one without, and Call leaves them out.
func (s Splitter) SplitStyled(send botmesh.Send, last int, size func(botmesh.Send) int) []string {
	if len(send.Spans) == 0 {
		return s.SplitLast(send.Text, last)
	}
	pieces := s.pieces(send, piece{0, len(send.Text)}, size)
	if len(pieces) == 0 {
		return []string{""}
	}
	end := pieces[len(pieces)-1]
	short := s
	short.Max = last
	tails := short.pieces(send, end, size)
	tail := tails[len(tails)-1]
	heads := s.pieces(send, piece{end.from, tail.from}.trim(send.Text), size)
	var texts []string
	for _, p := range append(append(pieces[:len(pieces)-1:len(pieces)-1], heads...), tail) {
		texts = append(texts, send.Text[p.from:p.to])
	}
	return texts
}

// piece is a stretch of a text, in bytes.
type piece struct{ from, to int }

// pieces are what a piece of a text is cut into, without the white space between them; it
// is whole if it fits.
func (s Splitter) pieces(send botmesh.Send, p piece, size func(botmesh.Send) int) []piece {
	if strings.TrimSpace(send.Text[p.from:p.to]) == "" {
		return nil
	}
	if s.Unit.Len(send.Text[p.from:p.to]) <= s.Max && size(p.of(send)) <= s.Max {
		return []piece{p}
	}
	var all []piece
	for p = p.trim(send.Text); p.from < p.to; p = p.trim(send.Text) {
		first := s.first(send, p, size)
		all = append(all, first.trim(send.Text))
		p.from = first.to
	}
	return all
}

// first is the piece to begin p with, which begins with no white space.
func (s Splitter) first(send botmesh.Send, p piece, size func(botmesh.Send) int) piece {
	text := send.Text[p.from:p.to]
	plain := piece{p.from, p.from + s.whole(text, s.cut(text))}
	cut, at := plain, s
	for tries := 0; ; tries++ {
		shown := cut.trim(send.Text).of(send)
		n := size(shown)
		switch {
		case n <= s.Max:
			return cut
		case at.Max == 1:
			return plain
		}
		less := 1 + at.Max*max(0, tries-4)/16 // so that it takes some twenty tries at most
		at.Max = max(1, min(at.Max-less, s.Unit.Len(shown.Text)*s.Max/n))
		cut.to = p.from + at.whole(text, at.cut(text))
	}
}

// of is the piece of a send.
func (p piece) of(send botmesh.Send) botmesh.Send {
	text := send.Text[p.from:p.to]
	return botmesh.Send{Text: text, Spans: clip(send.Spans, p.from, p.to, text)}
}

// trim is p without white space at its ends.
func (p piece) trim(text string) piece {
	p.to = p.from + len(strings.TrimRightFunc(text[p.from:p.to], unicode.IsSpace))
	p.from = p.to - len(strings.TrimLeftFunc(text[p.from:p.to], unicode.IsSpace))
	return p
}
