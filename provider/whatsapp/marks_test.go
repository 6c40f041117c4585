package whatsapp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// styled is a send of which the first stretches of text that say so have styles.
func styled(text string, styles ...string) botmesh.Send {
	s := botmesh.Send{Text: text}
	for i := 0; i < len(styles); i += 2 {
		at := strings.Index(text, styles[i])
		s.Spans = append(s.Spans, botmesh.Span{From: at, To: at + len(styles[i]), Style: botmesh.Style(styles[i+1])})
	}
	return s
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send botmesh.Send
		want string
	}{
		"each style":         {styled("a b c d e", "a", "bold", "b", "italic", "c", "strike", "d", "code", "e", "pre"), "*a* _b_ ~c~ `d` ```e```"},
		"all at once":        {styled("see it", "see it", "italic", "see it", "strike", "see it", "bold"), "*_~see it~_*"},
		"within another":     {styled("a b c", "a b c", "bold", "b", "italic"), "*a _b_ c*"},
		"begins with it":     {styled("a b c", "a b c", "bold", "a", "italic"), "*_a_ b c*"},
		"ends with it":       {styled("a b c", "a b c", "bold", "c", "italic"), "*a b _c_*"},
		"across another":     {styled("a b c", "a b", "bold", "b c", "italic"), "*a _b_* _c_"},
		"across two":         {styled("a b c d e", "a b c", "bold", "b c d", "italic", "c d e", "strike"), "*a _b ~c~_* ~_d_ e~"},
		"space outside":      {styled("a  b  c", "  b  ", "bold"), "a  *b*  c"},
		"lines":              {styled("a\n\n b \nc", "a\n\n b \nc", "bold"), "*a*\n\n *b* \n*c*"},
		"quote":              {styled("> a\n> b > c\n>", "> a\n> b > c\n>", "bold"), "> *a*\n> *b > c*\n>"},
		"quote as code":      {styled("> a", "> a", "code"), "`> a`"},
		"line ends":          {styled("a\r\nb", "a\r\nb", "bold"), "*a*\r\n*b*"},
		"punctuation":        {styled("(a), b!", "a", "bold", "b!", "italic"), "(*a*), _b!_"},
		"emoji":              {styled("☀️a☀️ b", "a", "bold"), "☀️*a*☀️ b"},
		"begins in a word":   {styled("abc d", "bc", "bold", "d", "bold"), "abc *d*"},
		"ends in a word":     {styled("abc d", "ab", "bold"), "abc d"},
		"without spaces":     {styled("日本語です", "本", "bold"), "日本語です"},
		"accent":             {styled("e\u0301a b", "a", "bold"), "e\u0301a b"},
		"has the mark":       {styled("2*3 is", "2*3", "bold", "is", "italic"), "2*3 _is_"},
		"has another mark":   {styled("a_b is", "a_b", "bold"), "*a_b* is"},
		"mark in the line":   {styled("*a b\nc", "b\nc", "bold"), "*a b\n*c*"},
		"mark ends the line": {styled("b a*\nc", "b", "bold"), "b a*\nc"},
		"no mark":            {styled("2 * 3 is snake_case", "is", "bold", "is", "italic"), "2 * 3 *_is_* snake_case"},
		"next to a mark":     {styled("_a_", "a", "bold"), "_a_"},
		"code in bold":       {styled("see x: now", "see x: now", "bold", "x", "code"), "*see* `x`: now"},
		"code in a line":     {styled("a `b c", "c", "code"), "a `b c"},
		"lines of code":      {styled("a\n  b\n\n\tc*\nd", "\n  b\n\n\tc*\n", "pre"), "a\n```  b\n\n\tc*```\nd"},
		"bold around code":   {styled("a\nb\nc", "a\nb\nc", "bold", "b", "pre"), "*a*\n```b```\n*c*"},
		"code has the mark":  {styled("```\na\nb", "b", "pre"), "```\na\nb"},
		"code ends so":       {styled("`b`", "`b`", "pre"), "`b`"},
		"code has one":       {styled("a `b` c", "a `b` c", "pre"), "```a `b` c```"},
		"no spans":           {styled(" *a* "), " *a* "},
	} {
		if diff := cmp.Diff(c.want, marked(c.send)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// As an app reads a text with marks, it says the plain text, and shows no style where there
// is none.
func TestMarksReadAsMeant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		send := drawn(t, `[ab é日!\n ]{1,40}`)
		shown := marked(send)
		var want []provider.Run
		for _, r := range provider.Runs(send) {
			want = append(want, characters(r)...)
		}
		got := seen(t, shown)
		if len(got) != len(want) {
			t.Fatalf("got %d characters of %q, want %d", len(got), shown, len(want))
		}
		for i, r := range got {
			w := want[i]
			if r.Text != w.Text || r.Bold && !w.Bold || r.Italic && !w.Italic || r.Strike && !w.Strike || r.Code && !w.Code || r.Pre && !w.Pre {
				t.Fatalf("character %d of %q: got %+v, want no more than %+v", i, shown, r, w)
			}
		}
	})
}

