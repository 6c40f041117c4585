package rediscoord

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/internal/redistest"
)

var header = regexp.MustCompile(`(?s)^-- (\w+): [^\n]+\n-- KEYS  (.+?)\n-- ARGV  (.+?)\n-- GIVES ([^\n]+)\n[^-]`)

// Every script begins with the header that tells what it takes, and uses what it
// tells: each key and argument, and no other.
func TestScriptHeaders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) != 7 {
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
		if h[1] != "line" && h[1] != "lock" {
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

// A renewal that comes late finds its lease run out: it revives nothing, and wakes
// who is next.
func TestRenewLate(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(t)
	calls := newWires(Config{Client: client, Lease: time.Minute})
	past := strconv.FormatInt(time.Now().Add(-time.Millisecond).UnixMilli(), 10)
	future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	for name, test := range map[string]struct {
		line   []any
		reply  reply
		holder string
	}{
		"alone":          {nil, reply{int64(0), int64(0)}, ""},
		"another waits":  {[]any{"t:b/00/1", "2 1 2 0 " + future + " 3600000"}, reply{int64(0), int64(1)}, "b/00/1"},
		"the dead waits": {[]any{"t:b/00/1", "2 1 2 0 " + past + " 3600000"}, reply{int64(0), int64(0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fields := append([]any{"fence", "7", "holder", "a/00/1", "until", past, "lease", "1000"}, test.line...)
			client.HSet(t.Context(), name, fields...)
			got, err := calls.do(t.Context(), &call{script: renewScript, key: name, args: []any{"a/00/1", "wake:", 1000, 1000, 1000, 7}})
			if diff := cmp.Diff(test.reply, got); diff != "" || err != nil {
				t.Errorf("reply (-want +got), %v:\n%s", err, diff)
			}
			after := client.HGetAll(t.Context(), name).Val()
			if after["holder"] != test.holder || after["before"] != "a/00" || after["clean"] != "0" || after["deaths"] != "1" {
				t.Errorf("got %v, want holder %q, before a/00, not clean", after, test.holder)
			}
		})
	}
}
