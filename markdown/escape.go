package markdown

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Escape makes a text one that [Send] shows as it is, such as what a user wrote within a
// text of the bot's: with its line breaks and the space around it, in one line of the
// Markdown. It is up to five times as long as text. It is not for what stands in code,
// where Markdown knows no escapes.
func Escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case punctuation(c):
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r', c == ' ' && (i == 0 || i == len(text)-1):
			fmt.Fprintf(&b, "&#%d;", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func punctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// asWritten is the text of a source that is over the bounds, without its escapes, save
// those between fences, where they are none.
func asWritten(source string) botmesh.Send {
	var b strings.Builder
	var fenced bool
	for line := range strings.Lines(strings.TrimSpace(source)) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			fenced = !fenced
		}
		if !fenced {
			line = plain([]byte(line))
		}
		b.WriteString(line)
	}
	return botmesh.Send{Text: b.String()}
}

// plain writes a text without its escapes. White space at its end that was written as an
// entity is meant to be there.
func (w *writer) plain(source []byte) {
	w.write(plain(source))
	if bytes.HasSuffix(source, []byte{';'}) {
		w.kept = w.text.Len()
	}
}

// plain is a text without backslashes before punctuation, and with what entities stand for.
func plain(source []byte) string {
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source) && punctuation(source[i+1]):
			i++
			b.WriteByte(source[i])
		case c == '&':
			word, _, found := strings.Cut(string(source[i:min(i+maxEntity, len(source))]), ";")
			if text := html.UnescapeString(word + ";"); found && text != word+";" {
				b.WriteString(text)
				i += len(word)
				continue
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// maxEntity is more bytes than the longest entity of HTML has.
const maxEntity = 34
