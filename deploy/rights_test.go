package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

// Each right that nats/secure/accounts.conf gives is one that the role's program uses, and
// no program is refused anything: the fleet and an operator do their work on a server with
// that file, which writes down what each connection publishes and listens to. It runs
// alone: the servers' passwords are in the environment.
//
// SPEC: X3
func TestEveryRightIsUsedAndNoneIsMissing(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	f := &field{site: newSite(t, "-V", "-l", trace), t: t}
	options, err := server.ProcessConfigFile(f.conf)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // also of work that came to a stop by it
		for _, refused := range used(t, trace).refused {
			t.Errorf("accounts.conf is without what a program needs: %s", refused)
		}
	}()
	f.work()
	var seen uses
	natstest.Until(t, "the rights are used, or it is known which are not", func() bool {
		seen = used(t, trace)
		return len(unused(options, seen)) == 0 || f.over()
	})
	for _, right := range unused(options, seen) {
		t.Errorf("accounts.conf lets %s, which it never does: take it out, or have this test do what needs it", right)
	}
}

// uses are what each user published and listened to, as a server wrote it down.
type uses struct {
	subjects map[string]map[string]bool // by user and verb
	refused  []string
}

var violation = regexp.MustCompile(`\[ERR\] .*?(Publish|Subscription) Violation - (.*)`)

var traced = regexp.MustCompile(`cid:(\d+) .*<<- \[(CONNECT|PUB|HPUB|SUB) (\S+)`)
var named = regexp.MustCompile(`"user":"([a-z]+)"`)

func used(t *testing.T, trace string) uses {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	u, users := uses{subjects: map[string]map[string]bool{}}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		if m := violation.FindStringSubmatch(line); m != nil && !slices.Contains(u.refused, m[1]+" "+m[2]) {
			u.refused = append(u.refused, m[1]+" "+m[2])
		}
		m := traced.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[2] == "CONNECT" {
			if user := named.FindStringSubmatch(line); user != nil {
				users[m[1]] = user[1]
			}
			continue
		}
		verb := users[m[1]] + " publish"
		if m[2] == "SUB" {
			verb = users[m[1]] + " listen"
		}
		if u.subjects[verb] == nil {
			u.subjects[verb] = map[string]bool{}
		}
		u.subjects[verb][m[3]] = true
	}
	return u
}

