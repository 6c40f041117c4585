package whatsapp

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Styles implements [provider.Styler]. A text has no links but for the addresses in it.
func (s *Sender) Styles(span botmesh.Span) bool { return span.Style != botmesh.StyleLink }

// mark is what is written before and behind a stretch of a text, in bytes. Apps take it for
// markup within a line, at the borders of words, and without white space on its inside.
type mark struct {
	from, to int
	sign     string
}

// signs are how styles are marked, the outer ones first.
var signs = []struct {
	sign  string
	shows func(provider.Run) bool
}{
	{fence, func(r provider.Run) bool { return r.Pre }},
	{"`", func(r provider.Run) bool { return r.Code }},
	{"*", func(r provider.Run) bool { return r.Bold }},
	{"_", func(r provider.Run) bool { return r.Italic }},
	{"~", func(r provider.Run) bool { return r.Strike }},
}

// fence is around lines of code, the only mark that holds line ends.
const fence = "```"

// shown is a send with its spans as marks in its text, or without them if it is too long then.
func shown(send botmesh.Send) botmesh.Send {
	most := MaxText
	switch {
	case send.Media != nil:
		most = MaxCaption
	case len(send.Buttons) > 0:
		most = maxBody
	}
	if length(send) <= most {
		send.Text = marked(send)
	}
	send.Spans = nil
	return send
}

// length is how long a part is with its marks.
func length(send botmesh.Send) int { return text.Unit.Len(marked(send)) }

// marked is the text of a send with marks for its spans. A style that can not be marked is
// not shown: within a word, or where the text has the mark itself.
func marked(send botmesh.Send) string {
	var b strings.Builder
	var open []mark
	at := 0
	closeTo := func(pos int) {
		for n := len(open) - 1; n >= 0 && open[n].to <= pos; n-- {
			b.WriteString(send.Text[at:open[n].to] + open[n].sign)
			at, open = open[n].to, open[:n]
		}
	}
	for _, m := range marks(send) {
		closeTo(m.from)
		b.WriteString(send.Text[at:m.from] + m.sign)
		at, open = m.from, append(open, m)
	}
	closeTo(len(send.Text))
	return b.String() + send.Text[at:]
}

// marks are those of a text, each within the one before it or behind it.
func marks(send botmesh.Send) []mark {
	if len(send.Spans) == 0 {
		return nil
	}
	runs := provider.Runs(send)
	var all []mark
	for _, s := range signs {
		for _, m := range stretches(runs, s.shows) {
			m.sign = s.sign
			all = append(all, m.lines(send.Text)...)
		}
	}
	taken := map[mark]bool{} // the signs of lines, by where those begin
	return slices.DeleteFunc(nest(all, send.Text), func(m mark) bool {
		if !m.fits(send.Text) {
			return true
		}
		line := mark{from: strings.LastIndexByte(send.Text[:m.from], '\n') + 1, sign: m.sign}
		is, known := taken[line]
		if !known {
			is = stands(send.Text[line.from:], m.sign)
			taken[line] = is
		}
		return is
	})
}

// stretches are where runs in a row have a style.
func stretches(runs []provider.Run, shows func(provider.Run) bool) (all []mark) {
	at := 0
	for _, r := range runs {
		if shows(r) {
			if n := len(all); n > 0 && all[n-1].to == at {
				all[n-1].to += len(r.Text)
			} else {
				all = append(all, mark{from: at, to: at + len(r.Text)})
			}
		}
		at += len(r.Text)
	}
	return all
}

// lines is m in each line that it is in, without white space at the ends. The sign of a quote
// is one only where a line begins with it, so it stays before the mark.
func (m mark) lines(text string) (all []mark) {
	for from := m.from; from < m.to; {
		line := mark{from, m.to, m.sign}
		if n := strings.IndexByte(text[from:m.to], '\n'); n >= 0 && m.sign != fence {
			line.to = from + n + 1
		}
		if strings.Contains("*_~", m.sign) && (from == 0 || text[from-1] == '\n') {
			line.from += len(text[from:line.to]) - len(strings.TrimLeft(text[from:line.to], "> "))
		}
		from = line.to
		if line = line.trim(text); line.from < line.to {
			all = append(all, line)
		}
	}
	return all
}

// trim is m without white space at its ends, but for that before the first line of code.
func (m mark) trim(text string) mark {
	left := unicode.IsSpace
	if m.sign == fence {
		left = func(r rune) bool { return r == '\n' }
	}
	m.to = m.from + len(strings.TrimRightFunc(text[m.from:m.to], unicode.IsSpace))
	m.from = m.to - len(strings.TrimLeftFunc(text[m.from:m.to], left))
	return m
}

// nest sorts marks so that none crosses another: what would is two, one within the other
// mark and one behind it.
func nest(all []mark, text string) (nested []mark) {
	order := func(a, b mark) int { return cmp.Or(a.from-b.from, b.to-a.to) }
	slices.SortStableFunc(all, order)
	var open []mark
	for i := 0; i < len(all); i++ {
		m := all[i]
		for len(open) > 0 && open[len(open)-1].to <= m.from {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && m.to > open[n-1].to {
			rest := mark{open[n-1].to, m.to, m.sign}.trim(text)
			m.to = open[n-1].to
			at, _ := slices.BinarySearchFunc(all[i+1:], rest, order)
			all = slices.Insert(all, i+1+at, rest)
		}
		open, nested = append(open, m), append(nested, m)
	}
	return nested
}

// fits reports whether apps take m for markup of what is in it.
func (m mark) fits(text string) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:m.from])
	after, _ := utf8.DecodeRuneInString(text[m.to:])
	if m.from > 0 && inWord(before) || m.to < len(text) && inWord(after) {
		return false
	}
	inside := text[m.from:m.to]
	if m.sign == fence {
		return !strings.Contains(text, fence) && strings.Trim(inside, "`") == inside
	}
	return !strings.Contains(inside, m.sign)
}

// stands reports whether the first line of a text has a sign that may begin or end markup:
// not one within a word, nor one between spaces.
func stands(text, sign string) bool {
	line, _, _ := strings.Cut(text, "\n")
	before := ' '
	for i, r := range line {
		if string(r) == sign {
			after, n := utf8.DecodeRuneInString(line[i+len(sign):])
			if n == 0 {
				after = ' '
			}
			if !inWord(before) && !unicode.IsSpace(after) || !unicode.IsSpace(before) && !inWord(after) {
				return true
			}
		}
		before = r
	}
	return false
}

// inWord reports whether a mark next to r is none: r is of a word, or may be a mark itself.
func inWord(r rune) bool {
	const emojiStyle = '\uFE0F' // a mark to Unicode, behind a sign that is no letter
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && r != emojiStyle || strings.ContainsRune(text.Marks, r)
}
