// Package markdown makes messages of Markdown, as language models write it:
//
//	c.Send(markdown.Send("**Done.** See [the order](https://example.org/7)."))
//
// The result is a plain text with spans, [botmesh.Span], which a provider that can shows in its
// platform's way and which no cut breaks. What Markdown has and messages have not is written in plain
// text: a heading is a bold line, a list has bullets or numbers. HTML and tables stay as
// they are.
//
// The package knows no platform and says nothing by itself.
package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/botmesh-go/botmesh"
)

// The bounds of a text, for one that is made to take long: what is beyond is shown as it was
// written.
const (
	// maxSource is how long it may be in bytes, maxText how long what is made of it.
	maxSource = 16 << 10
	maxText   = 4 * maxSource
	// maxDepth is how many lists and quotes a line may open, maxLinks how many links all may.
	maxDepth = 16
	maxLinks = 500
)

var parser = goldmark.New(goldmark.WithExtensions(extension.Strikethrough)).Parser()

// Send makes a message of a text in Markdown ([CommonMark] with ~~strikethrough~~). Every text
// is one: what is no markup, or the beginning of some that is not finished yet, stays as it
// was written. A link to anywhere but the web, mail or a telephone is a plain text.
//
// [CommonMark]: https://spec.commonmark.org/0.31.2/
func Send(source string) botmesh.Send {
	source = strings.ToValidUTF8(source, "\uFFFD")
	if len(source) > maxSource || strings.Count(source, "](") > maxLinks || tooDeep(source) {
		return asWritten(source)
	}
	w := &writer{source: []byte(source)}
	w.blocks(parser.Parse(text.NewReader(w.source)), "\n\n")
	if w.text.Len() > maxText {
		return asWritten(source)
	}
	return w.send()
}

// tooDeep reports whether a line opens more than maxDepth lists and quotes. A rule, such as
// "- - -", opens none.
func tooDeep(source string) bool {
	for line := range strings.Lines(source) {
		if opens(line) > maxDepth && strings.Trim(line, " \t\r\n-") != "" && strings.Trim(line, " \t\r\n*") != "" {
			return true
		}
	}
	return false
}

// opens is how many signs of lists and quotes a line begins with.
func opens(line string) int {
	for n := 0; ; n++ {
		line = strings.TrimLeft(line, " \t")
		rest, quote := strings.CutPrefix(line, ">")
		if quote {
			line = rest
			continue
		}
		digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
		signs := "-+*"
		if digits > 0 {
			signs = ".)"
		}
		rest = line[digits:]
		if rest == "" || !strings.Contains(signs, rest[:1]) || strings.TrimLeft(rest[1:], " \t\r\n") == rest[1:] && len(rest) > 1 {
			return n
		}
		line = rest[1:]
	}
}

// writer writes a document as a text with spans.
type writer struct {
	source []byte
	text   strings.Builder
	spans  []botmesh.Span
	// open are the styles of what is being written.
	open []botmesh.Style
	// margin begins each line, as within a list or a quote.
	margin string
	// kept is how much of the text stays, though it ends with white space.
	kept int
}

// send is what was written. Empty spans, and those over the bound, are left out.
func (w *writer) send() botmesh.Send {
	all := w.text.String()
	s := botmesh.Send{Text: all[:w.kept] + strings.TrimRight(all[w.kept:], " \n")}
	for _, span := range w.spans {
		span.To = min(span.To, len(s.Text))
		if span.From < span.To && len(s.Spans) < botmesh.MaxSpans {
			s.Spans = append(s.Spans, span)
		}
	}
	return s
}

// styled gives what write writes a style. What lies within one of the same style has it.
func (w *writer) styled(style botmesh.Style, url string, write func()) {
	if style != botmesh.StyleLink && slices.Contains(w.open, style) {
		write()
		return
	}
	at := len(w.spans)
	w.spans, w.open = append(w.spans, botmesh.Span{From: w.text.Len(), Style: style, URL: url}), append(w.open, style)
	write()
	w.spans[at].To, w.open = w.text.Len(), w.open[:len(w.open)-1]
}

// write writes text, with the margin in each line after the first. Of what is over maxText
// there is no need.
func (w *writer) write(text string) {
	if w.text.Len() > maxText {
		return
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
		case line == "" && i < len(lines)-1:
			w.text.WriteString("\n" + strings.TrimRight(w.margin, " "))
		default:
			w.text.WriteString("\n" + w.margin)
		}
		w.text.WriteString(line)
	}
}

// inlines writes what lies within a line of text.
func (w *writer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			w.plain(n.Value(w.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				w.write("\n")
			}
		case *ast.String:
			w.write(string(n.Value))
		case *ast.CodeSpan:
			w.styled(botmesh.StyleCode, "", func() { w.write(code(n, w.source)) })
		case *ast.Emphasis:
			style := botmesh.StyleItalic
			if n.Level == 2 {
				style = botmesh.StyleBold
			}
			w.styled(style, "", func() { w.inlines(n) })
		case *ast.Link:
			w.link(string(n.Destination), func() { w.inlines(n) })
		case *ast.Image:
			w.link(string(n.Destination), func() { w.inlines(n) })
		case *ast.AutoLink:
			w.autoLink(n)
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				w.write(string(segment.Value(w.source)))
			}
		default:
			w.other(n)
		}
	}
}

func (w *writer) autoLink(n *ast.AutoLink) {
	url, label := string(n.URL(w.source)), string(n.Label(w.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
		url = "mailto:" + url
	}
	w.link(url, func() { w.write(label) })
}

// link gives what write writes a link. An image without a word shows its address.
func (w *writer) link(url string, write func()) {
	url = string(util.URLEscape([]byte(url), true))
	if !botmesh.ValidLink(url) {
		write()
		return
	}
	w.styled(botmesh.StyleLink, url, func() {
		from := w.text.Len()
		if write(); w.text.Len() == from {
			w.write(url)
		}
	})
}
