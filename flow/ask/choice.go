package ask

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// ChoiceQuestion takes one of a few values, by a button or in writing.
type ChoiceQuestion[T ~string] struct {
	values []T
	labels []string
}

// Choice takes one of values. The user may press its button or write its value,
// its label or its number, counted from 1, in whatever case.
func Choice[T ~string](values ...T) ChoiceQuestion[T] {
	q := ChoiceQuestion[T]{values: slices.Clone(values)}
	for _, v := range values {
		q.labels = append(q.labels, string(v))
	}
	return q
}

// Labels sets how the values are shown, in their order. Without it a value is its
// own label.
func (q ChoiceQuestion[T]) Labels(labels ...string) ChoiceQuestion[T] {
	q.labels = slices.Clone(labels)
	return q
}

// Parse reads an answer. What is the value of one choice and the label or number
// of another is the value.
func (q ChoiceQuestion[T]) Parse(m botmesh.Message) (T, error) {
	if m.Payload != "" {
		if i := slices.Index(q.values, T(m.Payload)); i >= 0 {
			return q.values[i], nil
		}
	}
	if i := q.find(m.Text); i >= 0 {
		return q.values[i], nil
	}
	return "", hint("Please choose one: %s.", q.labels)
}

// find is the index of what the user wrote, -1 if it is no choice.
func (q ChoiceQuestion[T]) find(text string) int {
	said := strings.TrimSpace(text)
	is := func(s string) bool { return strings.EqualFold(s, said) }
	if i := slices.IndexFunc(q.values, func(v T) bool { return is(string(v)) }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(q.labels, is); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(strings.TrimRight(said, ".)")); err == nil && 1 <= n && n <= len(q.values) {
		return n - 1
	}
	return -1
}

// Spec is "choice" and the values, in alphabetical order.
func (q ChoiceQuestion[T]) Spec() string { return "choice(" + q.spec() + ")" }

func (q ChoiceQuestion[T]) spec() string {
	values := make([]string, len(q.values))
	for i, v := range q.values {
		values[i] = strconv.Quote(string(v))
	}
	slices.Sort(values)
	return strings.Join(values, "|")
}

// Buttons is one button a row, in the order of the values.
func (q ChoiceQuestion[T]) Buttons() [][]botmesh.Button {
	rows := make([][]botmesh.Button, len(q.values))
	for i, v := range q.values {
		rows[i] = []botmesh.Button{{Label: q.labels[i], Payload: string(v)}}
	}
	return rows
}

// Validate says what is wrong with the values and labels.
func (q ChoiceQuestion[T]) Validate() error {
	switch {
	case len(q.values) == 0:
		return errors.New("ask: a choice has no values")
	case len(q.labels) != len(q.values):
		return fmt.Errorf("ask: a choice of %d values has %d labels", len(q.values), len(q.labels))
	}
	var errs []error
	values, labels := map[string]bool{}, map[string]bool{}
	for i, v := range q.values {
		value, label := strings.ToLower(string(v)), strings.ToLower(q.labels[i])
		if value == "" || label == "" || values[value] || labels[label] {
			errs = append(errs, fmt.Errorf("ask: choice %q, labelled %q, is empty or there twice", v, q.labels[i]))
		}
		values[value], labels[label] = true, true
	}
	return errors.Join(errs...)
}