// unused are the rights that nobody used.
func unused(o *server.Options, seen uses) (all []string) {
	for _, user := range o.Users {
		if user.Permissions == nil {
			continue // sys looks after the servers, and is no program of ours
		}
		for verb, allowed := range map[string]*server.SubjectPermission{"publish": user.Permissions.Publish, "listen": user.Permissions.Subscribe} {
			for _, right := range allowed.Allow {
				verb := user.Username + " " + verb
				if !slices.ContainsFunc(slices.Collect(maps.Keys(seen.subjects[verb])), func(s string) bool { return server.SubjectsCollide(right, s) }) {
					all = append(all, verb+" "+right)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// field is a site on which the programs work.
type field struct {
	*site
	t       *testing.T
	updates int64
	done    time.Time
}

// over reports that what was begun is through, if anything of it ever is.
func (f *field) over() bool { return time.Since(f.done) > 20*time.Second }

const workerToken = "0123456789abcdef"

// environ are the settings of a role's program.
func (f *field) environ(role string, more ...string) []string {
	return append([]string{
		"HOME=" + f.t.TempDir(), "BOTMESH_BOT=demo", "BOTMESH_NATS_URL=" + f.nats, "BOTMESH_NATS_CA=" + f.ca, "BOTMESH_NATS_USER=" + role, "BOTMESH_NATS_PASSWORD=" + role + "-password",
	}, more...)
}

// start runs a program until the test ends, once it is ready on port of this site.
func (f *field) start(program, role, port string, more ...string) {
	f.t.Helper()
	private, out := f.host+":"+port, &bytes.Buffer{}
	cmd := exec.Command(filepath.Join(f.bin, program))
	cmd.Env = f.environ(role, append(more, "BOTMESH_ADMIN_LISTEN="+private, "BOTMESH_REPLICA_ID="+role)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || f.t.Failed() {
			f.t.Logf("%s: %v\n%s", role, err, out)
		}
	})
	natstest.Until(f.t, role+" is ready", func() bool {
		status, err := ask(f.t.Context(), http.MethodGet, private+"/readyz")
		return err == nil && status == http.StatusOK
	})
}

// botmesh runs a command as an operator, at the servers or, with a worker's address, there.
func (f *field) botmesh(env []string, args ...string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(f.bin, "botmesh"), args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("botmesh %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// post posts to an ingress, and returns what it is told.
func (f *field) post(address string, header http.Header, body []byte) (cookies []*http.Cookie, answer []byte) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://"+address, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header = header
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: got %s %s (%v), want 200", address, resp.Status, answer, err)
	}
	return resp.Cookies(), answer
}

func (f *field) say(ingress, text string) {
	f.t.Helper()
	f.updates++
	f.post(ingress+"/webhooks/telegram", http.Header{"X-Telegram-Bot-Api-Secret-Token": {"hook"}}, telegramtest.Text(f.updates, 42, text))
}

// work is a day of the fleet: all that the roles' programs can do, each at least once.
func (f *field) work() {
	f.t.Helper()
	telegram := httptest.NewServer(telegramtest.New("1:x"))
	f.t.Cleanup(telegram.Close)
	operator := f.environ("operator", "BOTMESH_REDIS_URL="+f.secrets["BOTMESH_REDIS_URL"])
	f.botmesh(operator, "streams", "apply")
	const page = "BOTMESH_WEBCHAT_SECRET=0123456789abcdef"
	f.start("worker", "worker", "9090", page, "BOTMESH_STREAMS=verify", "BOTMESH_REDIS_URL="+f.secrets["BOTMESH_REDIS_URL"], "BOTMESH_TELEGRAM_TOKEN=1:x",
		"BOTMESH_TELEGRAM_API_URL="+telegram.URL, "BOTMESH_TRIES=1", "BOTMESH_ADMIN_TOKEN="+workerToken, "BOTMESH_DEMO_PATIENCE=1h")
	ingresses := map[string]string{"ingress": f.host + ":8080", "webchat": f.host + ":8081"}
	f.start("ingress", "ingress", "9091", "BOTMESH_STREAMS=trust", "BOTMESH_LISTEN="+ingresses["ingress"], "BOTMESH_TELEGRAM_SECRET=hook", "BOTMESH_WHATSAPP_APP_SECRET=app")
	f.start("ingress", "webchat", "9092", "BOTMESH_STREAMS=trust", "BOTMESH_LISTEN="+ingresses["webchat"], "BOTMESH_TELEGRAM_SECRET=hook", "BOTMESH_WHATSAPP_APP_SECRET=app", page)
	for _, ingress := range ingresses {
		// A message, a flow whose question is answered in time, a reminder; a record that fails;
		// and what became of a message.
		for _, text := range []string{"/count", "/order", "pizza", "/cancel", "/remind 1h tea", "/poison"} {
			f.say(ingress, text)
		}
		body := whatsapptest.Webhook("1", whatsapptest.Status("wamid.1", "491", "delivered"))
		f.post(ingress+"/webhooks/whatsapp", whatsapptest.Sign("app", body), body)
	}
	f.webchat(ingresses["webchat"])
	for name, env := range map[string][]string{"operator": operator, "worker": {"BOTMESH_ADMIN_URL=http://" + f.host + ":9090", "BOTMESH_ADMIN_TOKEN=" + workerToken}} {
		natstest.Until(f.t, "dead letters for "+name, func() bool { return strings.Contains(f.botmesh(env, "dlq", "ls"), "poison") })
		seq := strings.Fields(strings.Split(f.botmesh(env, "dlq", "ls"), "\n")[1])[0]
		for _, line := range []string{"dlq show " + seq, "dlq requeue " + seq + " --dry-run", "dlq drop " + seq, "chats pause telegram/42", "chats ls --all", "chats resume telegram/42", "chats timeline telegram/42",
			"outbox ls", "outbox hold telegram/42", "outbox release telegram/42", "acts ls", "leases ls"} {
			f.botmesh(env, strings.Fields(line)...)
		}
	}
	for _, line := range []string{"journal ls", "journal replay telegram/42", "journal replay telegram/42 --from=1 --to=1 --deliver", "streams plan"} {
		f.botmesh(operator, strings.Fields(line)...)
	}
	f.examine(operator)
	f.pages()
	f.done = time.Now()
}

// examine has the doctor look, and fails unless both ingresses answered it.
func (f *field) examine(env []string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "botmesh"), "doctor")
	cmd.Env = env
	out, err := cmd.CombinedOutput() // it may find that a chat waits
	if !strings.Contains(string(out), "2 are there: ingress, webchat") {
		f.t.Errorf("botmesh doctor: %v: got %s, want both ingresses", err, out)
	}
}

// pages are those of a worker that look at the servers: each look comes to something.
func (f *field) pages() {
	f.t.Helper()
	for page, want := range map[string]string{"/v1/doctor": "2 are there: ingress, webchat", "/v1/streams/plan": "[]"} {
		req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+f.host+":9090"+page, nil)
		if err != nil {
			f.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+workerToken)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			f.t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), want) || strings.Contains(string(text), `"level":"unknown"`) {
			f.t.Errorf("%s: got %s %s (%v), want %q, and nothing that could not be looked at", page, resp.Status, text, err, want)
		}
	}
}

// webchat says something on the page, and listens until it is answered.
func (f *field) webchat(address string) {
	f.t.Helper()
	header := http.Header{"Origin": {"http://" + address}, "Content-Type": {"application/x-www-form-urlencoded"}}
	cookies, answer := f.post(address+"/webchat/session", header, nil)
	var session struct{ Chat string }
	if err := json.Unmarshal(answer, &session); err != nil {
		f.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+address+"/webchat/events?chat="+session.Chat, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.AddCookie(cookies[0])
	header.Set("Cookie", req.Header.Get("Cookie"))
	f.post(address+"/webhooks/webchat", header, []byte(url.Values{"chat": {session.Chat}, "id": {"0123456789"}, "text": {"/count"}}.Encode()))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "count: 1") {
			return
		}
	}
	f.t.Fatalf("%s: the page got no answer: %s", address, resp.Status)
}
