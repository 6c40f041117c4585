package rediscoord

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var header = regexp.MustCompile(`(?s)^-- (\w+): [^\n]+\n-- KEYS  (.+?)\n-- ARGV  (.+?)\n-- GIVES ([^\n]+)\n[^-]`)

// Every script begins with the header that tells what it takes, and uses what it
// tells: each key and argument, and no other.
func TestScriptHeaders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) != 4 {
		t.Fatalf("got scripts %v, %v", files, err)
	}
	common, err := os.ReadFile("lua/line.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h := header.FindStringSubmatch(string(source))
		if h == nil {
			t.Errorf("%s has no header", file)
			continue
		}
		if got, want := h[1], strings.TrimSuffix(filepath.Base(file), ".lua"); got != want {
			t.Errorf("%s calls itself %s", file, got)
		}
		whole := string(source)
		if h[1] != "line" {
			whole = string(common) + whole
		}
		if got, want := highest(`KEYS\[(\d+)\]`, whole), told(h[2]); got != want || want != 1 {
			t.Errorf("%s uses %d keys and tells of %d, want 1", file, got, want)
		}
		if got, want := highest(`ARGV\[(\d+)\]`, whole), told(h[3]); got != want {
			t.Errorf("%s uses %d arguments and tells of %d", file, got, want)
		}
		if n := strings.Count(string(source), "\n"); n > 120 {
			t.Errorf("%s has %d lines", file, n)
		}
	}
}

// highest is the highest number that a pattern finds.
func highest(pattern, text string) int {
	most := 0
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	return most
}

// told counts the numbered names of a header line.
func told(line string) int { return highest(`(?:^|   )(\d+) \w`, line) }
