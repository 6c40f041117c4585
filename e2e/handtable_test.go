package e2e

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handRow is a row of a table of hand-overs: the rules that it is about, its test, and the
// conversation or policy of that test, if it is one of several.
var handRow = regexp.MustCompile(`^\|.* \| ((?:[A-Z]\d+ ?)+) \| (Test\w+)(?:/([^|]+))? \|$`)

// Each row of the tables of hand-overs in docs/conversations.md names a test of this package,
// so that it is shown with processes; each conversation and policy of those tests has its
// row, and so has each rule of hand-overs.
func TestEveryRowOfTheHandOverTablesHasATest(t *testing.T) {
	t.Parallel()
	table := section(t, "../docs/conversations.md", "### When a worker is lost\n", "\n### What is kept")
	tests := testsHere(t)
	want := map[string]bool{}
	for _, h := range slices.Concat(waitingChats, meanwhileChats) {
		want["TestHandOver/"+h.row] = true
	}
	for _, h := range builtChats {
		want["TestAnotherBuildGoesOn/"+h.row] = true
	}
	for _, p := range policies {
		want["TestHandOverOfFlowsThatAreNotKept/"+p.row] = true
	}
	got, ruled := map[string]bool{}, map[string]bool{}
	for _, line := range handRows(table) {
		m := handRow.FindStringSubmatch(line)
		if m == nil || !strings.Contains(tests, "\nfunc "+m[2]+"(t *testing.T)") {
			t.Errorf("names no rule, or no test of this package:\n%s", line)
			continue
		}
		for _, rule := range strings.Fields(m[1]) {
			if rule[0] == 'H' {
				ruled[rule] = true
			}
		}
		if m[3] != "" {
			got[m[2]+"/"+m[3]] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conversations and policies with a row (-want +got):\n%s", diff)
	}
	rules := map[string]bool{}
	for _, m := range regexp.MustCompile(`\n- \*\*(H\d+)\*\*`).FindAllStringSubmatch(section(t, "../docs/rules.md", "\n## SPEC\n", "\n## DESIGN"), -1) {
		rules[m[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(ruled))); diff != "" || len(rules) == 0 {
		t.Errorf("rules with a row (-want +got):\n%s", diff)
	}
}

// handRows are the rows of the tables in a text that are of hand-overs: their last columns
// are rules and a test.
func handRows(text string) (rows []string) {
	in := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasSuffix(line, "| rules | test |"):
			in = true
		case !strings.HasPrefix(line, "|"):
			in = false
		case in && !strings.HasPrefix(line, "|--"):
			rows = append(rows, line)
		}
	}
	return rows
}

// section is what stands in a file between two of its parts.
func section(t *testing.T, file, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(text), from)
	part, _, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("%s has nothing from %q to %q", file, from, to)
	}
	return part
}

// testsHere is the source of this package's tests.
func testsHere(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, file := range globbed(t, "*_test.go") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
