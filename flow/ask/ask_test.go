package ask_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

type size string

const (
	small  size = "s"
	medium size = "m"
	second size = "2"
)

var (
	_ flow.Question[string] = ask.TextQuestion{}
	_ flow.Question[int]    = ask.IntQuestion{}
	_ flow.Question[bool]   = ask.ConfirmQuestion{}
	_ flow.Question[size]   = ask.ChoiceQuestion[size]{}
)

// answer is one answer in writing and what is made of it: a value, or a hint.
type answer[T comparable] struct {
	said string
	want T
	hint string
}

func check[T comparable](t *testing.T, q flow.Question[T], answers []answer[T]) {
	t.Helper()
	for _, a := range answers {
		got, err := q.Parse(botmesh.Message{Text: a.said})
		switch {
		case a.hint == "" && (err != nil || got != a.want):
			t.Errorf("%q: got %v, %v, want %v", a.said, got, err, a.want)
		case a.hint != "" && (err == nil || err.Error() != a.hint):
			t.Errorf("%q: got %v, hint %v, want hint %q", a.said, got, err, a.hint)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	check(t, ask.Text(), []answer[string]{
		{said: " two  words\n", want: "two  words"},
		{said: strings.Repeat("x", 5000), want: strings.Repeat("x", 5000)},
		{said: " \n", hint: "Please write a text."},
	})
	check(t, ask.Text().Len(2, 3), []answer[string]{
		{said: "é", hint: "Please write at least 2 characters."},
		{said: "éé", want: "éé"},
		{said: "ééé", want: "ééé"},
		{said: "éééé", hint: "Please write at most 3 characters."},
	})
}

func TestInt(t *testing.T) {
	t.Parallel()
	const any = "Please send a whole number."
	check(t, ask.Int(), []answer[int]{
		{said: " 7 ", want: 7}, {said: "+7", want: 7}, {said: "-7", want: -7}, {said: "007", want: 7},
		{said: "", hint: any}, {said: "seven", hint: any}, {said: "1.5", hint: any}, {said: "7 8", hint: any},
		{said: "9223372036854775808", hint: any},
	})
	check(t, ask.Int().Range(1, 99), []answer[int]{
		{said: "1", want: 1}, {said: "99", want: 99},
		{said: "0", hint: "Please send a whole number from 1 to 99."},
		{said: "100", hint: "Please send a whole number from 1 to 99."},
		{said: "many", hint: "Please send a whole number from 1 to 99."},
	})
	check(t, ask.Int().Range(1, math.MaxInt), []answer[int]{{said: "0", hint: "Please send a whole number from 1 up."}})
	check(t, ask.Int().Range(math.MinInt, 1), []answer[int]{{said: "2", hint: "Please send a whole number up to 1."}})
}

func TestChoice(t *testing.T) {
	t.Parallel()
	const hint = "Please choose one: Small, Medium, Two."
	q := ask.Choice(small, medium, second).Labels("Small", "Medium", "Two")
	check(t, q, []answer[size]{
		{said: "s", want: small}, {said: " M ", want: medium}, {said: "medium", want: medium}, {said: "TWO", want: second},
		{said: "1", want: small}, {said: "1.", want: small}, {said: "3)", want: second},
		{said: "2", want: second}, // a value comes before a number
		{said: "0", hint: hint}, {said: "4", hint: hint}, {said: "large", hint: hint}, {said: "", hint: hint},
	})
	for payload, want := range map[string]size{"m": medium, "2": second} {
		if got, err := q.Parse(botmesh.Message{Payload: payload}); got != want || err != nil {
			t.Errorf("button %q: got %q, %v, want %q", payload, got, err, want)
		}
	}
	for _, payload := range []string{"1", "Medium", "M"} {
		if got, err := q.Parse(botmesh.Message{Payload: payload}); err == nil {
			t.Errorf("button %q: got %q, want a hint", payload, got)
		}
	}
	want := [][]botmesh.Button{{{Label: "Small", Payload: "s"}}, {{Label: "Medium", Payload: "m"}}, {{Label: "Two", Payload: "2"}}}
	if diff := cmp.Diff(want, q.Buttons()); diff != "" {
		t.Errorf("buttons (-want +got):\n%s", diff)
	}
	if got := ask.Choice(small, medium).Buttons()[1][0].Label; got != "m" {
		t.Errorf("label without Labels: got %q, want the value", got)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	var answers []answer[bool]
	for _, s := range []string{"yes", "Y", " Yes! ", "1", "👍🏽", "✅", "sí", "Sí.", "si", "oui", "JA", "sim", "да", "tak", "はい", "是", "네", "نعم"} {
		answers = append(answers, answer[bool]{said: s, want: true})
	}
	for _, s := range []string{"no", "N", "NO!!", "2", "👎", "non", "nein", "não", "нет", "いいえ", "不", "아니요", "لا"} {
		answers = append(answers, answer[bool]{said: s, want: false})
	}
	for _, s := range []string{"", "maybe", "yes no", "3"} {
		answers = append(answers, answer[bool]{said: s, hint: "Please answer yes or no."})
	}
	check(t, ask.Confirm(), answers)
	check(t, ask.Confirm().Labels("Do it", "No, wait"), []answer[bool]{
		{said: "do it", want: true}, {said: "no, wait", want: false}, {said: "yes", want: true},
	})
	for payload, want := range map[string]bool{"yes": true, "no": false} {
		if got, err := ask.Confirm().Labels("Sí", "No").Parse(botmesh.Message{Payload: payload}); got != want || err != nil {
			t.Errorf("button %q: got %t, %v, want %t", payload, got, err, want)
		}
	}
	if got := ask.Confirm().Labels("Sí", "Nunca").Buttons()[0]; got[0].Label != "Sí" || got[1].Label != "Nunca" || got[0].Payload != "yes" {
		t.Errorf("buttons: got %v", got)
	}
}

// DESIGN §7: the kind of answer and its values, never wording, order or bounds.
func TestSpec(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{ask.Text().Len(2, 3).Spec(), "text"},
		{ask.Int().Range(2, 3).Spec(), "int"},
		{ask.Confirm().Labels("a", "b").Spec(), "confirm"},
		{ask.Choice(small, medium).Labels("x", "y").Spec(), `choice("m"|"s")`},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestQuestionsThatCanNotBeAsked(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]interface{ Validate() error }{
		"no text":         ask.Text().Len(3, 2),
		"empty text":      ask.Text().Len(0, 0),
		"negative":        ask.Text().Len(-1, 2),
		"no number":       ask.Int().Range(3, 2),
		"no values":       ask.Choice[size](),
		"twice":           ask.Choice[size]("a", "A"),
		"an empty value":  ask.Choice[size](""),
		"an empty label":  ask.Choice(small).Labels(""),
		"a label twice":   ask.Choice(small, medium).Labels("x", "X"),
		"missing labels":  ask.Choice(small, medium).Labels("one"),
		"the same labels": ask.Confirm().Labels("ok", "OK"),
		"no label":        ask.Confirm().Labels("", "no"),
	} {
		if err := q.Validate(); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	for name, q := range map[string]interface{ Validate() error }{
		"text":    ask.Text().Len(0, 1),
		"int":     ask.Int().Range(2, 2),
		"choice":  ask.Choice(small, medium),
		"confirm": ask.Confirm(),
	} {
		if err := q.Validate(); err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
	}
}

// Refining a question leaves the one it came from as it was.
func TestQuestionsAreValues(t *testing.T) {
	t.Parallel()
	base := ask.Choice(small, medium)
	_ = base.Labels("x", "y")
	if got := base.Buttons()[0][0].Label; got != "s" {
		t.Errorf("got label %q, want s", got)
	}
}

// Whatever a user writes is an answer or gets a hint, and an answer keeps its bounds.
func FuzzParse(f *testing.F) {
	f.Add("7", "")
	f.Add("sí", "~")
	f.Add("\xff\xf0", "s")
	f.Fuzz(func(t *testing.T, text, payload string) {
		m := botmesh.Message{Text: text, Payload: payload}
		if n, err := ask.Int().Range(1, 99).Parse(m); err == nil && (n < 1 || n > 99) {
			t.Errorf("int of %q: got %s", text, strconv.Itoa(n))
		} else if err != nil && err.Error() == "" {
			t.Errorf("int of %q: got an empty hint", text)
		}
		if s, err := ask.Text().Len(1, 10).Parse(m); err == nil && (s == "" || len([]rune(s)) > 10) {
			t.Errorf("text of %q: got %q", text, s)
		}
		if v, err := ask.Choice(small, medium).Parse(m); err == nil && v != small && v != medium {
			t.Errorf("choice of %q, %q: got %q", text, payload, v)
		}
		_, _ = ask.Confirm().Parse(m)
	})
}
