package markdown

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/botmesh-go/botmesh"
)

// blocks writes the blocks within a node, parted by between.
func (w *writer) blocks(parent ast.Node, between string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n != parent.FirstChild() {
			if _, list := n.(*ast.List); list && parent.Kind() == ast.KindListItem {
				w.write("\n") // in the item that it belongs to
			} else {
				w.write(between)
			}
		}
		w.block(n)
	}
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.styled(botmesh.StyleBold, "", func() { w.inlines(n) })
	case *ast.Paragraph, *ast.TextBlock:
		w.inlines(n)
	case *ast.ThematicBreak:
		w.write("———")
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		w.styled(botmesh.StylePre, "", func() { w.lines(n) })
	case *ast.HTMLBlock:
		w.lines(n)
		if n.HasClosure() {
			w.write("\n" + strings.TrimRight(string(n.ClosureLine.Value(w.source)), "\n"))
		}
	case *ast.Blockquote:
		w.within("> ", "> ", func() { w.blocks(n, "\n\n") })
	case *ast.List:
		w.list(n)
	default:
		w.other(n)
	}
}

// list writes the items of a list, those of a list that was written loosely with a line
// between.
func (w *writer) list(l *ast.List) {
	between := "\n\n"
	if l.IsTight {
		between = "\n"
	}
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		if item != l.FirstChild() {
			w.write(between)
		}
		bullet := "• "
		if l.IsOrdered() {
			bullet = fmt.Sprintf("%d. ", number)
			number++
		}
		w.within(bullet, "   ", func() { w.blocks(item, between) })
	}
}

// within writes first, and lets other begin each line after it.
func (w *writer) within(first, other string, write func()) {
	w.text.WriteString(first)
	outer := w.margin
	w.margin += other
	write()
	w.margin = outer
}

// lines writes the lines of a block as they are.
func (w *writer) lines(n ast.Node) {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(w.source))
	}
	w.write(strings.TrimRight(b.String(), "\n"))
}

// other writes what an extension brings.
func (w *writer) other(n ast.Node) {
	if _, ok := n.(*extast.Strikethrough); ok {
		w.styled(botmesh.StyleStrike, "", func() { w.inlines(n) })
		return
	}
	w.inlines(n)
}

// code is the text of a piece of code, in which a line end is a space.
func code(n *ast.CodeSpan, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}
