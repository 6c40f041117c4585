package botmesh_test

import (
	"go/ast"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/e2e/probe"
)

const guaranteesFile = "docs/guarantees.md"

var (
	faultListed = regexp.MustCompile(`^- \*\*(\d+)\*\* \S`)
	faultCited  = regexp.MustCompile(`(?m)^FAULT: (\d+) https://\S+$`)
	quoted      = regexp.MustCompile("`[^`]+`")
)

// notBuilt ends the item of a fault that nothing can show yet.
const notBuilt = "*Not built yet.*"

// proofs are the tests by their rooms, and the faults that each says it plays.
func proofs(t *testing.T) (tests map[string][]string, faults map[string][]string) {
	t.Helper()
	tests, faults = map[string][]string{}, map[string][]string{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.test || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			tests[f.Name.Name] = append(tests[f.Name.Name], s.room)
			for _, m := range faultCited.FindAllStringSubmatch(f.Doc.Text(), -1) {
				faults[m[1]] = append(faults[m[1]], f.Name.Name)
			}
		}
	}
	return tests, faults
}

func guarantees(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guaranteesFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What befell others is impossible here only as long as somebody tries it.
func TestEveryFaultThatOthersHadHasItsTest(t *testing.T) {
	t.Parallel()
	_, cited := proofs(t)
	missing, unknown := faultsWithout(guarantees(t), slices.Collect(maps.Keys(cited)))
	for _, n := range missing {
		t.Errorf("%s lists fault %s, and no test says FAULT: %s and where it was reported", guaranteesFile, n, n)
	}
	for _, n := range unknown {
		t.Errorf("%q plays fault %s, which %s does not list as one that can be played", cited[n], n, guaranteesFile)
	}
	if len(cited) == 0 {
		t.Error("no test plays a fault: this test looks for the wrong thing")
	}
}

// faultsWithout are the faults that a text lists and nobody plays, and those that
// are played and not listed, or listed as not built.
func faultsWithout(text string, played []string) (missing, unknown []string) {
	listed := map[string]bool{}
	for line := range strings.Lines(text) {
		m := faultListed.FindStringSubmatch(line)
		if m == nil || strings.HasSuffix(strings.TrimSpace(line), notBuilt) {
			continue
		}
		listed[m[1]] = true
		if !slices.Contains(played, m[1]) {
			missing = append(missing, m[1])
		}
	}
	for _, n := range played {
		if !listed[n] {
			unknown = append(unknown, n)
		}
	}
	return missing, unknown
}

func TestAFaultWithoutATestIsNoticed(t *testing.T) {
	t.Parallel()
	text := "- **1** a\n- **2** b\n- **3** c " + notBuilt + "\n- **4** d " + notBuilt + "\n- **C5** a rule\n"
	missing, unknown := faultsWithout(text, []string{"2", "4", "9"})
	if !slices.Equal(missing, []string{"1"}) || !slices.Equal(unknown, []string{"4", "9"}) {
		t.Errorf("got missing %q and unknown %q, want 1, and 4 and 9", missing, unknown)
	}
}

// A guarantee that names a test is worth what the test is, and nothing without it.
func TestWhatTheGuaranteesNameIsThere(t *testing.T) {
	t.Parallel()
	tests, _ := proofs(t)
	var names []string
	for _, r := range rooms(t) {
		names = append(names, r.name())
	}
	faults := labFaults(t)
	named, played, room := 0, 0, ""
	for n, line := range strings.Split(guarantees(t), "\n") {
		if line == "" || strings.HasPrefix(line, "|") {
			room = "" // a room is named once in a paragraph or a row
		}
		for _, word := range quoted.FindAllString(line, -1) {
			word = strings.Trim(word, "`")
			switch {
			case slices.Contains(names, word):
				room = word
			case strings.HasPrefix(word, "Test"):
				named++
				if !slices.Contains(tests[word], room) {
					t.Errorf("%s:%d names %s of %q, which is in %q", guaranteesFile, n+1, word, room, tests[word])
				}
			case room == labRoom:
				played++
				if !faults(word) {
					t.Errorf("%s:%d names the fault %q, which the lab does not do", guaranteesFile, n+1, word)
				}
			}
		}
	}
	if named < 20 || played < 20 {
		t.Errorf("got %d tests and %d faults named in %s: this test looks for the wrong thing", named, played, guaranteesFile)
	}
}

// labRoom is the room whose faults stand behind its name.
const labRoom = "e2e/lab"

// labFaults knows what the lab does: the kinds of its table, its part poison, and its
// crash points, all or those that begin with a word.
func labFaults(t *testing.T) func(name string) bool {
	t.Helper()
	kinds := map[string]bool{"poison": true, "crash": true, "blind": true}
	for _, s := range sources(t) {
		if s.room != labRoom || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, _ := pair.Key.(*ast.Ident)
			value, _ := pair.Value.(*ast.BasicLit)
			if key != nil && value != nil && key.Name == "name" {
				kinds[strings.Trim(value.Value, `"`)] = true
			}
			return true
		})
	}
	return func(name string) bool {
		point, ok := strings.CutPrefix(name, "crash=")
		if !ok {
			return kinds[name]
		}
		return slices.ContainsFunc(probe.Points(), func(p probe.CrashPoint) bool { return strings.HasPrefix(p.Name, point) })
	}
}

func TestTheLabsFaultsAreKnown(t *testing.T) {
	t.Parallel()
	faults := labFaults(t)
	for name, want := range map[string]bool{
		"kill worker": true, "crash": true, "crash=commit": true, "poison": true, "blind": true,
		"kill nobody": false, "crash=nothing": false, "commit": false,
	} {
		if got := faults(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}
