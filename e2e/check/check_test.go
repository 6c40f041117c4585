package check

import (
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// calls makes a history of one chat: each word is the number of a reply, with
// the name of the process that sent it in front, 10 ms apart, each answered
// after 2 ms.
func calls(words string) []Call {
	var out []Call
	for i, w := range strings.Fields(words) {
		by, text, _ := strings.Cut(w, ":")
		at := time.Duration(i+1) * 10 * ms
		out = append(out, Call{Chat: "7", Text: "count: " + text, By: by, At: at, Done: at + 2*ms})
	}
	return out
}

func TestRepliesAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		calls   string
		faults  []Fault
		want    int
		repeats int
	}{
		"nothing asked, nothing sent":            {"", nil, 0, 0},
		"each once, in order":                    {"a:1 b:2 a:3", nil, 3, 0},
		"killed in the call":                     {"a:1 a:2 b:2 b:3", []Fault{{"a", 21 * ms}}, 3, 1},
		"killed before the receipt":              {"a:1 a:2 b:2 b:3", []Fault{{"a", 26 * ms}}, 3, 1},
		"killed before the call came through":    {"a:1 a:2 b:2 b:3", []Fault{{"a", 16 * ms}}, 3, 1},
		"killed with two sends in doubt":         {"a:1 a:2 b:1 b:2 b:3", []Fault{{"a", 16 * ms}, {"a", 21 * ms}}, 3, 2},
		"killed again while it repeats":          {"a:1 b:1 c:1 c:2", []Fault{{"a", 11 * ms}, {"b", 21 * ms}}, 2, 2},
		"the last one repeated":                  {"a:1 a:2 b:2", []Fault{{"a", 23 * ms}}, 2, 1},
		"only the second of two in doubt called": {"a:1 a:2 b:2 b:3", []Fault{{"a", 22 * ms}}, 3, 1},
		"all lost their server":                  {"a:1 b:1 b:2", []Fault{{"", 11 * ms}}, 2, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := History{Calls: calls(tt.calls), Faults: tt.faults, Confirm: 5 * ms}
			repeats, err := Replies(h, map[string][]string{"7": Counts(tt.want)})
			if err != nil {
				t.Errorf("got %v, want no error", err)
			}
			if len(repeats) != tt.repeats {
				t.Errorf("got %d repeats, want %d", len(repeats), tt.repeats)
			}
		})
	}
}

func TestRepliesFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	killed := []Fault{{"a", 21 * ms}}
	tests := map[string]struct {
		calls  string
		faults []Fault
		want   int
		says   string
	}{
		"lost":                          {"a:1 a:3", nil, 3, `"count: 3" before "count: 2"`},
		"lost at the end":               {"a:1 a:2", nil, 4, `2 of 4 texts, want also "count: 3" "count: 4"`},
		"all lost":                      {"", nil, 2, `0 of 2`},
		"swapped":                       {"a:2 a:1", nil, 2, `"count: 2" before "count: 1"`},
		"doubled for nothing":           {"a:1 a:1", nil, 1, `"count: 1" again`},
		"doubled by two for nothing":    {"a:1 b:1", nil, 1, `"count: 1" again`},
		"doubled, another was killed":   {"b:1 b:2 a:2", killed, 2, `"count: 2" again`},
		"doubled long after the answer": {"a:1 a:2 b:1 b:2", []Fault{{"a", 25 * ms}}, 2, `"count: 1" again`},
		"killed long before the call":   {"a:1 a:2 b:2", []Fault{{"a", 14 * ms}}, 2, `"count: 2" again`},
		"doubled before the kill":       {"a:1 a:1 b:2", []Fault{{"a", 30 * ms}}, 2, `"count: 1" again`},
		"repeated twice, killed once":   {"a:1 a:2 b:2 b:2", killed, 2, `"count: 2" again`},
		"repeated too far back":         {"a:1 a:2 a:3 b:1", []Fault{{"a", 11 * ms}}, 3, `"count: 1" again after "count: 3"`},
		"repeated out of order":         {"a:1 a:2 b:1 b:3", []Fault{{"a", 11 * ms}, {"a", 21 * ms}}, 3, `"count: 3" right after a repeated "count: 1"`},
		"one too many":                  {"a:1 a:2", nil, 1, `"count: 2", which nobody is to get`},
		"state overwritten":             {"a:1 a:2 b:2 b:3", nil, 4, `"count: 2" again`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := History{Calls: calls(tt.calls), Faults: tt.faults, Confirm: 5 * ms}
			_, err := Replies(h, map[string][]string{"7": Counts(tt.want)})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want an error that says %s", err, tt.says)
			}
		})
	}
}

func TestRepliesFindsAStrangersMessage(t *testing.T) {
	t.Parallel()
	h := History{Calls: []Call{{Chat: "8", Text: "count: 1"}}}
	if _, err := Replies(h, nil); err == nil {
		t.Error("got no error for a message to a chat that asked nothing, want one")
	}
}

func TestRepliesTellsAFewFaultsOfAChatOnly(t *testing.T) {
	t.Parallel()
	h := History{Calls: calls(strings.Repeat("a:1 ", 50))}
	_, err := Replies(h, map[string][]string{"7": Counts(1)})
	if err == nil || strings.Count(err.Error(), "\n") != maxTold || !strings.Contains(err.Error(), "and 44 more") {
		t.Errorf("got %v, want %d faults told and 44 more", err, maxTold)
	}
}

func TestRepliesAllowsAsManyCauselessRepeatsAsCallsWereLate(t *testing.T) {
	t.Parallel()
	for late, ok := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		h := History{Calls: calls("a:1 a:1 a:2 a:2 a:3"), Late: late}
		repeats, err := Replies(h, map[string][]string{"7": Counts(3)})
		if len(repeats) != 2 || (err == nil) != ok {
			t.Errorf("%d late: got %d repeats and %v, want 2 and ok %t", late, len(repeats), err, ok)
		}
	}
}

func TestRepeatsStayWithinTheDoubtCounted(t *testing.T) {
	t.Parallel()
	repeats := []Call{{By: "b", At: 10 * ms}, {By: "b", At: 20 * ms}, {By: "c", At: 30 * ms}}
	tests := map[string]struct {
		doubt Doubt
		ok    bool
	}{
		"all counted":                               {Doubt{3, map[string]time.Duration{"b": 40 * ms, "c": 40 * ms}}, true},
		"more counted than repeated":                {Doubt{9, map[string]time.Duration{"b": 40 * ms, "c": 40 * ms}}, true},
		"one not counted":                           {Doubt{2, map[string]time.Duration{"b": 40 * ms, "c": 40 * ms}}, false},
		"one that its caller died too soon to tell": {Doubt{2, map[string]time.Duration{"b": 15 * ms, "c": 40 * ms}}, true},
		"one caller never asked":                    {Doubt{2, map[string]time.Duration{"b": 40 * ms}}, true},
		"too many of those that could tell":         {Doubt{1, map[string]time.Duration{"b": 40 * ms}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.doubt.Repeats(repeats); (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %t", err, tt.ok)
			}
		})
	}
}
