package config

import (
	"fmt"
	"strings"
)

// unknownKey says that nobody knows the key of s, in the words of its source.
func unknownKey(s setting, known []string) error {
	near := nearest(s.key, known)
	switch {
	case near == "":
		return fmt.Errorf("%s: unknown key %s", s.where, s.key)
	case strings.HasPrefix(s.where, envPrefix):
		return fmt.Errorf("%s: unknown variable; did you mean %s?", s.where, EnvName(near))
	default:
		return fmt.Errorf("%s: unknown key %s; did you mean %s?", s.where, s.key, near)
	}
}

// Unexpected says what is wrong with an argument of a program that takes nothing
// but settings.
func Unexpected(arg string) error {
	name, _, _ := strings.Cut(arg, "=")
	if !strings.HasPrefix(name, "-") {
		return fmt.Errorf("unexpected argument %q: settings are flags, such as --bot=demo; --help shows what there is", arg)
	}
	key := strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
	if near := nearest(key, keys()); near != "" {
		return fmt.Errorf("%s: unknown flag; did you mean %s?", name, flagName(near))
	}
	return fmt.Errorf("%s: unknown flag", name)
}

// nearest is the known key that a typing error most likely meant, empty if none
// is near.
func nearest(key string, known []string) string {
	best, least := "", max(1, len(key)/3)+1
	for _, k := range known {
		if d := distance(key, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
