package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lock writes down what chats that wait in flows depend on: each flow with its state, and
// each step with its kind of answer and the names it had. It is text to be kept beside the
// code, so that [Diff] can tell what a change of the code does to them. Flows that are
// called are in it too.
//
//	flow order {item:string,quantity:int}
//	step order/item text
//	step order/quantity int
//	was order/count order/quantity
func Lock(flows ...Definition) string {
	var lines []string
	seen := map[Definition]bool{}
	for _, f := range flows {
		f.walk(seen, func(d Definition) { lines = append(lines, d.lock()...) })
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// lock is the flow's part of a lock.
func (f *Flow[S]) lock() []string {
	lines := []string{"flow " + f.name + " " + f.schema}
	for id, s := range f.steps {
		lines = append(lines, fmt.Sprintf("step %s/%s %s", f.name, id, s.kind))
		for _, old := range s.was {
			lines = append(lines, fmt.Sprintf("was %s/%s %s/%s", f.name, old, f.name, id))
		}
	}
	return lines
}

// Diff says what becomes of the chats that wait in the flows of an older [Lock] when a
// newer build runs, a line for each flow and step where that is not simply to go on.
func Diff(older, newer string) (changes []string) {
	for _, c := range compare(older, newer) {
		changes = append(changes, c.text)
	}
	return changes
}

// Strands are the lines of [Diff] that leave waiting chats without a way to go on: a step
// is gone, or a field of the state has another type.
func Strands(older, newer string) (changes []string) {
	for _, c := range compare(older, newer) {
		if c.strands {
			changes = append(changes, c.text)
		}
	}
	return changes
}

// change is a line of Diff.
type change struct {
	text    string
	strands bool
}

func compare(older, newer string) (changes []change) {
	was, is := readLock(older), readLock(newer)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		what, rest, _ := strings.Cut(name, " ")
		now, ok := is[name]
		if to := is["was "+rest]; what == "step" && !ok && to != "" {
			now, ok = is["step "+to], true
		}
		switch {
		case what == "was", ok && now == was[name]:
		case !ok:
			changes = append(changes, change{name + ": gone, who waits there is stranded until /cancel", true})
		case what == "flow":
			text := fmt.Sprintf("%s: its state was %s and is %s, in which fields of another type can not be read", name, was[name], now)
			changes = append(changes, change{text, !readable(was[name], now)})
		default:
			text := fmt.Sprintf("%s: was %s and is %s, a reply that is not understood so gets the new question", name, was[name], now)
			changes = append(changes, change{text, false})
		}
	}
	return changes
}

// readable reports whether a value of one schema can be read as one of another, in which
// fields may be new or gone.
func readable(was, is string) bool {
	older, struct1 := fields(was)
	newer, struct2 := fields(is)
	if was == is || !struct1 || !struct2 {
		return was == is
	}
	for name, schema := range older {
		if now, kept := newer[name]; kept && !readable(schema, now) {
			return false
		}
	}
	return true
}

// fields are the schemas of the fields of a struct's schema, by name.
func fields(schema string) (map[string]string, bool) {
	if len(schema) < 2 || schema[0] != '{' || schema[len(schema)-1] != '}' {
		return nil, false
	}
	inner := schema[1 : len(schema)-1]
	of := map[string]string{}
	depth, began := 0, 0
	for i, c := range inner + "," {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				name, field, _ := strings.Cut(inner[began:i], ":")
				of[name], began = field, i+1
			}
		}
	}
	return of, true
}

// readLock reads the lines that Lock wrote: what follows the first two words of each, by
// these. Other lines are passed over.
func readLock(text string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) == 3 && slices.Contains([]string{"flow", "step", "was"}, words[0]) {
			lines[words[0]+" "+words[1]] = words[2]
		}
	}
	return lines
}
