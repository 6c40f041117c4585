package botmesh_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The rules of the house that a compiler does not know. Each failure says why the
// rule is there.

const module = "github.com/botmesh-go/botmesh"

// house is what each room may import of Botmesh, besides the root package and
// telemetry, which all may. "name/..." is everything below name too. A room that
// is not here may import nothing.
//
// Arrows point down: a room never knows who uses it, so that each can be read,
// tested and replaced by itself.
var house = map[string][]string{
	".":         {},
	"telemetry": {},

	// What an author of a bot writes against knows no server.
	"markdown":      {},
	"flow":          {},
	"flow/ask":      {"flow"},
	"flow/flowtest": {"flow"},
	"bot":           {"flow/..."},

	// A platform knows the contract and nothing of delivery.
	"provider":                                       {},
	"provider/...":                                   {"provider", "provider/httpcall"},
	"provider/httpcall":                              {"provider"},
	"provider/providertest":                          {"provider", "ingress", "internal/jet", "journal"},
	"provider/fakeplatform":                          {},
	"provider/telegram/telegramtest":                 {"provider/fakeplatform"},
	"provider/whatsapp/whatsapptest":                 {"provider/fakeplatform"},
	"provider/slack/slacktest":                       {"provider/fakeplatform"},
	"provider/standardwebhooks/standardwebhookstest": {"provider/fakeplatform", "provider/standardwebhooks"},

	// What is kept, and where. Only these know how a stream is spoken to.
	"internal/jet":              {},
	"internal/jet/...":          {"internal/jet"},
	"journal":                   {"internal/jet"},
	"outbox":                    {"internal/jet", "provider"},
	"outbox/ratelimit":          {"outbox", "provider"},
	"streams":                   {"internal/jet"},
	"checkpoint":                {},
	"checkpoint/checkpointtest": {"checkpoint"},
	"checkpoint/natsstore":      {"checkpoint", "internal/jet"},
	"coord":                     {"coord/internal/..."},
	"coord/coordtest":           {"coord"},
	"coord/rediscoord":          {"coord", "coord/internal/..."},
	"coord/internal/...":        {},

	// Who joins them: the dispatcher knows no bot, the ingress no worker.
	"dispatcher":          {"acts", "internal/limit", "journal", "coord", "checkpoint", "outbox"},
	"ingress":             {"provider", "journal", "coord", "outbox"},
	"ingress/spool":       {"internal/jet"},
	"ingress/ingressmain": {"ingress", "internal/ingressd", "internal/program", "provider"},
	"worker": {"bot", "checkpoint/natsstore", "coord", "dispatcher", "flow", "ingress", "internal/config", "internal/engine", "internal/jet", "internal/program",
		"internal/replay", "internal/workerd", "journal", "outbox/...", "outbox", "provider"},

	"dev": {"bot", "ingress", "internal/devd", "internal/program", "provider"},

	// What operators look at, and do.
	"acts":  {"internal/jet"},
	"admin": {"acts", "checkpoint", "coord", "flow", "internal/jet", "journal", "markdown", "outbox"},

	// The programs. What is below internal/ here is theirs alone.
	"telemetry/export":  {},
	"internal/config":   {},
	"internal/private":  {},
	"internal/program":  {"internal/config", "internal/private", "internal/tlsfiles", "telemetry/export"},
	"internal/doctor":   {"admin", "coord", "ingress", "provider", "streams"},
	"internal/engine":   {"acts", "checkpoint/natsstore", "coord/...", "internal/config", "internal/jet", "internal/tlsfiles", "journal", "outbox", "streams"},
	"internal/ingressd": {"coord", "ingress", "ingress/spool", "internal/config", "internal/engine", "internal/jet", "internal/private", "internal/program", "internal/tlsfiles", "journal", "outbox", "provider/..."},
	"internal/workerd": {"acts", "admin", "checkpoint/...", "coord/...", "dispatcher", "internal/config", "internal/doctor", "internal/engine", "internal/jet", "internal/private",
		"internal/program", "internal/replay", "journal", "outbox/...", "provider/...", "streams"},
	"internal/devd": {"bot", "coord", "ingress", "internal/config", "internal/ingressd", "internal/natsd", "internal/private", "internal/program", "internal/workerd",
		"outbox/ratelimit", "provider", "worker"},
	"internal/limit":   {},
	"internal/replay":  {"checkpoint", "coord", "internal/jet", "internal/limit", "journal", "outbox"},
	"internal/sim/...": {"..."},
	"cmd/...":          {"..."},

	// Tests, measurements and what is there to be copied.
	"internal/tlsfiles/...":  {},
	"internal/natsd":         {},
	"internal/natstest":      {"internal/natsd"},
	"internal/redistest":     {},
	"internal/telemetrytest": {},
	"deploy/...":             {"..."},
	"e2e/...":                {"..."},
	"bench/...":              {"..."},
	"examples/...":           {"bot", "flow/...", "markdown", "worker"},
	"examples/provider":      {"bot", "ingress", "provider", "provider/httpcall", "worker"},
}

