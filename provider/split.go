package provider

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/botmesh-go/botmesh"
)

// Unit is how a platform counts the length of a text: what one rune adds to it. A
// byte that is not UTF-8 counts as the replacement character that JSON makes of it.
type Unit func(r rune) int

// UTF16 counts as JavaScript does: an emoji is at least two.
func UTF16(r rune) int { return utf16.RuneLen(r) }

// CodePoints counts runes: an emoji of several is several.
func CodePoints(rune) int { return 1 }

// Bytes counts the bytes of UTF-8.
func Bytes(r rune) int { return utf8.RuneLen(r) }

// Len is the length of s.
func (u Unit) Len(s string) int {
	n := 0
	for _, r := range s {
		n += u(r)
	}
	return n
}

// Splitter cuts texts to what one message of a platform may hold.
type Splitter struct {
	// Unit counts, such as [UTF16].
	Unit Unit
	// Max is the longest text of a message.
	Max int
	// Marks are the bytes that the platform takes for markup when they stand in
	// pairs within a line, the first before a word, such as "*_~`". Empty where
	// texts are shown as they are.
	Marks string
}

// Split cuts a text over Max at the end of a line if one is in the second half of
// the part, else where a line may break (between words), else between two
// characters as people see them. A single such character over Max is cut between
// code points. Where it can, it cuts before a pair of Marks and not within it.
//
// White space at a cut is dropped, as the platforms drop it at the ends of a
// message, and no part is blank unless all of text is. A text that fits is left as
// it is.
func (s Splitter) Split(text string) []string {
	if s.Unit.Len(text) <= s.Max {
		return []string{text}
	}
	var parts []string
	for rest := strings.TrimSpace(text); rest != ""; {
		n := s.whole(rest, s.cut(rest))
		parts = append(parts, strings.TrimSpace(rest[:n]))
		rest = strings.TrimSpace(rest[n:])
	}
	if parts == nil {
		return []string{""}
	}
	return parts
}

// SplitLast is Split with a last part of at most last, for a platform that takes
// less text where there are buttons below it. It makes as few parts as it can.
func (s Splitter) SplitLast(text string, last int) []string {
	parts := s.Split(text)
	end := parts[len(parts)-1]
	if s.Unit.Len(end) <= last {
		return parts
	}
	short := s
	short.Max = last
	tails := short.Split(end)
	tail := tails[len(tails)-1]
	if len(tails) == 1 {
		return append(parts[:len(parts)-1], tail)
	}
	head := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(end), tail))
	return append(parts[:len(parts)-1], head, tail)
}

// Parts makes a send of each text, with the buttons below the last.
func Parts(texts []string, buttons [][]botmesh.Button) []botmesh.Send {
	parts := make([]botmesh.Send, len(texts))
	for i, t := range texts {
		parts[i].Text = t
	}
	parts[len(parts)-1].Buttons = buttons
	return parts
}

// cut is where to end the first part of text, in bytes: more than zero, and all
// of text if it fits. The text does not begin with white space.
func (s Splitter) cut(text string) int {
	var (
		pos, size  int // what was passed, in bytes and in units
		line, word int // the last place to break after a line, a word
	)
	for rest, state := text, -1; rest != ""; {
		var cluster string
		var boundaries int
		cluster, rest, boundaries, state = uniseg.StepString(rest, state)
		n := s.Unit.Len(cluster)
		if size+n > s.Max {
			switch {
			case line > 0:
				return line
			case word > 0:
				return word
			case pos > 0:
				return pos
			}
			return s.cutCluster(cluster)
		}
		pos += len(cluster)
		size += n
		switch boundaries & uniseg.MaskLine {
		case uniseg.LineMustBreak:
			word = pos
			if size > s.Max/2 {
				line = pos
			}
		case uniseg.LineCanBreak:
			word = pos
		}
	}
	return len(text)
}

// cutCluster cuts what people see as one character, because it is over the limit
// by itself. A rune over it stays whole: there is no platform like that.
func (s Splitter) cutCluster(cluster string) int {
	size := 0
	for i, r := range cluster {
		if size += s.Unit(r); size > s.Max && i > 0 {
			return i
		}
	}
	return len(cluster)
}

// whole moves a cut at n out of a pair of marks, to before the pair, unless the
// part would be left less than half as long.
func (s Splitter) whole(text string, n int) int {
	if s.Marks == "" || n == len(text) {
		return n
	}
	begin := strings.LastIndexByte(text[:n], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[n:], '\n'); i >= 0 {
		end = n + i
	}
	for i := begin; i < n; i++ {
		if strings.IndexByte(s.Marks, text[i]) < 0 || i > begin && text[i-1] != ' ' {
			continue // within a word, such as that of a snake_case name
		}
		closing := strings.IndexByte(text[i+1:end], text[i])
		if closing < 0 {
			continue // a mark alone, such as that of an asterisk
		}
		if closing += i + 1; closing >= n {
			if strings.TrimSpace(text[:i]) != "" && i >= n/2 {
				return i
			}
			return n
		}
		i = closing
	}
	return n
}
