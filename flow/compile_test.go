package flow_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What is wrong in testdata/wrong is told by the compiler, line by line.
func TestMistakesDoNotCompile(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-e", "./testdata/wrong").CombinedOutput()
	if err == nil {
		t.Fatal("got no error of the compiler, want some")
	}
	told := map[int]string{}
	for _, m := range regexp.MustCompile(`wrong\.go:(\d+):\d+: (.*)`).FindAllStringSubmatch(string(out), -1) {
		line, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		told[line] = m[2]
	}
	f, err := os.Open("testdata/wrong/wrong.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if marked := strings.HasSuffix(lines.Text(), "// ERROR"); marked != (told[n] != "") {
			t.Errorf("line %d, %s: got error %q of the compiler, marked: %t", n, strings.TrimSpace(lines.Text()), told[n], marked)
		}
	}
	if len(told) == 0 {
		t.Errorf("got no lines of errors in:\n%s", out)
	}
}