// drawn is a text with some spans.
func drawn(t *rapid.T, letters string) botmesh.Send {
	send := botmesh.Send{Text: rapid.StringMatching(letters).Draw(t, "text")}
	var borders []int
	for i := range send.Text + " " {
		borders = append(borders, i)
	}
	for range rapid.IntRange(1, 5).Draw(t, "spans") {
		from, to := rapid.SampledFrom(borders).Draw(t, "from"), rapid.SampledFrom(borders).Draw(t, "to")
		style := rapid.SampledFrom([]botmesh.Style{"bold", "italic", "strike", "bold", "italic", "code", "pre"}).Draw(t, "style")
		if from < to {
			send.Spans = append(send.Spans, botmesh.Span{From: from, To: to, Style: style})
		}
	}
	return send
}

// characters are those of a run that are no line ends.
func characters(r provider.Run) (all []provider.Run) {
	for _, c := range r.Text {
		if r.Text = string(c); c != '\n' {
			all = append(all, r)
		}
	}
	return all
}

// seen is what an app makes of a text of which each mark is meant: styles do not cross, end
// in their line, and stand between a border of words and no space.
func seen(t rapid.TB, text string) (all []provider.Run) {
	for i, part := range strings.Split(text, fence) {
		if i%2 == 1 {
			all = append(all, characters(provider.Run{Text: part, Pre: true})...)
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			open := ""
			runes := []rune(line)
			for n, c := range runes {
				if !strings.ContainsRune("*_~`", c) {
					is := func(sign string) bool { return strings.Contains(open, sign) }
					all = append(all, provider.Run{Text: string(c), Bold: is("*"), Italic: is("_"), Strike: is("~"), Code: is("`")})
					continue
				}
				outside, inside := beside(runes, n, -1), beside(runes, n, 1)
				if rest, closes := strings.CutSuffix(open, string(c)); closes {
					open, outside, inside = rest, inside, outside
				} else if open += string(c); strings.Count(open, string(c)) > 1 {
					t.Fatalf("got %q, want no style within itself or across another", text)
				}
				if unicode.IsSpace(inside) || unicode.IsLetter(outside) {
					t.Fatalf("got %q, want mark %d of %q between a border of words and no space", text, n, line)
				}
			}
			if open != "" {
				t.Fatalf("got %q, want nothing open at the end of %q", text, line)
			}
		}
	}
	return all
}

// beside is the character next to a mark and those beside it, a space at the ends of a line.
func beside(line []rune, n, step int) rune {
	for n += step; n >= 0 && n < len(line); n += step {
		if !strings.ContainsRune("*_~`", line[n]) {
			return line[n]
		}
	}
	return ' '
}

// Whatever marks a text has by itself, those that are added are in pairs in each line and
// nothing else changes; and the platform takes each part with them.
//
// SPEC: O8
func TestSplitLeavesRoomForMarks(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	wa.Limit(0, 0)
	rapid.Check(t, func(t *rapid.T) {
		send := drawn(t, `[ab日!\n *_~`+"`"+`]{1,40}`)
		send.Text += "." + strings.Repeat(" ab *cd* é", rapid.IntRange(0, 450).Draw(t, "more"))
		every := rapid.IntRange(2, 30).Draw(t, "every")
		for from := strings.LastIndex(send.Text, ".") + 1; from+every < len(send.Text) && len(send.Spans) < botmesh.MaxSpans; from += every {
			if send.Text[from] == ' ' && send.Text[from+every] == ' ' {
				send.Spans = append(send.Spans, botmesh.Span{From: from, To: from + every, Style: botmesh.StyleItalic})
			}
		}
		if rapid.Bool().Draw(t, "buttons") {
			send.Buttons = row("Yes")
		}
		if rapid.Bool().Draw(t, "file") {
			send.Media = &botmesh.Media{Kind: botmesh.MediaImage, URL: bill}
		}
		parts, err := provider.Split(s, send)
		if err != nil {
			t.Fatal(err)
		}
		had := len(wa.Chat(nora))
		for i, p := range parts {
			if _, err := s.Call(context.Background(), to(nora, p)); err != nil {
				t.Fatal(err)
			}
			got := wa.Chat(nora)[had+i].Text
			if want := marked(p); got != want {
				t.Fatalf("part %d: got %q, want the styles: %q", i, got, want)
			}
			paired(t, p.Text, got)
		}
	})
}

