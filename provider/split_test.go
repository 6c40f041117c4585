package provider

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
			if diff := cmp.Diff(c.want, (Splitter{Unit: UTF16, Max: 12}).Split(c.text)); diff != "" {
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
		limit := rapid.IntRange(26, 60).Draw(t, "limit") // the longest character has 25 bytes
		s := Splitter{Unit: rapid.SampledFrom([]Unit{UTF16, CodePoints, Bytes}).Draw(t, "unit"), Max: limit, Marks: "-"}
		last := rapid.IntRange(26, limit).Draw(t, "last")
		parts := s.SplitLast(text, last)
		var got, want []string
		for i, p := range parts {
			if most := bound(i, len(parts), limit, last); s.Unit.Len(p) > most {
				t.Fatalf("part %d of %d: got %d units, want at most %d", i, len(parts), s.Unit.Len(p), most)
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

func bound(part, parts, limit, last int) int {
	if part == parts-1 {
		return last
	}
	return limit
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

func FuzzSplit(f *testing.F) {
	f.Add(strings.Repeat("a ", 100), 7)
	f.Add("👩‍👩‍👧‍👦\xff\x00", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 2 || limit > 100 {
			return
		}
		for _, p := range (Splitter{Unit: UTF16, Max: limit, Marks: "*`"}).Split(text) {
			if Unit(UTF16).Len(p) > limit || (blank(p) && !blank(text)) {
				t.Errorf("got the part %q of %d units, want one that is not blank and at most %d", p, Unit(UTF16).Len(p), limit)
			}
		}
	})
}

// SPEC: O8
func TestSplitUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unit Unit
		want int
	}{"UTF16": {UTF16, 5}, "CodePoints": {CodePoints, 4}, "Bytes": {Bytes, 10}} {
		if got := c.unit.Len("aé\xff😀"); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// SPEC: O8
func TestSplitKeepsPairsOfMarksWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"one two *three four*":   {"one two", "*three four*"},
		"*one two three four*":   {"*one two", "three four*"}, // longer than a part
		"one * two three four":   {"one * two", "three four"}, // alone
		"one *two* three four":   {"one *two*", "three four"},
		"use snake_case_x_y":     {"use", "snake_case_x", "_y"}, // no mark within a word
		"at one a_b c_d e":       {"at one a_b", "c_d e"},
		"one _two *x*_ three":    {"one", "_two *x*_", "three"},
		"one two *x\nthree* y z": {"one two *x", "three* y z"}, // pairs end with the line
	} {
		if diff := cmp.Diff(want, (Splitter{Unit: CodePoints, Max: 12, Marks: "*_"}).Split(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// SPEC: O8
func TestSplitLast(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"short":                              {"short"},
		"one two three":                      {"one two", "three"},
		"one two three four five six":        {"one two three four", "five six"},
		"onetwothreefourfive sixseven":       {"onetwothreefourfive", "sixseven"},
		"aaaa bbbb cccc dddd eeee ffff gggg": {"aaaa bbbb cccc dddd", "eeee ffff", "gggg"},
	} {
		got := (Splitter{Unit: CodePoints, Max: 20}).SplitLast(text, 8)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	rows := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}, {Label: "No", Payload: "n"}}, {}, {{Label: "Maybe", Payload: "m"}}}
	for text, want := range map[string]string{
		"Sure?": "Sure?\n\n1. Yes\n2. No\n3. Maybe",
		"":      "1. Yes\n2. No\n3. Maybe",
	} {
		if diff := cmp.Diff(botmesh.Send{Text: want}, Numbered(botmesh.Send{Text: text, Buttons: rows})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
