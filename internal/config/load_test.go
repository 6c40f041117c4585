package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write puts text in a file of the test's own and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func source(l Loaded, key string) string {
	for _, v := range l.Values {
		if v.Key == key {
			return v.Source
		}
	}
	return "no such key"
}

func TestLoadFirstSourceWins(t *testing.T) {
	t.Parallel()
	path := write(t, "botmesh.yaml", "# ours\nbot: filed\nlease: 7s\nnats:\n  url: nats://filed:4222\ntries: 7\n")
	got, err := Load(Input{
		Args:     []string{"journal", "--bot=flagged", "ls", "--config", path, "-o", "json"},
		Environ:  []string{"BOTMESH_BOT=envied", "BOTMESH_LEASE=8s", "BOTMESH_SETTLE=", "HOME=/root", "BOTMESH_DEMO_CRASH=1"},
		Defaults: map[string]string{"listen": "127.0.0.1:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"flagged", 8 * time.Second, "nats://filed:4222", 7, time.Minute, "127.0.0.1:1", "botmesh:flagged"}
	have := []any{got.Bot, got.Lease, got.NATS.URL.Reveal(), got.Tries, got.Settle, got.Listen, got.Prefix}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("settings differ (-want +got):\n%s", d)
	}
	for key, want := range map[string]string{
		"bot": "--bot", "lease": "BOTMESH_LEASE", "nats_url": path + ":5", "settle": "default",
	} {
		if got := source(got, key); got != want {
			t.Errorf("source of %s: got %q, want %q", key, got, want)
		}
	}
	if d := cmp.Diff([]string{"journal", "ls", "-o", "json"}, got.Rest); d != "" {
		t.Errorf("other arguments differ (-want +got):\n%s", d)
	}
}

func TestLoadSecretsFromFiles(t *testing.T) {
	t.Parallel()
	token := write(t, "token", "12:abc\n")
	got, err := Load(Input{Environ: []string{
		"BOTMESH_TELEGRAM_TOKEN_FILE=" + token, "BOTMESH_REDIS_URL_FILE=" + write(t, "redis", "redis://:pw@h:1/0"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := got.Telegram.Token.Reveal(); got != "12:abc" {
		t.Errorf("token: got %q, want 12:abc", got)
	}
	if got := got.Redis.URL.Reveal(); got != "redis://:pw@h:1/0" {
		t.Errorf("redis: got %q, want the file's text", got)
	}
	if got, want := source(got, "telegram_token"), "BOTMESH_TELEGRAM_TOKEN_FILE"; got != want {
		t.Errorf("source: got %q, want %q", got, want)
	}
}

// A flag's file beats the environment's value: the key is one, however it is given.
func TestLoadFileOfAFlagBeatsTheEnvironment(t *testing.T) {
	t.Parallel()
	got, err := Load(Input{
		Args:    []string{"--telegram-token-file", write(t, "token", "flag")},
		Environ: []string{"BOTMESH_TELEGRAM_TOKEN=env"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := got.Telegram.Token.Reveal(); got != "flag" {
		t.Errorf("token: got %q, want flag", got)
	}
}

func TestLoadProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args, env []string
		file      string
		want      []string
	}{
		"near variable": {env: []string{"BOTMESH_TELEGRAM_TOKN=x"}, want: []string{"BOTMESH_TELEGRAM_TOKN: unknown variable; did you mean BOTMESH_TELEGRAM_TOKEN?"}},
		"far variable":  {env: []string{"BOTMESH_XYZZY_PLUGH=x"}, want: []string{"BOTMESH_XYZZY_PLUGH: unknown key xyzzy_plugh"}},
		"near key":      {file: "nats:\n  ulr: nats://x\n", want: []string{":2: unknown key nats_ulr; did you mean nats_url?"}},
		"all at once": {env: []string{"BOTMESH_LEASE=5", "BOTMESH_TRIES=many", "BOTMESH_STREAMS=perhaps"}, want: []string{
			"BOTMESH_LEASE must be a number with a unit, such as 15s",
			"BOTMESH_TRIES must be a whole number, such as 5",
			"BOTMESH_STREAMS must be one of: create, verify, trust",
		}},
		"in a file": {file: "lease: 5\n", want: []string{":1: lease must be a number with a unit"}},
		"a flag":    {args: []string{"--lease=5"}, want: []string{"--lease must be a number with a unit"}},
		"telegram":  {env: []string{"BOTMESH_TELEGRAM_SECRET=not a secret"}, want: []string{"BOTMESH_TELEGRAM_SECRET must be 1 to 256 letters, digits, _ or -"}},
		"values": {env: []string{"BOTMESH_BOT=No", "BOTMESH_LEASE=1ms", "BOTMESH_LISTEN=8080", "BOTMESH_NATS_URL=http://x", "BOTMESH_REDIS_URL=redis://", "BOTMESH_WEBCHAT_SECRET=short"}, want: []string{
			"BOTMESH_BOT must match", "BOTMESH_LEASE must be at least 500ms", "BOTMESH_LISTEN must be host:port",
			"BOTMESH_NATS_URL must begin with nats://", "BOTMESH_REDIS_URL is not an address", "BOTMESH_WEBCHAT_SECRET must have at least 16",
		}},
		"handover": {env: []string{"BOTMESH_HANDOVER_FLOWS=on", "BOTMESH_HANDOVER_FALLBACK=ask", "BOTMESH_HANDOVER_TTL=soon"}, want: []string{
			"BOTMESH_HANDOVER_FLOWS must be one of: off, forward", "BOTMESH_HANDOVER_FALLBACK must be one of: drop, notify, restart",
			"BOTMESH_HANDOVER_TTL must be a number with a unit, such as 5m",
		}},
		"late before":            {env: []string{"BOTMESH_STALE_AFTER=-1s"}, want: []string{"BOTMESH_STALE_AFTER must not be negative"}},
		"no time for a handover": {env: []string{"BOTMESH_HANDOVER_TTL=0s"}, want: []string{"BOTMESH_HANDOVER_TTL must be at least 1s"}},
		"store not yet":          {env: []string{"BOTMESH_STORE=postgres://u:pw@h/db"}, want: []string{"BOTMESH_STORE is postgres, which is not built in yet"}},
		"store unknown":          {env: []string{"BOTMESH_STORE=floppy"}, want: []string{"BOTMESH_STORE must be nats"}},
		"empty file":             {env: []string{"BOTMESH_TELEGRAM_TOKEN=x", "BOTMESH_TELEGRAM_TOKEN_FILE=" + os.DevNull}, want: []string{"the file /dev/null is empty"}},
		"twice":                  {args: []string{"--bot=a", "--bot", "b"}, want: []string{"--bot: bot is also set by --bot: leave one out"}},
		"no value":               {args: []string{"--bot"}, want: []string{"--bot: needs a value"}},
		"not YAML":               {file: "bot: [", want: []string{"not YAML"}},
		"a list":                 {file: "bot: [a]", want: []string{":1: bot: want one value"}},
		"no mapping":             {file: "demo", want: []string{":1: want keys with values"}},
		"no file":                {args: []string{"--config=/no/such"}, want: []string{"--config: can not read the file of settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.file != "" {
				tt.args = append(tt.args, "--config="+write(t, "botmesh.yaml", tt.file))
			}
			_, err := Load(Input{Args: tt.args, Environ: tt.env})
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(tt.want) {
				t.Errorf("got %d problems, want %d: %v", got, len(tt.want), err)
			}
		})
	}
}

func TestLoadValueBesideItsFile(t *testing.T) {
	t.Parallel()
	_, err := Load(Input{Environ: []string{"BOTMESH_TELEGRAM_TOKEN=x", "BOTMESH_TELEGRAM_TOKEN_FILE=" + write(t, "token", "y")}})
	const want = "BOTMESH_TELEGRAM_TOKEN_FILE: telegram_token is also set by BOTMESH_TELEGRAM_TOKEN: leave one out"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoadErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	const pw = "hunter2"
	_, err := Load(Input{Environ: []string{
		"BOTMESH_NATS_URL=http://u:" + pw + "@h", "BOTMESH_REDIS_URL=redis://u:" + pw + "@h:x", "BOTMESH_STORE=" + pw, "BOTMESH_WEBCHAT_SECRET=" + pw,
	}})
	if err == nil || strings.Contains(err.Error(), pw) {
		t.Errorf("got %v, want problems without the password", err)
	}
}

func TestAddressesThatAreRight(t *testing.T) {
	t.Parallel()
	for _, env := range []string{
		"BOTMESH_NATS_URL=nats://a:4222,nats://b:4222", "BOTMESH_NATS_URL=nats://a,b:4222", "BOTMESH_NATS_URL=tls://token@a",
		"BOTMESH_REDIS_URL=rediss://:p@h:1/0", "BOTMESH_REDIS_URL=redis+cluster://h1:1,h2:2", "BOTMESH_REDIS_URL=redis+sentinel://h1:1,h2:2/master",
		"BOTMESH_TELEGRAM_API_URL=http://127.0.0.1:1", "BOTMESH_LISTEN=:8080",
	} {
		if _, err := Load(Input{Environ: []string{env}}); err != nil {
			t.Errorf("%s: got %v, want no error", env, err)
		}
	}
}

func TestUnexpected(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"serve":     `unexpected argument "serve": settings are flags, such as --bot=demo; --help shows what there is`,
		"--nats":    "--nats: unknown flag",
		"--foo":     "--foo: unknown flag",
		"--bots=x":  "--bots: unknown flag; did you mean --bot?",
		"--leas=3s": "--leas: unknown flag; did you mean --lease?",
		"-lease":    "-lease: unknown flag; did you mean --lease?",
	} {
		if got := Unexpected(arg).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// SPEC X3
func TestWhatSecuresConnectionsBelongsTogether(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"BOTMESH_NATS_CERT=c":                                      "BOTMESH_NATS_KEY is not set",
		"BOTMESH_TLS_KEY=k":                                        "BOTMESH_TLS_CERT is not set",
		"BOTMESH_ADMIN_TLS_CERT=c":                                 "BOTMESH_ADMIN_TLS_KEY is not set",
		"BOTMESH_REDIS_CA=ca":                                      "BOTMESH_REDIS_URL must begin with rediss",
		"BOTMESH_NATS_PASSWORD=p":                                  "BOTMESH_NATS_USER is not set",
		"BOTMESH_NATS_USER=u BOTMESH_NATS_CREDS=c":                 "BOTMESH_NATS_USER and BOTMESH_NATS_CREDS are both set",
		"BOTMESH_NATS_USER=u BOTMESH_NATS_PASSWORD=p":              "",
		"BOTMESH_REDIS_CA=ca BOTMESH_REDIS_URL=rediss://h":         "",
		"BOTMESH_TLS_CERT=c BOTMESH_TLS_KEY=k":                     "",
		"BOTMESH_REDIS_KEY=k BOTMESH_REDIS_URL=rediss+cluster://h": "BOTMESH_REDIS_CERT is not set",
	} {
		_, err := Load(Input{Environ: strings.Fields(env)})
		if (err == nil) != (want == "") || err != nil && err.Error() != "" && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", env, err, want)
		}
	}
}

// SPEC X1
func TestEachProviderIsEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env             []string
		ingress, worker string // what is missing, empty for nothing
	}{
		"Telegram":             {[]string{"BOTMESH_TELEGRAM_SECRET=x", "BOTMESH_TELEGRAM_TOKEN=x"}, "", ""},
		"Polling":              {[]string{"BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_TOKEN=x"}, "", ""},
		"PollingNoToken":       {[]string{"BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_SECRET=x"}, "BOTMESH_TELEGRAM_TOKEN", "BOTMESH_TELEGRAM_TOKEN"},
		"WhatsApp":             {[]string{"BOTMESH_WHATSAPP_APP_SECRET=x", "BOTMESH_WHATSAPP_VERIFY_TOKEN=x", "BOTMESH_WHATSAPP_ACCESS_TOKEN=x", "BOTMESH_WHATSAPP_PHONE_NUMBER_ID=7"}, "", ""},
		"WhatsAppNoSecret":     {[]string{"BOTMESH_SLACK_SIGNING_SECRET=x", "BOTMESH_SLACK_TOKEN=x", "BOTMESH_WHATSAPP_VERIFY_TOKEN=x"}, "BOTMESH_WHATSAPP_APP_SECRET", ""},
		"WhatsAppNoNumber":     {[]string{"BOTMESH_WHATSAPP_APP_SECRET=x", "BOTMESH_WHATSAPP_ACCESS_TOKEN=x"}, "", "BOTMESH_WHATSAPP_PHONE_NUMBER_ID"},
		"Slack":                {[]string{"BOTMESH_SLACK_SIGNING_SECRET=x", "BOTMESH_SLACK_TOKEN=x"}, "", ""},
		"StandardWebhooks":     {[]string{"BOTMESH_STANDARDWEBHOOKS_SECRET=x", "BOTMESH_STANDARDWEBHOOKS_SEND_SECRET=x", "BOTMESH_STANDARDWEBHOOKS_API_URL=http://h"}, "", ""},
		"BackendWithoutURL":    {[]string{"BOTMESH_STANDARDWEBHOOKS_SECRET=x", "BOTMESH_STANDARDWEBHOOKS_SEND_SECRET=x"}, "", "BOTMESH_STANDARDWEBHOOKS_API_URL"},
		"BackendWithoutSecret": {[]string{"BOTMESH_SLACK_SIGNING_SECRET=x", "BOTMESH_SLACK_TOKEN=x", "BOTMESH_STANDARDWEBHOOKS_API_URL=http://h"}, "", "BOTMESH_STANDARDWEBHOOKS_SEND_SECRET"},
	} {
		l, err := Load(Input{Environ: c.env})
		if err != nil {
			t.Fatal(err)
		}
		for program, got := range map[string]error{c.ingress + " of the ingress": l.CheckIngress(), c.worker + " of the worker": l.CheckWorker()} {
			want, _, _ := strings.Cut(program, " ")
			if (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Error(), want+" ") {
				t.Errorf("%s: got %v, want missing: %s", name, got, program)
			}
		}
	}
	_, err := Load(Input{Environ: []string{"BOTMESH_WHATSAPP_API_URL=x", "BOTMESH_SLACK_API_URL=ftp://x", "BOTMESH_STANDARDWEBHOOKS_API_URL=x"}})
	for _, name := range []string{"WHATSAPP", "SLACK", "STANDARDWEBHOOKS"} {
		if err == nil || !strings.Contains(err.Error(), "BOTMESH_"+name+"_API_URL must begin with http") {
			t.Errorf("got %v, want the address of %s named", err, name)
		}
	}
}

// SPEC X1
func TestProgramsNeedAProvider(t *testing.T) {
	t.Parallel()
	load := func(env ...string) Config {
		l, err := Load(Input{Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		return l.Config
	}
	none := load()
	if err := none.CheckIngress(); err == nil || !strings.Contains(err.Error(), "BOTMESH_TELEGRAM_SECRET") {
		t.Errorf("ingress: got %v, want the variable's name", err)
	}
	if err := none.CheckWorker(); err == nil || !strings.Contains(err.Error(), "BOTMESH_TELEGRAM_TOKEN") {
		t.Errorf("worker: got %v, want the variable's name", err)
	}
	if err := load("BOTMESH_TELEGRAM_SECRET=x").CheckIngress(); err != nil {
		t.Errorf("ingress with a secret: got %v", err)
	}
	if err := load("BOTMESH_TELEGRAM_TOKEN=x").CheckWorker(); err != nil {
		t.Errorf("worker with a token: got %v", err)
	}
	chat := load("BOTMESH_WEBCHAT_SECRET=0123456789abcdef")
	if err := chat.CheckIngress(); err != nil {
		t.Errorf("ingress with a web chat: got %v", err)
	}
	if err := chat.CheckWorker(); err != nil {
		t.Errorf("worker with a web chat: got %v", err)
	}
}
