package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Suffix is how the names of history files end.
const Suffix = ".jsonl"

// All wants every event.
func All(string) bool { return true }

// ReadDir reads and merges the histories of a directory: the events of the chats that
// are wanted, by their keys, and under the empty key those of no chat.
func ReadDir(dir string, want func(chat string) bool) ([]Event, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var all []Event
	for _, file := range files {
		if all, err = read(all, file, want); err != nil {
			return nil, err
		}
	}
	Sort(all)
	return all, nil
}

// chatField begins the field of a line that holds the chat. Within a text the quotes
// would be escaped.
var chatField = []byte(`"chat":"`)

// read adds what is wanted of a file. What a process wrote when it died may end within
// a line: such an end is left out.
func read(to []Event, file string, want func(chat string) bool) ([]Event, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return to, nil
		}
		if err != nil { // no event is as long as the buffer
			return nil, fmt.Errorf("history: %s: line %d: %w", file, n, err)
		}
		_, rest, _ := bytes.Cut(line, chatField)
		chat, _, _ := bytes.Cut(rest, []byte(`"`))
		if !want(string(chat)) {
			continue
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("history: %s: line %d: %w", file, n, err)
		}
		to = append(to, e)
	}
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
