package check_test

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// Of turns alone it is judged whether their fences grow.
//
// DESIGN I6.
func TestFences(t *testing.T) {
	t.Parallel()
	took := func(from, to int64, fence uint64) history.Operation {
		return history.Operation{
			Call:   history.Event{T: from, Process: "w", Kind: history.Take},
			Result: history.Event{T: to, N: 1, Outcome: history.Granted, Fence: fence},
		}
	}
	blind := func(process string, fence uint64) history.Operation {
		o := took(3, 4, fence)
		o.Call.Process, o.Result.Blind = process, true
		return o
	}
	for name, test := range map[string]struct {
		takes []history.Operation
		want  string
	}{
		"they grow":              {[]history.Operation{took(1, 2, 7), took(3, 4, 8)}, ""},
		"asked at once":          {[]history.Operation{took(1, 4, 8), took(2, 3, 7)}, ""},
		"one falls":              {[]history.Operation{took(1, 2, 8), took(3, 4, 7)}, "k: no order"},
		"one is given twice":     {[]history.Operation{took(1, 2, 7), took(3, 4, 7)}, "k: fence 7 was granted to w"},
		"two go by two clocks":   {[]history.Operation{blind("v", 7), blind("w", 7)}, ""},
		"one goes by one clock":  {[]history.Operation{blind("v", 7), blind("v", 7)}, "k: fence 7 was granted to v"},
		"one asked, one did not": {[]history.Operation{took(1, 2, 7), blind("v", 7)}, "k: fence 7 was granted to w"},
	} {
		err := check.Fences(map[string][]history.Operation{"other": {took(1, 2, 5)}, "k": test.takes})
		switch {
		case err == nil && test.want != "", err != nil && test.want == "":
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