// engines are modules that only some rooms may import themselves.
var engines = []struct {
	path, why string
	rooms     []string
}{
	{"github.com/nats-io/nats-server/", "a program that links the server is a server; only development and tests are",
		[]string{"internal/natsd", "internal/natstest"}},
	{"github.com/nats-io/", "what a stream answers is read in few places",
		[]string{"internal/jet/...", "acts", "journal", "outbox", "streams", "checkpoint/natsstore", "internal/natsd", "internal/natstest", "internal/doctor", "internal/engine", "internal/ingressd", "internal/workerd", "cmd/botmesh", "e2e/...", "bench/..."}},
	{"github.com/redis/", "Redis decides nothing that must be right, so nobody else may lean on it",
		[]string{"coord/rediscoord", "outbox/ratelimit", "internal/doctor", "internal/engine", "internal/workerd", "internal/redistest", "e2e/...", "bench/..."}},
	{"go.opentelemetry.io/otel/sdk", "the SDK is the programs' choice; a room uses the API",
		[]string{"telemetry/export", "internal/telemetrytest"}},
	{"net/http", "these decide, and talk to nobody",
		[]string{"provider/...", "ingress", "admin", "internal/private", "internal/ingressd", "internal/workerd", "telemetry/export", "worker", "cmd/...", "e2e/...", "examples/model", "examples/provider", "bench/...", "provider"}},
	{"github.com/cenkalti/backoff/v5", "version 4 is the one in use; two would drift apart", nil},
}

// readers may look into the environment. All others are told by their caller, so
// that a setting has one name and one place.
var readers = []string{"internal/config", "internal/program", "cmd/...", "examples/...", "internal/redistest", "internal/natstest", "e2e/...", "bench/..."}

const (
	maxFile     = 400 // lines of a source file: more is two files
	maxFunction = 60  // lines of a function: more is two functions
)

// room is a package of the module.
type room struct {
	ImportPath, Dir, Doc                     string
	GoFiles, TestGoFiles, XTestGoFiles       []string
	Imports, TestImports, XTestImports, Deps []string
}

// name is the room's path below the module, "." for the root.
func (r room) name() string { return roomName(r.ImportPath) }

func roomName(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// all are the rooms of the house.
var all = sync.OnceValues(func() ([]room, error) { return list("./...") })

func rooms(t *testing.T) []room {
	t.Helper()
	rooms, err := all()
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

func list(patterns ...string) (rooms []room, err error) {
	out, err := exec.Command("go", append([]string{"list", "-json"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var r room
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return rooms, nil
		} else if err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
	}
}

// below reports whether name is one of the patterns, of which the longest that
// fits is returned.
func below(name string, patterns ...string) (best string, ok bool) {
	for _, p := range patterns {
		prefix, all := strings.CutSuffix(p, "...")
		fits := name == strings.TrimSuffix(prefix, "/") || all && strings.HasPrefix(name, prefix)
		if fits && (!ok || len(p) > len(best)) {
			best, ok = p, true
		}
	}
	return best, ok
}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		entry, ok := below(r.name(), slices.Collect(maps.Keys(house))...)
		if !ok {
			t.Errorf("%s is not in the table of this test: say what it may import", r.name())
			continue
		}
		allowed := append(house[entry], ".", "telemetry", r.name()+"/...")
		for _, path := range r.Imports {
			if !strings.HasPrefix(path, module) {
				continue
			}
			if _, ok := below(roomName(path), allowed...); !ok {
				t.Errorf("%s imports %s: arrows point down, from who uses to who is used; %s may import %q", r.name(), roomName(path), entry, house[entry])
			}
		}
	}
}

func TestEngines(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		for _, path := range r.Imports {
			for _, e := range engines {
				if !strings.HasPrefix(path, e.path) {
					continue
				}
				if _, ok := below(r.name(), e.rooms...); !ok {
					t.Errorf("%s imports %s: %s", r.name(), path, e.why)
				}
				break // the first that fits counts
			}
		}
		for _, path := range slices.Concat(r.TestImports, r.XTestImports) {
			if strings.HasPrefix(path, "github.com/cenkalti/backoff/v5") {
				t.Errorf("the tests of %s import %s", r.name(), path)
			}
		}
	}
}

