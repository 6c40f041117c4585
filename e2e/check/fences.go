package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// Fences judges nothing but turns that were taken, by their keys: whether the grants
// of each can be put into one order, each between its call and its result, in which the
// fence only grows, and no fence was given twice (I6). An order that was not found in
// time is an error too: nothing is proved then.
func Fences(takes map[string][]history.Operation) error {
	w := &world{v: &Verdict{Findings: []Finding{{ID: "I6"}}}}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(takes)) {
		c := &chat{key: key, ops: map[history.Kind][]history.Operation{history.Take: takes[key]}}
		if what, ok := w.ordered(c, w.grants(c)); !ok {
			errs = append(errs, fmt.Errorf("%s: no order of its grants lets the fence grow: %s", key, what))
		}
	}
	for _, v := range w.finding("I6").Violations {
		errs = append(errs, fmt.Errorf("%s: %s", v.Chat, v.Account))
	}
	for _, why := range w.v.Vacuous {
		errs = append(errs, errors.New(why))
	}
	return errors.Join(errs...)
}
