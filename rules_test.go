package botmesh

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const rulesFile = "docs/rules.md"

var (
	citation   = regexp.MustCompile(`\b(SPEC|DESIGN|HOLE)\b:?((?:[ ,/–-]+(?:and )?[A-Z]\d+\b)+)`)
	ruleID     = regexp.MustCompile(`[A-Z]\d+`)
	definition = regexp.MustCompile(`^- \*\*([A-Z]\d+)\*\* \S`)
)

// A test that cites a rule says what it proves only if one can look the rule up.
func TestEveryRuleThatIsCitedIsDefinedOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	rules, twice := definedRules(string(text))
	for _, rule := range twice {
		t.Errorf("%s defines %s twice", rulesFile, rule)
	}
	cited := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".lua", ".md"}, filepath.Ext(path)):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(source), "\n") {
			for _, rule := range citedRules(line) {
				cited++
				if !rules[rule] {
					t.Errorf("%s:%d cites %s, which %s does not define", path, n+1, rule, rulesFile)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited == 0 {
		t.Error("no rule is cited anywhere: this test looks for the wrong thing")
	}
}

func TestCitationsAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"// SPEC: J4 T1":                         {"SPEC J4", "SPEC T1"},
		"x() // SPEC J4: and why":                {"SPEC J4"},
		"// DESIGN I1 I2":                        {"DESIGN I1", "DESIGN I2"},
		"// HOLE H5":                             {"HOLE H5"},
		"// SPEC: T9 C2. HOLE: H8.":              {"SPEC T9", "SPEC C2", "HOLE H8"},
		"// SPEC: J2, J9, DESIGN §3":             {"SPEC J2", "SPEC J9"},
		"-- DESIGN N4 and C5 (see `HOLE H10`)":   {"DESIGN N4", "DESIGN C5", "HOLE H10"},
		"// DESIGN: the table of §5. HOLE: H1":   {"HOLE H1"},
		"// Redis R1, an INSPEC C5 and MD5":      nil,
		"// SPEC O2 O3, DESIGN C3 D1: two hands": {"SPEC O2", "SPEC O3", "DESIGN C3", "DESIGN D1"},
	} {
		if diff := cmp.Diff(want, citedRules(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestARuleDefinedTwiceIsNoticed(t *testing.T) {
	t.Parallel()
	rules, twice := definedRules("- **C5** of no list\n## SPEC\n- **C5** a\n## DESIGN\n- **C5** b\n### more\n- **C5** c\n")
	if diff := cmp.Diff(map[string]bool{"SPEC C5": true, "DESIGN C5": true}, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DESIGN C5"}, twice); diff != "" {
		t.Errorf("twice (-want +got):\n%s", diff)
	}
}

// citedRules are the rules that a line names, each with its list: "SPEC T3".
func citedRules(line string) (rules []string) {
	for _, m := range citation.FindAllStringSubmatch(line, -1) {
		for _, id := range ruleID.FindAllString(m[2], -1) {
			rules = append(rules, fmt.Sprint(m[1], " ", id))
		}
	}
	return rules
}

// definedRules reads the lists of rules: a second-level heading begins a list, and
// each of its items that begins with an id defines one.
func definedRules(text string) (rules map[string]bool, twice []string) {
	rules = make(map[string]bool)
	list := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			list = strings.TrimSpace(name)
			continue
		}
		m := definition.FindStringSubmatch(line)
		if m == nil || list == "" {
			continue
		}
		rule := list + " " + m[1]
		if rules[rule] {
			twice = append(twice, rule)
		}
		rules[rule] = true
	}
	return rules, twice
}
