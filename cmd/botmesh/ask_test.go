package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
)

// asked runs a command and reads what it shows as JSON.
func asked[T any](t *testing.T, env []string, args ...string) (got T) {
	t.Helper()
	code, stdout, stderr := finished(t, env, append(args, "-o", "json")...)
	if code != 0 {
		t.Fatalf("%v: got exit code %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: got %s, want JSON: %v", args, stdout, err)
	}
	return got
}

// With BOTMESH_ADMIN_URL a command reaches no server but a worker, which says who it
// was that acted.
func TestACommandAsksAWorker(t *testing.T) {
	t.Parallel()
	const token = "BOTMESH_ADMIN_TOKEN=0123456789abcdef"
	private := freeAddr(t)
	dev := startDev(t, t.TempDir(), freeNATS(t), token, "BOTMESH_ADMIN_LISTEN="+private)
	b := newBrowser(t, dev.addr)
	b.say("/count")
	if got := b.hear(); got != "count: 1" {
		t.Fatalf("got %q, want count: 1", got)
	}
	chat := "webchat/" + b.chat
	env := []string{token, "BOTMESH_ADMIN_URL=http://" + private, "BOTMESH_NATS_URL=nats://127.0.0.1:1", "BOTMESH_REDIS_URL=redis://127.0.0.1:1/0"}
	if all := asked[[]admin.Chat](t, env, "chats", "ls", "--all"); len(all) != 1 || all[0].Chat != chat {
		t.Errorf("got %+v, want the chat %s alone", all, chat)
	}
	if all := asked[[]admin.Record](t, env, "journal", "ls", "--since=1h", "--last=5"); len(all) != 1 || all[0].Chat != chat || all[0].Message != nil {
		t.Errorf("got %+v, want the record, without what it says", all)
	}
	if all := asked[[]admin.Record](t, env, "journal", "show", chat, "--from=1", "--until=2100-01-02T15:04:05Z"); len(all) != 1 || all[0].Message.Text != "/count" {
		t.Errorf("got %+v, want the record in full", all)
	}
	if all := asked[[]admin.Record](t, env, "journal", "ls", "--from=2"); len(all) != 0 {
		t.Errorf("got %+v, want none behind the first", all)
	}
	if code, _, stderr := finished(t, env, "chats", "pause", chat, "--reason=ana talks to them"); code != 0 {
		t.Fatalf("got exit code %d: %s", code, stderr)
	}
	if got := asked[admin.Chat](t, env, "chats", "show", chat); got.State != admin.StatePaused {
		t.Errorf("got state %q, want it paused", got.State)
	}
	if code, _, stderr := finished(t, env, "chats", "resume", chat, "--skip"); code != 0 {
		t.Fatalf("got exit code %d: %s", code, stderr)
	}
	var by string
	for _, act := range asked[[]acts.Act](t, env, "acts", "ls", "--chat="+chat) {
		by = act.By
	}
	if _, list, _ := finished(t, env, "acts", "ls"); !strings.Contains(list, "chats pause "+chat+": ana talks to them\n") {
		t.Errorf("got %s, want the reason of the pause", list)
	}
	if !strings.Contains(by, "@") {
		t.Errorf("got %q as who resumed it, want the user and the machine", by)
	}
	for name, test := range map[string]struct {
		env  []string
		code int
		says string
	}{
		"another token": {[]string{"BOTMESH_ADMIN_TOKEN=another-token-of-16", env[1]}, 2, "has another BOTMESH_ADMIN_TOKEN"},
		"no token":      {env[1:], 2, "BOTMESH_ADMIN_TOKEN is needed"},
		"nobody there":  {[]string{token, "BOTMESH_ADMIN_URL=http://127.0.0.1:1"}, 1, "no worker answers at http://127.0.0.1:1 (BOTMESH_ADMIN_URL): dial tcp"},
		"another page":  {[]string{token, "BOTMESH_ADMIN_URL=http://" + dev.addr}, 2, "404 Not Found: BOTMESH_ADMIN_URL must be the private address of a worker"},
	} {
		code, _, stderr := finished(t, test.env, "chats", "ls")
		if code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", name, code, stderr, test.code, test.says)
		}
	}
	dev.stop(t)
}
