package botmesh

import (
	"os"
	"strings"
	"testing"
)

// The README's program is one that is built.
func TestTheReadmeShowsAProgramThatBuilds(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/order/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	if !strings.HasSuffix(string(program), code) || code == "" {
		t.Error("the first go block of README.md is not the program of examples/order/main.go")
	}
}