// SPEC: O8
func TestSplitCountsMarks(t *testing.T) {
	t.Parallel()
	_, s := fake(t)
	many := row(strings.Split("abcdefghijk", "")...)
	send := botmesh.Send{Text: strings.Repeat("a b ", 600)} // of 2399, and 1200 of marks
	for i := range 600 {
		send.Spans = append(send.Spans, botmesh.Span{From: 4 * i, To: 4*i + 1, Style: botmesh.StyleBold})
	}
	short := botmesh.Send{Text: send.Text[:800], Spans: send.Spans[:200]}
	double := send
	double.Text, double.Spans = send.Text+send.Text, slices.Clone(send.Spans)
	for _, span := range send.Spans[:400] {
		double.Spans = append(double.Spans, botmesh.Span{From: 2400 + span.From, To: 2400 + span.To, Style: botmesh.StyleBold})
	}
	for name, c := range map[string]struct {
		text    botmesh.Send
		buttons [][]botmesh.Button
		media   *botmesh.Media
		want    []int // lengths as they are sent
	}{
		"whole":         {send, nil, nil, []int{3600}},
		"file and menu": {short, many, &botmesh.Media{Kind: botmesh.MediaImage, URL: bill}, []int{0, 1258}},
		"cut":           {double, nil, nil, []int{4091, 2707}},
		"buttons":       {send, row("Yes"), nil, []int{3069, 529}},
		"numbered":      {double, many, nil, []int{4091, 2766}},
		"file":          {send, nil, &botmesh.Media{Kind: botmesh.MediaImage, URL: bill}, []int{0, 3600}},
	} {
		c.text.Buttons, c.text.Media = c.buttons, c.media
		parts, err := provider.Split(s, c.text)
		var got []int
		for _, p := range parts {
			got = append(got, text.Unit.Len(shown(p).Text))
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: got %v, lengths (-want +got):\n%s", name, err, diff)
		}
	}
}

// paired checks that a text differs from the plain one by pairs of marks in its lines.
func paired(t rapid.TB, plain, got string) {
	letters := strings.NewReplacer("*", "", "_", "", "~", "", "`", "")
	if diff := cmp.Diff(letters.Replace(plain), letters.Replace(got)); diff != "" {
		t.Fatalf("%q but for marks (-want +got):\n%s", got, diff)
	}
	if (strings.Count(got, fence)-strings.Count(plain, fence))%2 != 0 {
		t.Fatalf("got %q of %q, want lines of code to end", got, plain)
	}
	before, after := strings.Split(plain, "\n"), strings.Split(got, "\n")
	for i := range before {
		for _, sign := range []string{"*", "_", "~"} {
			if added := strings.Count(after[i], sign) - strings.Count(before[i], sign); added%2 != 0 {
				t.Fatalf("got %q of %q, want pairs of %s", after[i], before[i], sign)
			}
		}
	}
}

// SPEC: O8
func TestCallShowsMarks(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	send := styled("Done. See it", "Done.", "bold")
	send.Spans = append(send.Spans, botmesh.Span{From: 10, To: 12, Style: botmesh.StyleLink, URL: "https://example.org/7"})
	const want = "*Done.* See it (https://example.org/7)"
	twins := row("A", "A")
	file := &botmesh.Media{Kind: botmesh.MediaDocument, URL: bill}
	for n, c := range []struct {
		buttons [][]botmesh.Button
		media   *botmesh.Media
		want    string
	}{{nil, nil, want}, {row("Yes"), nil, want}, {nil, file, want}, {twins, nil, want + "\n\n1. A\n2. A"}, {twins, file, want + "\n\n1. A\n2. A"}} {
		send.Buttons, send.Media = c.buttons, c.media
		parts, err := provider.Split(s, send)
		if err != nil || len(parts) != 1 {
			t.Fatalf("got %d parts and %v, want one", len(parts), err)
		}
		_, err = s.Call(t.Context(), to(nora, parts[0]))
		if got := wa.Texts(nora); err != nil || len(got) != n+1 || got[n] != c.want {
			t.Errorf("got %q and %v, want %q at last", got, err, c.want)
		}
	}
}

// A part that is too long with its marks, which Split makes none of, is sent without.
func TestCallLeavesOutMarks(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	for n, most := range []int{MaxText, MaxCaption, maxBody} {
		for _, short := range []int{1, 2} {
			send := botmesh.Send{Text: strings.Repeat("é", most-short), Spans: []botmesh.Span{{To: 2 * (most - short), Style: botmesh.StyleBold}}}
			if n == 1 {
				send.Media = &botmesh.Media{Kind: botmesh.MediaImage, URL: bill}
			}
			if n == 2 {
				send.Buttons = row("Yes")
			}
			want := send.Text
			if short == 2 {
				want = "*" + want + "*"
			}
			_, err := s.Call(t.Context(), to(nora, send))
			if got := wa.Texts(nora); err != nil || got[len(got)-1] != want {
				t.Errorf("%d characters of %d: got %v, want them, with marks if they fit", most-short, most, err)
			}
		}
	}
}

// A refusal that quotes the text as it was written, with its marks, does not tell it.
//
// SPEC: W2
func TestMarkedTextIsNotTold(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	wa.Script(func(_, text string) fakeplatform.Fault {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": 100, "message": "Invalid parameter: " + text}})
		return fakeplatform.Fault{Status: http.StatusBadRequest, Body: string(body)}
	})
	send := botmesh.Send{Text: "Your code is 4711, Ada", Spans: []botmesh.Span{{From: 13, To: 17, Style: botmesh.StyleBold}}}
	_, err := s.Call(t.Context(), to(noraPhone, send))
	if want := "whatsapp: 100 Invalid parameter: <text>"; err == nil || err.Error() != want || !provider.IsPermanent(err) {
		t.Errorf("got %v, want %s for good", err, want)
	}
}
