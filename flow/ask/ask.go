// Package ask has the usual kinds of answers for the questions of a flow.
//
// A question is made by a function and refined by methods that each return it
// refined, so that one can be the start of several:
//
//	ask.Int().Range(1, 99)
//	ask.Choice(Small, Medium, Large).Labels("S", "M", "L")
//
// What belongs here: reading an answer, and the buttons that offer one. How a
// question is worded belongs to the flow, how buttons look on a platform to its
// provider.
package ask

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// hint is what the user is told after an answer that is not understood.
func hint(format string, args ...any) error { return flow.Text{Format: format, Args: args} }

// TextQuestion takes what the user writes, without the space around it.
type TextQuestion struct{ min, max int }

// Text takes any text that is not empty.
func Text() TextQuestion { return TextQuestion{min: 1, max: math.MaxInt} }

// Len bounds the length, in characters.
func (q TextQuestion) Len(min, max int) TextQuestion {
	q.min, q.max = min, max
	return q
}

// Parse reads an answer.
func (q TextQuestion) Parse(m botmesh.Message) (string, error) {
	text := strings.TrimSpace(m.Text)
	n := utf8.RuneCountInString(text)
	switch {
	case text == "":
		return "", hint("Please write a text.")
	case n < q.min:
		return "", hint("Please write at least %d characters.", q.min)
	case n > q.max:
		return "", hint("Please write at most %d characters.", q.max)
	}
	return text, nil
}

// Spec is "text".
func (TextQuestion) Spec() string { return "text" }

// Buttons is nil.
func (TextQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the bounds leave anything to answer.
func (q TextQuestion) Validate() error {
	if q.min < 0 || q.max < max(q.min, 1) {
		return fmt.Errorf("ask: no text has %d to %d characters", q.min, q.max)
	}
	return nil
}

// IntQuestion takes a whole number.
type IntQuestion struct{ min, max int }

// Int takes any whole number.
func Int() IntQuestion { return IntQuestion{min: math.MinInt, max: math.MaxInt} }

// Range bounds the number; both ends are allowed.
func (q IntQuestion) Range(min, max int) IntQuestion {
	q.min, q.max = min, max
	return q
}

// Parse reads an answer.
func (q IntQuestion) Parse(m botmesh.Message) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(m.Text))
	switch {
	case err == nil && q.min <= n && n <= q.max:
		return n, nil
	case q.min > math.MinInt && q.max < math.MaxInt:
		return 0, hint("Please send a whole number from %d to %d.", q.min, q.max)
	case q.min > math.MinInt:
		return 0, hint("Please send a whole number from %d up.", q.min)
	case q.max < math.MaxInt:
		return 0, hint("Please send a whole number up to %d.", q.max)
	}
	return 0, hint("Please send a whole number.")
}

// Spec is "int".
func (IntQuestion) Spec() string { return "int" }

// Buttons is nil.
func (IntQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the range holds a number.
func (q IntQuestion) Validate() error {
	if q.min > q.max {
		return fmt.Errorf("ask: no number is in %d to %d", q.min, q.max)
	}
	return nil
}