// What a program links, it can be attacked through and must be kept up to date.
func TestProgramsLinkNoMoreThanTheyNeed(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		if r.name() != "cmd/ingress" && r.name() != "cmd/worker" {
			continue
		}
		forbidden := []string{"github.com/nats-io/nats-server/", "testing"}
		if r.name() == "cmd/ingress" {
			forbidden = append(forbidden, module+"/dispatcher", module+"/worker")
		}
		for _, dep := range r.Deps {
			for _, f := range forbidden {
				if dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f) {
					t.Errorf("%s links %s", r.name(), dep)
				}
			}
		}
	}
}

func TestPackagesAreExplained(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		if r.Doc == "" && len(r.GoFiles) > 0 {
			t.Errorf("%s has no package comment: say what belongs there and what does not", r.name())
		}
	}
}

// source is a parsed file.
type source struct {
	room string
	name string
	test bool
	file *ast.File
	fset *token.FileSet
}

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

func sources(t *testing.T) (files []source) {
	t.Helper()
	for _, r := range rooms(t) {
		for i, names := range [][]string{r.GoFiles, r.TestGoFiles, r.XTestGoFiles} {
			for _, name := range names {
				s := source{room: r.name(), name: r.name() + "/" + name, test: i > 0, fset: token.NewFileSet()}
				var err error
				if s.file, err = parser.ParseFile(s.fset, filepath.Join(r.Dir, name), nil, parser.ParseComments); err != nil {
					t.Fatal(err)
				}
				files = append(files, s)
			}
		}
	}
	return files
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if lines := s.line(s.file.FileEnd); lines > maxFile {
			t.Errorf("%s has %d lines, want at most %d", s.name, lines, maxFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if lines := s.line(d.End()) - s.line(d.Pos()) + 1; ok && lines > maxFunction {
				t.Errorf("%s: %s has %d lines, want at most %d", s.name, f.Name.Name, lines, maxFunction)
			}
		}
	}
}

func TestExportsAreExplained(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		last := 0 // line of the declaration before, whose comment goes for those that touch it
		for _, d := range s.file.Decls {
			joined := last > 0 && s.line(d.Pos()) == last+1
			last = s.line(d.End())
			for _, name := range unexplained(d) {
				if joined {
					continue
				}
				t.Errorf("%s: %s has no comment: say what it does, and what may have happened on an error", s.name, name)
			}
		}
	}
}

// unexplained are the exported names that d declares without a comment. One
// comment is enough for a group, and for the methods that an interface asks for.
func unexplained(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		obvious := d.Recv != nil && d.Name.Name == "Error"
		if d.Name.IsExported() && d.Doc == nil && !obvious && (d.Recv == nil || exported(d.Recv.List[0].Type)) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					names = append(names, s.Names[0].Name)
				}
			}
		}
	}
	return names
}

func exported(receiver ast.Expr) bool {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return exported(r.X)
	case *ast.IndexExpr:
		return exported(r.X)
	case *ast.Ident:
		return r.IsExported()
	}
	return false
}

// calls are the lines of a file where pkg.name is used.
func (s source) calls(pkg string, names ...string) (lines []int) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg && slices.Contains(names, sel.Sel.Name) {
			lines = append(lines, s.line(n.Pos()))
		}
		return true
	})
	return lines
}

func (s source) imports(path string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// A test that sleeps is slow where the machine is fast and fails where it is slow:
// it waits for what it wants to see, or runs in a bubble of testing/synctest.
func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	bubbles := map[string]bool{}
	files := sources(t)
	for _, s := range files {
		bubbles[s.room] = bubbles[s.room] || s.test && s.imports("testing/synctest")
	}
	for _, s := range files {
		if !s.test || bubbles[s.room] {
			continue
		}
		for _, line := range s.calls("time", "Sleep") {
			t.Errorf("%s:%d sleeps: wait for what is to be seen, or use testing/synctest", s.name, line)
		}
	}
}

func TestEnvironmentIsReadInFewPlaces(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if _, ok := below(s.room, readers...); ok || s.test {
			continue
		}
		for _, line := range s.calls("os", "Getenv", "LookupEnv", "Environ") {
			t.Errorf("%s:%d reads the environment: take it from the caller's Config", s.name, line)
		}
	}
}
