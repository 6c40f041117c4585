package config

import (
	"bytes"
	"strings"
	"testing"
)

func TestPrintMasksSecrets(t *testing.T) {
	t.Parallel()
	l, err := Load(Input{Environ: []string{"BOTMESH_TELEGRAM_TOKEN=hunter2", "BOTMESH_REDIS_URL=redis://:hunter2@h:1"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := l.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("a secret was printed:\n%s", &out)
	}
	for _, want := range []string{"telegram_token", "***", "BOTMESH_TELEGRAM_TOKEN", "redis://***@h:1", "botmesh:demo"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", &out, want)
		}
	}
}

func TestUsageNamesEveryKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Usage(&out, map[string]string{"admin_listen": "127.0.0.1:9091"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields(&Config{}) {
		if f.help == "" {
			t.Errorf("%s has no help", f.key)
		}
		if !strings.Contains(out.String(), "  "+flagName(f.key)) {
			t.Errorf("%s is not in the usage", f.key)
		}
	}
	if !strings.Contains(out.String(), "(127.0.0.1:9091)") {
		t.Errorf("the program's own default is not in the usage:\n%s", &out)
	}
}

// Every default must be what its key accepts, and no key may look like another.
func TestKeysAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range append(keys(), fileKey) {
		if seen[k] {
			t.Errorf("key %s is there twice", k)
		}
		seen[k] = true
	}
}
