package telegram

import (
	"strings"
	"unicode/utf16"

	"github.com/rivo/uniseg"

	"github.com/botmesh-go/botmesh"
)

// MaxText is the longest text that Telegram takes, in UTF-16 code units.
const MaxText = 4096

// Split cuts a text over [MaxText] at the end of a line if one is in the second
// half of the part, else where a line may break (between words), else between
// two characters as people see them. A single such character over the limit is
// cut between code points. White space at a cut is dropped, as Telegram drops it
// at the ends of a message. The buttons are below the last part.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send {
	texts := splitText(send.Text, MaxText)
	parts := make([]botmesh.Send, len(texts))
	for i, t := range texts {
		parts[i].Text = t
	}
	parts[len(parts)-1].Buttons = send.Buttons
	return parts
}

// splitText cuts text into parts of at most limit UTF-16 units, none of them
// blank unless all of text is.
func splitText(text string, limit int) []string {
	if units(text) <= limit {
		return []string{text}
	}
	var parts []string
	for rest := strings.TrimSpace(text); rest != ""; {
		n := cut(rest, limit)
		parts = append(parts, strings.TrimSpace(rest[:n]))
		rest = strings.TrimSpace(rest[n:])
	}
	if parts == nil {
		return []string{""}
	}
	return parts
}

// cut is where to end the first part of text, in bytes: more than zero, and all
// of text if it fits. The text does not begin with white space.
func cut(text string, limit int) int {
	var (
		pos, size  int // what was passed, in bytes and in units
		line, word int // the last place to break after a line, a word
	)
	for rest, state := text, -1; rest != ""; {
		var cluster string
		var boundaries int
		cluster, rest, boundaries, state = uniseg.StepString(rest, state)
		n := units(cluster)
		if size+n > limit {
			switch {
			case line > 0:
				return line
			case word > 0:
				return word
			case pos > 0:
				return pos
			}
			return cutCluster(cluster, limit)
		}
		pos += len(cluster)
		size += n
		switch boundaries & uniseg.MaskLine {
		case uniseg.LineMustBreak:
			word = pos
			if size > limit/2 {
				line = pos
			}
		case uniseg.LineCanBreak:
			word = pos
		}
	}
	return len(text)
}

// cutCluster cuts what people see as one character, because it is over the limit
// by itself.
func cutCluster(cluster string, limit int) int {
	size := 0
	for i, r := range cluster {
		if size += utf16.RuneLen(r); size > limit && i > 0 {
			return i
		}
	}
	return len(cluster)
}

// units is the length of s in UTF-16 code units. A byte that is not UTF-8 is sent
// as one replacement character.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
