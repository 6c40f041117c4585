package devd

import (
	"os"
	"path/filepath"
	"testing"
)

// What a crash or a full disk left is no secret, and is none for good.
func TestKeptSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there string
		kept  string // empty for one that is made
	}{
		"Empty":    {"", ""},
		"Blank":    {" \n\n                  \n", ""},
		"Short":    {"only-15-letters\n", ""},
		"Long":     {"sixteen--letters", "sixteen--letters"},
		"FromEcho": {"a secret of the tests\n", "a secret of the tests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(test.there), 0o600); err != nil {
				t.Fatal(err)
			}
			checkKept(t, path, test.kept)
		})
	}
	t.Run("Missing", func(t *testing.T) {
		t.Parallel()
		checkKept(t, filepath.Join(t.TempDir(), "token"), "")
	})
}

// checkKept fails unless the file's secret is want, or a new one if that is empty, at this start and the next.
func checkKept(t *testing.T, path, want string) {
	t.Helper()
	first, err := keptSecret(path)
	if err != nil || len(first.Reveal()) < minSecret || want != "" && first.Reveal() != want {
		t.Errorf("got %d bytes, %v, want a secret, and the one that is there if it is one", len(first.Reveal()), err)
	}
	again, err := keptSecret(path)
	if err != nil || again.Reveal() != first.Reveal() {
		t.Errorf("got another secret or %v at the next start, want the same", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file that only its owner reads", info, err)
	}
	if rest, err := filepath.Glob(path + ".*"); err != nil || rest != nil {
		t.Errorf("got %q beside it, %v, want nothing", rest, err)
	}
}
