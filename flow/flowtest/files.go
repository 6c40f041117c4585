package flowtest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the files of flowtest.Files and flowtest.Lock anew, instead of testing against them")
	}
}

// Files plays each chat that is written down in a file of the pattern, such as
// "testdata/*.chat", in a subtest of its own with a bot that newBot makes, and
// compares. The form is that of [Transcript], with lines that begin with "#" and
// empty ones as the author likes: those of the user are played, those of the bot
// are what it must say.
//
//	# A taster's order.
//	> /order
//	< What would you like?
//	> pizza
//
// With "go test -update" the files are written anew, to be read and committed.
func Files(t *testing.T, pattern string, newBot func() Bot) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("chats: got %d files of %s, error %v, want some", len(files), pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t.Context(), newBot(), string(want))
			if update := flag.Lookup("update"); update.Value.String() == "true" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s goes otherwise; if that is right, write it with -update (-file +bot):\n%s", file, diff)
			}
		})
	}
}

// replay plays the user's lines of a chat that is written down, and writes it down
// again.
func replay(ctx context.Context, b Bot, written string) string {
	var out strings.Builder
	c := newChat(b)
	defer func() { _ = c.stop() }()
	lines := strings.Split(strings.TrimSuffix(written, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "> "), line == ">":
			text := strings.TrimPrefix(line[1:], " ")
			for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  "); i++ {
				text += "\n" + lines[i+1][2:]
			}
			if !c.write(ctx, &out, message(text), text) {
				return out.String()
			}
		case strings.HasPrefix(line, "! "):
			if !c.press(ctx, &out, line[2:]) {
				return out.String()
			}
		case strings.HasPrefix(line, "~ "):
			if !c.pass(ctx, &out, line[2:]) {
				return out.String()
			}
		case line == "", strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
