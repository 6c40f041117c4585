package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/botmesh-go/botmesh/internal/config"
)

// Each verb is explained to those who operate a bot, and what is explained exists.
func TestTheVerbsOfOperationsExist(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("botmesh"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var there, told []string
	for _, leaf := range parser.Model.Leaves(false) {
		there = append(there, "botmesh "+leaf.Path())
	}
	for _, verb := range regexp.MustCompile(`(?m)^botmesh (?:[a-z]+ )?[a-z]+\b`).FindAllString(string(text), -1) {
		if !slices.Contains(there, verb) {
			if verb = regexp.MustCompile(`^botmesh [a-z]+`).FindString(verb); !slices.Contains(there, verb) {
				t.Errorf("docs/operations.md has %q, which is no command", verb)
			}
		}
		told = append(told, verb)
	}
	for _, verb := range there {
		if !slices.Contains(told, verb) {
			t.Errorf("docs/operations.md has no example of %q", verb)
		}
	}
}

// Wherever a page shows a command, its verb and flags exist. Those of operations.md and
// runbooks.md are run, too: e2e TestEveryCommandForOperatorsRuns.
func TestTheCommandsOfEveryPageExist(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commands{}, kong.Name("botmesh"))
	must(t, err)
	shown := regexp.MustCompile("(?m)(?:^ *|`)(?:go run \\./cmd/)?botmesh ([a-z][^`#\n]*)(?:`| #|$)")
	found := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../deploy/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		must(t, err)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			must(t, err)
			for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
				found++
				if err := exists(parser.Model.Node, m[1]); err != nil {
					t.Errorf("%s has \"botmesh %s\": %v", page, m[1], err)
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("found %d commands: the pages are not read as they are written", found)
	}
}

// exists says what of a command is not there: its verb, or a flag that is no setting.
func exists(at *kong.Node, line string) error {
	loaded, _ := config.Load(config.Input{Args: strings.Fields(line)}) // a value may be missing
	for _, word := range loaded.Rest {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case word == "…":
			return nil
		case strings.HasPrefix(word, "-"):
			if !slices.ContainsFunc(slices.Concat(at.AllFlags(true)...), func(f *kong.Flag) bool { return f.Name == name || string(f.Short) == name }) {
				return fmt.Errorf("no flag %s", word)
			}
		case at.Type != kong.CommandNode || len(at.Children) > 0:
			i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return slices.Contains(strings.Split(word, "|"), n.Name) })
			if i < 0 {
				return fmt.Errorf("no verb %s", word)
			}
			at = at.Children[i]
		}
	}
	return nil
}
