package ask

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// maxMulti bounds the values of a MultiQuestion.
const maxMulti = 60

// MultiQuestion takes several of a few values, by buttons or in writing.
type MultiQuestion[T ~string] struct {
	of       ChoiceQuestion[T]
	min, max int
	done     string
}

// Multi takes any number of values but none, in their order. The user may press
// the buttons of several, each of which shows the question again with what is
// chosen so far, and then Done; or write values, labels or numbers, counted from 1,
// with commas between them.
func Multi[T ~string](values ...T) MultiQuestion[T] {
	return MultiQuestion[T]{of: Choice(values...), min: 1, max: len(values), done: "Done"}
}

// Labels sets how the values are shown, in their order. Without it a value is its
// own label.
func (q MultiQuestion[T]) Labels(labels ...string) MultiQuestion[T] {
	q.of = q.of.Labels(labels...)
	return q
}

// Done sets what the button says that ends the choice.
func (q MultiQuestion[T]) Done(label string) MultiQuestion[T] {
	q.done = label
	return q
}

// Between bounds how many may be chosen. If that can be none, "none" says so too.
func (q MultiQuestion[T]) Between(min, max int) MultiQuestion[T] {
	q.min, q.max = min, max
	return q
}

// What the payload of a button begins with. The choice so far follows it, a bit for
// each value.
const (
	chosen   = "+" // and it goes on
	finished = "="
)

// Parse reads an answer, or a part of one.
func (q MultiQuestion[T]) Parse(m botmesh.Message) ([]T, error) {
	if set, err := strconv.ParseUint(m.Payload[min(1, len(m.Payload)):], 36, 64); err == nil && set < 1<<len(q.of.values) {
		switch {
		case strings.HasPrefix(m.Payload, chosen):
			return nil, &flow.More{Buttons: q.buttons(set)}
		case strings.HasPrefix(m.Payload, finished) && q.allows(set):
			return q.values(set), nil
		}
	}
	set, ok := q.read(m.Text)
	if !ok || !q.allows(set) {
		return nil, hint("Please choose %s: %s.", q.howMany(), q.of.labels)
	}
	return q.values(set), nil
}

// read is the choice that a text makes. Where it has no commas, spaces part it.
func (q MultiQuestion[T]) read(text string) (set uint64, ok bool) {
	text = strings.TrimSpace(text)
	if q.min == 0 && strings.EqualFold(text, "none") {
		return 0, true
	}
	if i := q.of.find(text); i >= 0 {
		return 1 << i, true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;\n", r) })
	if len(words) == 1 {
		words = strings.Fields(text)
	}
	for _, word := range words {
		i := q.of.find(word)
		if i < 0 {
			return 0, false
		}
		set |= 1 << i
	}
	return set, len(words) > 0
}

func (q MultiQuestion[T]) allows(set uint64) bool {
	n := bits.OnesCount64(set)
	return q.min <= n && n <= q.max
}

func (q MultiQuestion[T]) howMany() flow.Text {
	switch {
	case q.min == q.max:
		return flow.Text{Format: strconv.Itoa(q.min)}
	case q.max < len(q.of.values):
		return flow.Text{Format: "%d to %d", Args: []any{q.min, q.max}}
	case q.min > 1:
		return flow.Text{Format: "at least %d", Args: []any{q.min}}
	}
	return flow.Text{Format: "some"}
}

func (q MultiQuestion[T]) values(set uint64) []T {
	values := make([]T, 0, bits.OnesCount64(set))
	for i, v := range q.of.values {
		if set&(1<<i) != 0 {
			values = append(values, v)
		}
	}
	return values
}

// Spec is "multi" and the values, in alphabetical order.
func (q MultiQuestion[T]) Spec() string { return "multi(" + q.of.spec() + ")" }

// Buttons is one button a row, in the order of the values, and Done if none need be
// chosen.
func (q MultiQuestion[T]) Buttons() [][]botmesh.Button { return q.buttons(0) }

// buttons shows a choice: each value turns over, as far as there is room for more.
func (q MultiQuestion[T]) buttons(set uint64) (rows [][]botmesh.Button) {
	full := bits.OnesCount64(set) >= q.max
	for i := range q.of.values {
		label, has := q.of.labels[i], set&(1<<i) != 0
		if has {
			label = "✓ " + label
		}
		if has || !full {
			rows = append(rows, []botmesh.Button{{Label: label, Payload: chosen + strconv.FormatUint(set^1<<i, 36)}})
		}
	}
	if q.allows(set) {
		rows = append(rows, []botmesh.Button{{Label: q.done, Payload: finished + strconv.FormatUint(set, 36)}})
	}
	return rows
}

// Validate says what is wrong with the values, labels and bounds.
func (q MultiQuestion[T]) Validate() error {
	n := len(q.of.values)
	switch err := q.of.Validate(); {
	case err != nil:
		return err
	case n > maxMulti:
		return fmt.Errorf("ask: a choice of several has %d values, want at most %d", n, maxMulti)
	case q.min < 0 || q.max < max(q.min, 1) || q.max > n:
		return fmt.Errorf("ask: nobody can choose %d to %d of %d values", q.min, q.max, n)
	case q.done == "" || slices.ContainsFunc(q.of.labels, func(l string) bool { return strings.EqualFold(l, q.done) }):
		return errors.New("ask: a choice of several wants a label of its own for its end")
	}
	return nil
}
