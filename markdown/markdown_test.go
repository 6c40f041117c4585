package markdown

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// shown is a send with its spans in the text, as <style …> and </>.
func shown(s botmesh.Send) string {
	var b strings.Builder
	for i := 0; i <= len(s.Text); i++ {
		for j := len(s.Spans) - 1; j >= 0; j-- {
			if s.Spans[j].To == i {
				b.WriteString("</>")
			}
		}
		for _, span := range s.Spans {
			if span.From == i {
				b.WriteString("<" + string(span.Style))
				if span.URL != "" {
					b.WriteString(" " + span.URL)
				}
				b.WriteString(">")
			}
		}
		if i < len(s.Text) {
			b.WriteByte(s.Text[i])
		}
	}
	return b.String()
}

func TestSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"plain":            {"Hello, you", "Hello, you"},
		"empty":            {"", ""},
		"emphasis":         {"a *b* **c** ~~d~~ `e`", "a <italic>b</> <bold>c</> <strike>d</> <code>e</>"},
		"nested":           {"**a *b***", "<bold>a <italic>b</></>"},
		"bold in bold":     {"# a **b** *c*", "<bold>a b <italic>c</></>"},
		"in itself":        {strings.Repeat("*a ", 400) + strings.Repeat("a* ", 400), "<italic>" + strings.TrimSpace(strings.Repeat("a ", 800)) + "</>"},
		"snake case":       {"my_var_name * 2", "my_var_name * 2"},
		"escaped":          {`\*a\* &amp; &lt; \& \\`, `*a* & < & \`},
		"no entity":        {"a & b; &nope; &#0;", "a & b; &nope; \uFFFD"},
		"link":             {"[a **b**](https://e.org/x_y?a=b&c#d)", "<link https://e.org/x_y?a=b&c#d>a <bold>b</></>"},
		"link of script":   {"[a](javascript:alert)", "a"},
		"link with spaces": {"[a](<https://e.org/a b>)", "<link https://e.org/a%20b>a</>"},
		"link by name":     {"[a][1]\n\n[1]: https://e.org", "<link https://e.org>a</>"},
		"bare":             {"<https://e.org> <me@e.org>", "<link https://e.org>https://e.org</> <link mailto:me@e.org>me@e.org</>"},
		"image":            {"![a cat](https://e.org/c.png) ![](https://e.org/d.png)", "<link https://e.org/c.png>a cat</> <link https://e.org/d.png>https://e.org/d.png</>"},
		"headings":         {"# One\ntext\n\nTwo\n===\n", "<bold>One</>\n\ntext\n\n<bold>Two</>"},
		"breaks":           {"a\nb  \nc\\\nd", "a\nb\nc\nd"},
		"rule":             {"a\n\n---\n\nb", "a\n\n———\n\nb"},
		"list":             {"x:\n- a\n- b\n  - c\n  - d\n- e", "x:\n\n• a\n• b\n   • c\n   • d\n• e"},
		"numbers":          {"3. a\n4. b\n\n   c", "3. a\n\n4. b\n\n   c"},
		"tasks":            {"- [ ] a\n- [x] b", "• [ ] a\n• [x] b"},
		"quote":            {"> a\n> b\n>\n> - c\n> - d\n\ne", "> a\n> b\n>\n> • c\n> • d\n\ne"},
		"fence":            {"```go\nfunc f() {\n\n\tx := *p\n}\n```\nend", "<pre>func f() {\n\n\tx := *p\n}</>\n\nend"},
		"fence in a list":  {"- a\n  ```\n  b\n  c\n  ```", "• a\n   <pre>b\n   c</>"},
		"code":             {"`` a`b `` and `c\nd`", "<code>a`b</> and <code>c d</>"},
		"table":            {"| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"},
		"html":             {"a <b>c</b>\n\n<div>\n*x*\n</div>", "a <b>c</b>\n\n<div>\n*x*\n</div>"},
		"unfinished":       {"so **bo", "so **bo"},
		"unfinished code":  {"so `co", "so `co"},
		"unfinished link":  {"so [a](https://e", "so [a](https://e"},
		"unfinished fence": {"so\n```go\nx :=", "so\n\n<pre>x :=</>"},
		"bold to the end":  {"**a**", "<bold>a</>"},
		"no UTF-8":         {"a\xffb", "a\uFFFDb"},
		"other scripts":    {"**日本** *ñ* 👩‍👩‍👧", "<bold>日本</> <italic>ñ</> 👩‍👩‍👧"},
		"too deep":         {strings.Repeat("> ", 17) + "**a**", strings.TrimSpace(strings.Repeat("> ", 17) + "**a**")},
		"only deep":        {strings.Repeat("> - ", 17), strings.TrimSpace(strings.Repeat("> - ", 17))},
		"a wide rule":      {strings.Repeat("- ", 30), "———"},
		"long":             {strings.Repeat("*a* ", 4097), strings.TrimSpace(strings.Repeat("*a* ", 4097))},
		"not too long":     {strings.Repeat("*a* ", 4096), strings.TrimSpace(strings.Repeat("<italic>a</> ", 1000) + strings.Repeat("a ", 3096))},
		"too many links":   {strings.Repeat("[a](tel:1)", 501), strings.Repeat("[a](tel:1)", 501)},
		"many links":       {strings.Repeat("[a](tel:1)", 500), strings.Repeat("<link tel:1>a</>", 500)},
		"deep, no space":   {strings.Repeat(">- ", 9) + "a", strings.Repeat(">- ", 9) + "a"},
		"deep in numbers":  {strings.Repeat("1.\t>", 9) + "a", strings.Repeat("1.\t>", 9) + "a"},
		"deep in an empty": {strings.Repeat(">", 16) + "-", strings.Repeat(">", 16) + "-"},
		"wide":             {strings.Repeat(">", 16) + strings.Repeat("a\n", 4000), strings.TrimSpace(strings.Repeat(">", 16) + strings.Repeat("a\n", 4000))},
		"not so wide":      {">>a\nb", "> > a\n> > b"},
		"not too deep":     {strings.Repeat("- ", 16) + "a", strings.Repeat("• ", 16) + "a"},
	} {
		got := Send(c.source)
		if diff := cmp.Diff(c.want, shown(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a user wrote says nothing to the bot's Markdown.
func TestEscape(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"*a* _b_ [c](https://e.org) `d` <e> &amp; \\ ~~f~~", "# g", "- h", "1. i", "> j", "日本!", "    k", "\tl", " ", "\n\n", "m\n# n\n\n    o\r\n- p \n",
		"q  \nr", "\u00a0\u2003s\v\f", "===", "a\n===", strings.Repeat(" 1. *t*\n", 3000),
	} {
		for before, shown := range map[string]string{"": "", "said: ": "said: ", "said:\n": "said:\n", "**said** ": "said ", "> ": "> "} {
			want := shown + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat("> ", strings.Count(before, ">")))
			if over := len(Escape(text)) > maxSource; over {
				want = before + text
			}
			got := Send(before + Escape(text))
			if len(got.Spans) > strings.Count(before, "**") || before != "> " && got.Text != want || !strings.Contains(before+text, "\n") && got.Text != want {
				t.Errorf("%q after %q: got %.100q with %v, want it as it is", text, before, got.Text, got.Spans)
			}
		}
	}
}

// What is over the bounds has no escapes, but for those in its code, which are none.
func TestATextOverTheBoundsHasNoEscapes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxSource)
	got := Send("1\\. \\*b\\* &#10;\n```go\n\"\\\"\" + `\\.`\n```\n\\_c\\_ " + long)
	want := "1. *b* \n\n```go\n\"\\\"\" + `\\.`\n```\n_c_ " + long
	if got.Text != want || got.Spans != nil {
		t.Errorf("got %.60q with %v, want %.60q", got.Text, got.Spans, want)
	}
}

func FuzzSend(f *testing.F) {
	for _, s := range []string{"**a *b*** `c` ~~d~~", "- a\n  1. b\n> c\n```\nd", "[a](b \"c\") ![d](e) <https://f>", "<!-- \n*a*", "&#x41;\\&\xff", "a\n===\n***\n\tx"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got := Send(source)
		if err := got.Validate(); err != nil {
			t.Error(err)
		}
		if !utf8.ValidString(got.Text) {
			t.Errorf("got %q, want UTF-8", got.Text)
		}
		if escaped, want := Send(Escape(source)), strings.ToValidUTF8(source, "\uFFFD"); escaped.Text != want || escaped.Spans != nil {
			t.Errorf("escaped: got %q with %v, want %q", escaped.Text, escaped.Spans, want)
		}
	})
}
