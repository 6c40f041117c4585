package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// One process with nothing installed: a chat in the browser, a conversation that
// goes on after a restart, and the other commands on what it keeps.
//
// SPEC: D3 H8 J7 W3
func TestDev(t *testing.T) {
	t.Parallel()
	dir, nats := t.TempDir(), freeNATS(t)
	// A Redis that is away: what it alone knows is said to be missing.
	env := []string{"BOTMESH_NATS_URL=" + nats, "BOTMESH_REDIS_URL=redis://127.0.0.1:1"}

	dev := startDev(t, dir, nats)
	chat := newBrowser(t, dev.addr)
	chat.say("/order")
	first := chat.hear()
	chat.say("pizza")
	second := chat.hear()
	if first == second {
		t.Fatalf("got %q twice, want two questions", first)
	}
	said := dev.stop(t)
	for _, want := range []string{nats, "BOTMESH_TELEGRAM_SECRET", "Stopped", "BOTMESH_ADMIN_TOKEN_FILE=" + filepath.Join(dir, "admin.token")} {
		if !strings.Contains(said, want) {
			t.Errorf("got %q, want it to mention %s", said, want)
		}
	}

	private := freeAddr(t)
	dev = startDev(t, dir, nats, "BOTMESH_ADMIN_LISTEN="+private)
	session := chat.chat
	chat.addr = dev.addr
	chat.open()
	if chat.chat != session {
		t.Errorf("got another session after a restart, want %s", session)
	}
	for _, answer := range []string{"2", "yes"} {
		chat.say(answer)
		second = chat.hear()
	}
	if want := "ordered: 2 x pizza"; second != want {
		t.Errorf("got %q, want %q", second, want)
	}

	key := "webchat/" + session
	for name, tt := range map[string]struct {
		args []string
		want []string
		code int
	}{
		"ls":             {[]string{"journal", "ls", "--chat", key}, []string{"SEQ", key, "message", "4"}, 0},
		"show":           {[]string{"journal", "show", key}, []string{"#1 ", "    /order\n", "    pizza\n", "    yes\n"}, 0},
		"replay":         {[]string{"journal", "replay", key}, []string{"user: /order", "bot:  " + first, "bot:  ordered: 2 x pizza", "replayed 4 records with the demo bot; nothing was sent or written"}, 0},
		"replay json":    {[]string{"journal", "replay", key, "-o", "json"}, []string{`"result": "applied"`, `"text": "ordered: 2 x pizza"`}, 0},
		"replay range":   {[]string{"journal", "replay", key, "--from=2", "--to=3", "--since=1h"}, []string{"#2 ", "#3 ", "replayed 3 records, of which 2 are shown"}, 0},
		"ls until":       {[]string{"journal", "ls", "--until=1h"}, []string{"SEQ"}, 0},
		"ls last":        {[]string{"journal", "ls", "--last=1"}, []string{"SEQ", "\n4 "}, 0},
		"chats ls":       {[]string{"chats", "ls", "--all"}, []string{"CHAT", key + "  idle   0  "}, 0},
		"chats ls limit": {[]string{"chats", "ls", "--all", "--limit=1"}, []string{key + "  idle   0  ", "there may be more than 1: see --limit and --state\n"}, 0},
		"chats show":     {[]string{"chats", "show", key}, []string{key + "  idle\n", "\ncheckpoint  revision ", "cursor 4"}, 0},
		"timeline":       {[]string{"chats", "timeline", key}, []string{"  record   #1  message", "  letter   #", "  receipt  #", "  commit   #"}, 0},
		"timeline since": {[]string{"chats", "timeline", key, "--since=2000-01-02T15:04:05Z"}, []string{"  record   #1  message"}, 0},
		"timeline later": {[]string{"chats", "timeline", key, "--since=2100-01-02T15:04:05Z", "-o", "json"}, []string{"[]\n"}, 0},
		"timeline text":  {[]string{"chats", "timeline", key, "--text", "--limit=4", "-o", "json"}, []string{`"text": "ordered: 2 x pizza"`}, 0},
		"drop of none":   {[]string{"dlq", "drop", "--all"}, []string{"nothing to do: there is no dead letter of that kind\n"}, 0},
		"plan json":      {[]string{"streams", "plan", "-o", "json"}, []string{"[]\n"}, 0},
		"plan":           {[]string{"streams", "plan"}, []string{"all streams are as wanted\n"}, 0},
		"plan of other":  {[]string{"streams", "plan", "--retention=200h"}, []string{"BOT_demo_INBOX differs", "max_age"}, 3},
		"plan of none":   {[]string{"streams", "plan", "--bot=other", "-o", "json"}, []string{`"stream": "BOT_other_INBOX"`, `"absent": true`}, 3},
		"doctor":         {[]string{"doctor"}, []string{"fine     replicas      botmesh dev has all in one process, without Redis\n", "fine     chats "}, 0},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: the server stops after them
			code, stdout, stderr := finished(t, env, tt.args...)
			if code != tt.code || stderr != "" {
				t.Errorf("got code %d and %q, want %d and nothing", code, stderr, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("got\n%s\nwant %q in it", stdout, want)
				}
			}
			if strings.Contains(stdout, " \n") {
				t.Errorf("got\n%s\nwant no spaces at the end of a line", stdout)
			}
			if strings.Contains(strings.Join(tt.args, " "), "json") && !json.Valid([]byte(stdout)) {
				t.Errorf("got %s, want JSON", stdout)
			}
		})
	}

	// What its process alone knows is asked of it.
	if code, _, stderr := finished(t, env, "leases", "ls"); code != 1 || !strings.Contains(stderr, "without Redis. Ask it: set BOTMESH_ADMIN_URL") {
		t.Errorf("leases: got code %d and %q, want to be told whom to ask", code, stderr)
	}
	ask := []string{"BOTMESH_ADMIN_URL=http://" + private, "BOTMESH_ADMIN_TOKEN_FILE=" + filepath.Join(dir, "admin.token")}
	if code, _, stderr := finished(t, ask, "leases", "ls"); code != 0 {
		t.Errorf("leases, asked as it says: got code %d and %q, want 0", code, stderr)
	}

	// Records are delivered again where that is asked for, and more than one where it is confirmed.
	code, stdout, stderr := finished(t, env, "journal", "replay", key, "--deliver")
	if code != 2 || !strings.Contains(stdout, "would be done: journal replay "+key+" 1-4") || !strings.Contains(stderr, "run 4 records of "+key+" again, #1 to #4") {
		t.Errorf("deliver all: got code %d, %q and %q, want to be asked for --yes", code, stdout, stderr)
	}
	code, stdout, stderr = finished(t, env, "journal", "replay", key, "--deliver", "--from=1", "--to=1")
	if code != 0 || !strings.Contains(stdout, "to run again, behind all others: 1;") {
		t.Errorf("deliver one: got code %d, %q and %q, want it done", code, stdout, stderr)
	}
	if again := chat.hear(); again != first {
		t.Errorf("got %q, want %q again", again, first)
	}

	// A longer retention than chats are remembered for is refused, unless forced.
	code, _, stderr = finished(t, env, "streams", "apply", "--retention=2000h")
	if code == 0 || !strings.Contains(stderr, "tombstones") {
		t.Errorf("apply: got code %d and %q, want it refused because of the tombstones", code, stderr)
	}
	code, stdout, stderr = finished(t, env, "streams", "apply", "--retention=2000h", "--force")
	if code != 0 || !strings.Contains(stdout, "BOT_demo_INBOX was changed\n") || !strings.Contains(stdout, ", is now 2000h0m0s\n") {
		t.Errorf("forced: got code %d, %q and %q, want 0 and what was changed", code, stdout, stderr)
	}
	code, _, stderr = finished(t, env, "journal", "ls", "--bot=other")
	if want := "botmesh: bot other has no streams here: check BOTMESH_BOT, or run botmesh streams apply\n"; code != 1 || stderr != want {
		t.Errorf("another bot: got code %d and %q, want 1 and %q", code, stderr, want)
	}
	if _, stdout, _ := finished(t, env, "streams", "apply", "--bot=other"); !strings.Contains(stdout, "BOT_other_INBOX was made\n") {
		t.Errorf("apply: got %q, want what was made", stdout)
	}
	if _, stdout, _ := finished(t, env, "streams", "plan", "--retention=2000h"); stdout != "all streams are as wanted\n" {
		t.Errorf("after apply: got %q, want no difference", stdout)
	}

	// One folder is one server's.
	if code, _, stderr := finished(t, env, "dev", "--dir", dir, "--admin-listen=127.0.0.1:0"); code == 0 || !strings.Contains(stderr, "used by another process") {
		t.Errorf("a second dev: got code %d and %q, want it refused", code, stderr)
	}
	dev.stop(t)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  string
		args []string
		code int
		want string
	}{
		"no command":      {"", nil, 2, "see botmesh --help"},
		"unknown command": {"", []string{"jornal"}, 2, "unexpected argument jornal"},
		"unknown flag":    {"", []string{"version", "--lease-time=1s"}, 2, "unknown flag --lease-time"},
		"flag, no value":  {"", []string{"--bot"}, 2, "--bot: needs a value"},
		"bad setting":     {"BOTMESH_LEASE=x", []string{"config", "print"}, 2, "BOTMESH_LEASE must be"},
		"bad time":        {"", []string{"journal", "ls", "--since=yesterday"}, 2, "such as 2030-01-02T15:04:05Z, or how long ago"},
		"bad chat":        {"", []string{"journal", "show", "telegram"}, 2, `"telegram" is not a chat key`},
		"no NATS":         {"BOTMESH_NATS_URL=" + freeNATS(t), []string{"streams", "plan"}, 1, "can not be reached"},
		"NATS elsewhere":  {"BOTMESH_NATS_URL=nats://far:4222", []string{"dev", "--dir", t.TempDir(), "--admin-listen=127.0.0.1:0"}, 2, "dev runs its own NATS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := finished(t, []string{tt.env}, tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || !strings.HasPrefix(stderr, "botmesh: ") {
				t.Errorf("got code %d and %q, want %d and %q", code, stderr, tt.code, tt.want)
			}
		})
	}
}

func TestWithoutAServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"version": {[]string{"version"}, []string{"botmesh devel\n"}},
		"help":    {[]string{"--help"}, []string{"dev", "journal", "streams", "config", "Every setting is a flag too"}},
		"config":  {[]string{"config", "print", "--bot=mine"}, []string{"bot", "mine", "--bot", "telegram_token", "***", "BOTMESH_TELEGRAM_TOKEN"}},
		"json":    {[]string{"config", "print", "-o", "json"}, []string{`"key": "telegram_token",`, `"value": "***",`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := finished(t, []string{"BOTMESH_TELEGRAM_TOKEN=hunter2"}, tt.args...)
			if code != 0 || stderr != "" {
				t.Errorf("got code %d and %q, want 0 and nothing", code, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("got\n%s\nwant %q in it", stdout, want)
				}
			}
			if strings.Contains(stdout, "hunter2") {
				t.Errorf("a secret was printed:\n%s", stdout)
			}
		})
	}
}
