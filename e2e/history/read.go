package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Suffix is how the names of history files end.
const Suffix = ".jsonl"

// ReadDir reads and merges all histories of a directory.
func ReadDir(dir string) ([]Event, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return Read(files...)
}

// Read reads files and returns their events in the order of time. What a process
// wrote when it died may end within a line: such an end is left out.
func Read(files ...string) ([]Event, error) {
	var all []Event
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		events, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("history: %s: %w", file, err)
		}
		all = append(all, events...)
	}
	Sort(all)
	return all, nil
}

func parse(data []byte) ([]Event, error) {
	var events []Event
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			break
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		events, data = append(events, e), rest
	}
	return events, nil
}

// Sort puts events into the order of time, those of one process and instant into
// the order of their numbers.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Start, b.Start), cmp.Compare(a.N, b.N))
	})
}

// Forever is when an operation without a result returned.
const Forever = int64(math.MaxInt64)

// Operation is a call with its result.
type Operation struct {
	Call Event
	// Result is the zero Event if there is none: the process died, or the run ended.
	Result Event
}

// Known reports whether the operation has a result.
func (o Operation) Known() bool { return o.Result.N != 0 }

// Until is when the operation returned, [Forever] if it did not.
func (o Operation) Until() int64 {
	if !o.Known() {
		return Forever
	}
	return o.Result.T
}

// Operations pairs the calls of some kinds with their results, in the order of the
// calls.
func Operations(events []Event, kinds ...Kind) []Operation {
	type id struct {
		start string
		n     uint64
	}
	place := map[id]int{}
	var ops []Operation
	for _, e := range events {
		switch {
		case !slices.Contains(kinds, e.Kind):
		case e.Phase == Began:
			place[id{e.Start, e.N}] = len(ops)
			ops = append(ops, Operation{Call: e})
		case e.Phase == Ended:
			if i, ok := place[id{e.Start, e.Of}]; ok {
				ops[i].Result = e
			}
		}
	}
	return ops
}
