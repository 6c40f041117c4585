// Command bugs plants mistakes in the shipped code, one at a time, and says after
// how many schedules the simulation finds each.
//
// A mistake is a change of a source file that is compiled in its place: the code
// itself has no hook. One that is not found is a hole of the simulation, and the
// command fails. A few break nothing that the simulation models; the table says why,
// and runs the test that sees them, where there is one.
//
//	go run ./internal/sim/bugs [-seeds 6000] [-only C5]
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 6000, "schedules within which a bug is to be found")
	only := flag.String("only", "", "only bugs of this rule, or with this in their description")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bugs")
	if err == nil {
		err = hunt(dir, *seeds, *only)
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hunt plants each bug and prints a line of what came of it.
func hunt(dir string, seeds int, only string) error {
	fmt.Printf("%-8s %-72s %s\n", "rule", "bug", "found")
	missed, planted := 0, 0
	for _, b := range bugs() {
		if only != "" && b.rule != only && !strings.Contains(b.why, only) {
			continue
		}
		planted++
		found, err := b.hunt(dir, seeds)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", b.rule, b.why, err)
		}
		if found == "" {
			missed++
			found = fmt.Sprintf("NOT FOUND within %d schedules", seeds)
		}
		fmt.Printf("%-8s %-72s %s\n", b.rule, b.why, found)
	}
	if only == "" {
		for _, m := range missing {
			fmt.Printf("%-8s %-72s not built\n", m.rule, m.why)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d bugs were not found", missed, planted)
	}
	return nil
}

// hunt says where a bug is found, empty if it is not.
func (b bug) hunt(dir string, seeds int) (found string, err error) {
	if b.unseen != "" && b.elsewhere == "" {
		return "not visible here: " + b.unseen, nil
	}
	overlay, err := b.plant(dir)
	if err != nil {
		return "", err
	}
	if b.elsewhere != "" {
		pkg, test, _ := strings.Cut(b.elsewhere, " ")
		if out, err := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout", playTime.String(), "-run", test, pkg).CombinedOutput(); err == nil {
			return "", nil
		} else if !strings.Contains(string(out), "--- FAIL") && !strings.Contains(string(out), "panic:") {
			return "", fmt.Errorf("%s", out)
		}
		return fmt.Sprintf("by %s %s; here not: %s", pkg, test, b.unseen), nil
	}
	program := filepath.Join(dir, "sim.test")
	build := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-c", "-o", program, "./internal/sim")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return play(program, seeds)
}

// plant writes the changed file, and the overlay that puts it in the place of the
// other.
func (b bug) plant(dir string) (overlay string, err error) {
	text, err := os.ReadFile(b.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		return "", fmt.Errorf("%s holds %q %d times, want once", b.file, b.old, n)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), b.old, b.new, 1)), 0o600); err != nil {
		return "", err
	}
	path, err := filepath.Abs(b.file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

var broken = regexp.MustCompile(`broken: (\S+)`)

// playTime bounds how long the schedules of one bug may take, and another test of it.
const playTime = 4 * time.Minute

// play lets the simulation look for a bug.
func play(program string, seeds int) (found string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), playTime)
	defer cancel()
	began := time.Now()
	out, err := exec.CommandContext(ctx, program, "-test.run", "^TestSimulation$", "-hunt", "-seeds", fmt.Sprint(seeds)).CombinedOutput()
	if err == nil {
		return "", nil
	}
	last, rule := "?", "by a panic"
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "play "); ok {
			last = n
		}
		if m := broken.FindStringSubmatch(lines.Text()); m != nil {
			rule = "as " + m[1]
		}
	}
	if ctx.Err() != nil {
		rule = "as a run that does not end"
	}
	return fmt.Sprintf("in schedule %s, %s, after %d ms", last, rule, time.Since(began).Milliseconds()), nil
}
