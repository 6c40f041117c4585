package botmesh_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	metric   = regexp.MustCompile(`(\w+) += (counter|seconds|updown|gauge)\("([a-z._]+)"`)
	span     = regexp.MustCompile(`(Span\w+) += "([^"]+)"`)
	document = regexp.MustCompile("`([^`]+)`")
)

// A name that nothing sets is a dashboard that stays empty; one that is not
// written down is one that nobody looks at.
func TestEveryNameOfTelemetryIsUsedAndDocumented(t *testing.T) {
	t.Parallel()
	suffix := map[string]string{"counter": "_total", "seconds": "_seconds"}
	want := map[string]string{} // documented name, by Go name
	names := read(t, "telemetry/names.go")
	for _, m := range metric.FindAllStringSubmatch(names, -1) {
		want[m[1]] = strings.ReplaceAll(m[3], ".", "_") + suffix[m[2]]
	}
	for _, m := range span.FindAllStringSubmatch(names, -1) {
		want[m[1]] = m[2]
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for name := range want {
			used[name] = used[name] || len(s.calls("telemetry", name)) > 0
		}
	}
	page := read(t, "docs/telemetry.md")
	for name, documented := range want {
		if !used[name] {
			t.Errorf("telemetry.%s is used nowhere", name)
		}
		if !strings.Contains(page, "`"+documented+"`") {
			t.Errorf("docs/telemetry.md does not have `%s`", documented)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(bot_\\w+)`").FindAllStringSubmatch(page, -1) {
		known := false
		for _, documented := range want {
			known = known || documented == m[1]
		}
		if !known {
			t.Errorf("docs/telemetry.md has %s, which there is not", m[1])
		}
	}
}

// Lines are found by their keys: a second word for the same thing hides half of them.
func TestLogKeysAreOfOneList(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(read(t, "docs/telemetry.md"), "## Log keys")
	var known []string
	for _, m := range document.FindAllStringSubmatch(list, -1) {
		known = append(known, m[1])
	}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if _, ours := below(s.room, "e2e/...", "bench/...", "internal/natstest", "internal/redistest"); s.test || ours {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			for _, key := range logKeys(n) {
				seen[key] = true
				if !slices.Contains(known, key) {
					t.Errorf("%s:%d logs %q, which is not in docs/telemetry.md: use a key of its list, or say there what it is", s.name, s.line(n.Pos()), key)
				}
			}
			return true
		})
	}
	for _, key := range known {
		if !seen[key] && key != "trace_id" && key != "span_id" {
			t.Errorf("docs/telemetry.md has the log key %q, which nothing logs", key)
		}
	}
}

// logKeys are the keys of a call of a slog.Logger.
func logKeys(n ast.Node) (keys []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if x, ok := fn.X.(*ast.Ident); ok && x.Name == "http" { // http.Error
		return nil
	}
	first := map[string]int{ // the argument that the first key is
		"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "With": 0, "Log": 3,
		"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2,
	}
	at, ok := first[fn.Sel.Name]
	if !ok {
		return nil
	}
	for ; at+1 < len(call.Args); at += 2 {
		key, ok := call.Args[at].(*ast.BasicLit)
		if !ok || key.Kind != token.STRING {
			return nil
		}
		text, err := strconv.Unquote(key.Value)
		if err != nil {
			return nil
		}
		keys = append(keys, text)
	}
	return keys
}
