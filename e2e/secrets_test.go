package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// planted are the words that may be in no log, span, metric or page: each secret, and in
// every text that a user or the bot writes.
var planted = map[string]string{
	"the token of the bot":                "PLANTEDbottoken",
	"the secret of the webhook":           "PLANTEDhooksecret",
	"the token of the operators":          "PLANTEDadmintoken",
	"the password of NATS":                "PLANTEDnatspassword",
	"the password of Redis":               "PLANTEDredispassword",
	"the secret of WhatsApp's app":        "PLANTEDappsecret",
	"the word that WhatsApp verifies":     "PLANTEDverifytoken",
	"the token of WhatsApp":               "PLANTEDaccesstoken",
	"the secret of Slack":                 "PLANTEDsigningsecret",
	"the token of Slack":                  "PLANTEDslacktoken",
	"the secret of a backend":             "PLANTEDbackendsecretPLANTEDbackendsecret",
	"the secret to a backend":             "PLANTEDsendingsecretPLANTEDsendingsecret",
	"the secret of the web chat":          "PLANTEDwebchatsecret",
	"what a stranger took for the secret": "PLANTEDguess",
	"the text of a message":               "PLANTEDtext",
	"the address of a file":               "PLANTEDaddress",
}

// leaks names what of the planted words is in a text, with what stands around each.
func leaks(text string) (found []string) {
	for what, word := range planted {
		for _, form := range []string{word, strings.ToLower(word)} {
			if i := strings.Index(text, form); i >= 0 {
				found = append(found, fmt.Sprintf("%s: …%q…", what, text[max(0, i-200):min(len(text), i+100)]))
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// exported keeps what exporters send, as it comes.
type exported struct {
	mu  sync.Mutex
	raw bytes.Buffer
}

func (e *exported) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := io.Copy(&e.raw, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (e *exported) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw.String()
}

// echoing answers as Telegram does, but refuses what is written in a chat above 50 with
// words that repeat it.
func echoing(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var send struct {
			Chat  json.Number `json:"chat_id"`
			Text  string      `json:"text"`
			Photo string      `json:"photo"`
		}
		if err == nil {
			err = json.Unmarshal(body, &send)
		}
		if chat, _ := send.Chat.Int64(); err == nil && chat > 50 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":%q}`, "Bad Request: can't parse "+send.Text+send.Photo)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		api.ServeHTTP(w, r)
	})
}

// careless makes a fleet whose every secret is planted, on servers and a platform that do
// not take much care of what they are told.
func careless(t *testing.T, spans string) *scene {
	t.Helper()
	token := "700:" + planted["the token of the bot"]
	p, err := platform.Start(platform.Config{API: echoing(telegramtest.New(token)), Token: token, Secret: planted["the secret of the webhook"]})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{Platform: p, t: t}
	s.Fleet, err = fleet.New(fleet.Config{Programs: programs, Platform: p, Dir: t.ArtifactDir(), Ingress: 1, Workers: 2,
		Env: map[string]string{
			"BOTMESH_ADMIN_TOKEN": planted["the token of the operators"], "BOTMESH_LOG_LEVEL": "debug", "BOTMESH_DEMO_CRASH": "1",
			"BOTMESH_LEASE": lease.String(), "BOTMESH_TRIES": "2",
			"BOTMESH_WHATSAPP_APP_SECRET": planted["the secret of WhatsApp's app"], "BOTMESH_WHATSAPP_VERIFY_TOKEN": planted["the word that WhatsApp verifies"],
			"BOTMESH_WHATSAPP_ACCESS_TOKEN": planted["the token of WhatsApp"], "BOTMESH_WHATSAPP_PHONE_NUMBER_ID": "1", "BOTMESH_WHATSAPP_API_URL": p.URL("elsewhere"),
			"BOTMESH_SLACK_SIGNING_SECRET": planted["the secret of Slack"], "BOTMESH_SLACK_TOKEN": "xoxb-" + planted["the token of Slack"], "BOTMESH_SLACK_API_URL": p.URL("elsewhere"),
			"BOTMESH_STANDARDWEBHOOKS_SECRET": "whsec_" + planted["the secret of a backend"], "BOTMESH_STANDARDWEBHOOKS_API_URL": p.URL("elsewhere"),
			"BOTMESH_STANDARDWEBHOOKS_SEND_SECRET": "whsec_" + planted["the secret to a backend"], "BOTMESH_WEBCHAT_SECRET": planted["the secret of the web chat"],
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			"OTEL_EXPORTER_OTLP_ENDPOINT": spans, "OTEL_BSP_SCHEDULE_DELAY": "100",
		},
		Each: func(string) []string {
			return []string{
				"BOTMESH_NATS_URL=nats://botmesh:" + planted["the password of NATS"] + "@" + s.NATS.Addr,
				"BOTMESH_REDIS_URL=redis://default:" + planted["the password of Redis"] + "@" + s.Redis.Addr + "/0",
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(s.within(time.Minute)); err != nil {
		t.Fatal(err, s.Logs())
	}
	return s
}

// logs is all that the ingress and the workers wrote.
func (s *scene) logs() string {
	var all strings.Builder
	for _, r := range s.Replicas() {
		all.WriteString(r.Child().Output())
	}
	return all.String()
}

// logged waits until a message was logged.
func (s *scene) logged(message string) {
	s.t.Helper()
	s.eventually(time.Minute, message, func(context.Context) error {
		if !strings.Contains(s.logs(), message) {
			return fmt.Errorf("nobody logged %q", message)
		}
		return nil
	})
}

// Whatever goes wrong, with a webhook, a handler, the platform, NATS or Redis, no log, span,
// metric or page has a secret or a word of what was said in it.
//
// SPEC: W2 X3
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	var spans exported
	server := httptest.NewServer(&spans)
	t.Cleanup(server.Close)
	s := careless(t, server.URL)
	text := planted["the text of a message"]

	// Webhooks: of a stranger, no JSON, no update, of a kind that nobody knows.
	guess, hook := planted["what a stranger took for the secret"], s.Secret()
	for _, post := range []struct{ secret, body string }{
		{guess, string(s.Message(1, text).Body)},
		{hook, text},
		{hook, `{"update_id":"` + text + `"}`},
		{hook, `{"update_id":7,"message":{"text":["` + text + `"],"` + text + `":1}}`},
		{hook, `{"update_id":8,"poll_of_` + text + `":{"question":"` + text + `"}}`},
	} {
		if _, err := s.PostAs(t.Context(), s.URLs()[0], post.secret, []byte(post.body)); err != nil {
			t.Fatal(err)
		}
	}
	s.logged("a webhook was refused")

	// Handlers: one that answers, one that fails, one that panics with what was said, a
	// conversation.
	s.say(1, "/echo "+text)
	s.say(2, "/fail "+text)
	s.say(3, "/panic "+text)
	s.say(4, "/order")
	s.say(4, text)
	s.say(5, "/remind 1s "+text)
	s.hears(1, text, 30*time.Second)
	s.hears(5, "reminder: "+text, 30*time.Second)
	s.logged("handler panicked")
	s.logged("record set aside")

	// The platform: refuses for good with what it was told, is down, loses an answer.
	s.say(51, "/echo "+text)
	s.logged("part set aside")
	s.file(52)
	s.elsewhere(text)
	s.Weather(func(chat string) platform.Weather {
		return map[string]platform.Weather{"11": {Status: 500}, "12": {Status: 429, RetryAfter: time.Second}, "13": {Lose: true}, "14": {Status: 403}}[chat]
	})
	for chat := int64(11); chat <= 14; chat++ {
		s.say(chat, "/echo "+text)
	}
	s.logged("part put off")
	s.logged("parts in doubt")
	s.Weather(nil)

	s.withoutServers(text)
	s.pages()
	s.refusedAtStart(text)

	for _, r := range s.Workers {
		if _, err := r.Term(s.within(time.Minute)); err != nil { // with a flush of its spans
			t.Error(err)
		}
	}
	for _, found := range leaks(s.logs()) {
		t.Errorf("logs hold %s", found)
	}
	all := spans.all()
	for _, found := range leaks(all) {
		t.Errorf("spans and metrics hold %s", found)
	}
	for _, want := range []string{"call provider", "process bot.in", "POST /webhooks/{provider}", "bot.turn.wait", "Bad Request"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing about %q was exported, so that nothing is proved", want)
		}
	}
}

// file has a file sent that the platform refuses, and another that nobody can send.
func (s *scene) file(chat int64) {
	s.t.Helper()
	aside := strings.Count(s.logs(), "part set aside")
	for scheme, want := range map[string]int{"https": http.StatusAccepted, "ftp": http.StatusBadRequest} {
		status, _, err := s.Workers[0].Send(s.t.Context(), fleet.Sending{
			Token: planted["the token of the operators"], Chat: fmt.Sprintf("telegram/%d", chat), Key: scheme,
			Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: scheme + "://example.org/" + planted["the address of a file"]},
		})
		if err != nil || status != want {
			s.t.Errorf("a file by %s: got %d, error %v, want %d", scheme, status, err, want)
		}
	}
	s.eventually(time.Minute, "the file set aside", func(context.Context) error {
		if strings.Count(s.logs(), "part set aside") <= aside {
			return errors.New("it is not")
		}
		return nil
	})
}

// elsewhere has strangers post to the other platforms' webhooks, and messages sent to them,
// which nobody takes there.
func (s *scene) elsewhere(text string) {
	s.t.Helper()
	guess := planted["what a stranger took for the secret"]
	for _, of := range []struct{ provider, header string }{{"whatsapp", "X-Hub-Signature-256"}, {"slack", "X-Slack-Signature"}, {"standardwebhooks", "Webhook-Signature"}, {"webchat", "Cookie"}} {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URLs()[0]+"/webhooks/"+of.provider, strings.NewReader(text))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set(of.header, guess)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode > 499 {
			s.t.Errorf("a stranger's webhook of %s: got %d, want it refused", of.provider, resp.StatusCode)
		}
	}
	for _, chat := range []string{"whatsapp/4915112345678", "slack/C1", "standardwebhooks/1"} {
		status, _, err := s.Workers[0].Send(s.t.Context(), fleet.Sending{Token: planted["the token of the operators"], Chat: chat, Key: chat, Text: text})
		if err != nil || status != http.StatusAccepted {
			s.t.Errorf("to %s: got %d, error %v, want it accepted", chat, status, err)
		}
		s.eventually(time.Minute, "a call for "+chat, func(context.Context) error {
			for line := range strings.Lines(s.logs()) {
				if strings.Contains(line, "part ") && strings.Contains(line, chat) {
					return nil
				}
			}
			return errors.New("nothing is logged of one")
		})
	}
}

// withoutServers has messages come while NATS or Redis is away.
func (s *scene) withoutServers(text string) {
	s.t.Helper()
	for name, away := range map[string]struct {
		server *fleet.Server
		log    string
	}{"nats": {s.NATS, "nats disconnected"}, "redis": {s.Redis, "coordination is away"}} {
		away.server.Kill()
		u := s.Message(21, "/echo "+text)
		_, _ = s.Post(s.t.Context(), s.URLs()[0], u) // refused, or taken and not answered yet
		s.logged(away.log)
		if err := away.server.Start(s.within(time.Minute)); err != nil {
			s.t.Fatal(name, err)
		}
		if err := s.Deliver(s.within(time.Minute), s.URLs(), u); err != nil {
			s.t.Fatal(name, err)
		}
	}
	s.hears(21, text, time.Minute)
}

// pages looks at what replicas show without the operators' token, or with a wrong one.
func (s *scene) pages() {
	s.t.Helper()
	for _, r := range s.Replicas() {
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/statusz", "/v1/chats", "/v1/chats/telegram%2F1/timeline"} {
			req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, r.Admin+path, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+planted["what a stranger took for the secret"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				s.t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				s.t.Fatal(err)
			}
			for _, found := range leaks(string(body)) {
				s.t.Errorf("%s of %s holds %s", path, r.Name, found)
			}
		}
	}
}

// refusedAtStart starts programs with settings that are wrong and hold secrets.
func (s *scene) refusedAtStart(text string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte("telegram:\n  token: [\""+text+"\"]\n  secret: \""+planted["the secret of the webhook"]+" \"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	nats, redis, admin := planted["the password of NATS"], planted["the password of Redis"], planted["the token of the operators"]
	for name, env := range map[string][]string{
		"a scheme nobody speaks":  {"BOTMESH_REDIS_URL=http://default:" + redis + "@127.0.0.1:1"},
		"an address that is none": {"BOTMESH_NATS_URL=nats://u:" + nats + "@127.0.0.1:port"},
		"a secret with a blank":   {"BOTMESH_TELEGRAM_SECRET=" + planted["the secret of the webhook"] + " x"},
		"a name misspelt":         {"BOTMESH_ADMIN_TOKENN=" + admin},
		"a file of wrong shape":   {"BOTMESH_CONFIG=" + file},
		"a file that is not":      {"BOTMESH_ADMIN_TOKEN_FILE=/nowhere", "BOTMESH_NATS_PASSWORD=" + nats},
		"a number that is none":   {"BOTMESH_TRIES=many", "BOTMESH_TELEGRAM_TOKEN=" + planted["the token of the bot"]},
	} {
		for _, program := range []string{programs.Ingress, programs.Worker} {
			cmd := exec.CommandContext(s.within(time.Minute), program)
			cmd.Env = append([]string{"BOTMESH_LISTEN=127.0.0.1:0", "BOTMESH_ADMIN_LISTEN=127.0.0.1:0"}, env...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				s.t.Errorf("%s: %s started", name, filepath.Base(program))
			}
			for _, found := range leaks(string(out)) {
				s.t.Errorf("%s: %s says %s", name, filepath.Base(program), found)
			}
		}
	}
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	for what, word := range planted {
		if got := leaks("x" + word + "y"); len(got) != 1 || !strings.HasPrefix(got[0], what) {
			t.Errorf("got %q, want %s", got, what)
		}
	}
	if got := leaks("PLANTED"); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}
