package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
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
