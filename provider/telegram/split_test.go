package telegram

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
)

// SPEC: O8
func TestSplitText(t *testing.T) {
	t.Parallel()
	family := "👩‍👩‍👧‍👦" // 11 units
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"Fits":              {"  as it is  ", []string{"  as it is  "}},
		"Empty":             {"", []string{""}},
		"BetweenWords":      {"one two three four", []string{"one two", "three four"}},
		"AtTheLine":         {"one two\nthree", []string{"one two", "three"}},
		"LineTooEarly":      {"a\nb c d e f g h", []string{"a\nb c d e f", "g h"}},
		"LongWord":          {"abcdefghijklmnop", []string{"abcdefghijkl", "mnop"}},
		"LongWordAfterWord": {"ab cdefghijklmnop", []string{"ab", "cdefghijklmn", "op"}},
		"Emoji":             {family + family, []string{family, family}},
		"EmojiInWord":       {"abc" + family, []string{"abc", family}},
		"Surrogates":        {strings.Repeat("😀", 7), []string{strings.Repeat("😀", 6), "😀"}},
		"Combining":         {strings.Repeat("e\u0301", 7), []string{strings.Repeat("e\u0301", 6), "e\u0301"}},
		"OverlongCharacter": {"e" + strings.Repeat("\u0301", 13), []string{"e" + strings.Repeat("\u0301", 11), "\u0301\u0301"}},
		"BlankInTheMiddle":  {"abc" + strings.Repeat(" \n", 20) + "def", []string{"abc", "def"}},
		"OnlyBlank":         {strings.Repeat(" ", 30), []string{""}},
		"NoSpaces":          {"世界世界世界世界世界世界世", []string{"世界世界世界世界世界世界", "世"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, splitText(c.text, 12)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// SPEC: O8
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	alphabet := []string{"a", "word", " ", "\n", "\n\n", "é", "e\u0301", "😀", "👩‍👩‍👧‍👦", "🇺🇳", "世", "-", ".", "\u00a0", "שלום", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(alphabet)).Draw(t, "text"), "")
		limit := rapid.IntRange(11, 40).Draw(t, "limit") // the longest character has 11 units
		parts := splitText(text, limit)
		var got, want []string
		for i, p := range parts {
			if units(p) > limit {
				t.Fatalf("part %d: got %d units, want at most %d", i, units(p), limit)
			}
			if blank(p) && !blank(text) {
				t.Fatalf("part %d: got %q, want no blank part", i, p)
			}
			got = append(got, characters(p)...)
		}
		want = characters(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("characters of %q (-want +got):\n%s", text, diff)
		}
	})
}

// characters are the characters of s as people see them, without white space.
func characters(s string) []string {
	var out []string
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if !blank(g.Str()) {
			out = append(out, g.Str())
		}
	}
	return out
}

func blank(s string) bool {
	return strings.TrimFunc(s, unicode.IsSpace) == ""
}

func TestSplit(t *testing.T) {
	t.Parallel()
	buttons := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	long := strings.Repeat("a ", MaxText)
	parts := newSender(t, "http://127.0.0.1:1").Split(botmesh.Send{Text: long, Buttons: buttons})
	if len(parts) != 2 {
		t.Fatalf("got %d parts, want 2", len(parts))
	}
	if parts[0].Buttons != nil || cmp.Diff(buttons, parts[1].Buttons) != "" {
		t.Errorf("got buttons %v and %v, want them below the last part", parts[0].Buttons, parts[1].Buttons)
	}
	if n := units(parts[0].Text); n < MaxText-2 || n > MaxText {
		t.Errorf("got a first part of %d units, want it filled", n)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(strings.Repeat("a ", 100), 7)
	f.Add("👩‍👩‍👧‍👦\xff\x00", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 2 || limit > 100 {
			return
		}
		for _, p := range splitText(text, limit) {
			if units(p) > limit || (blank(p) && !blank(text)) {
				t.Errorf("got the part %q of %d units, want one that is not blank and at most %d", p, units(p), limit)
			}
		}
	})
}
