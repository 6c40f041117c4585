package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// examined runs the doctor and reads its findings.
func examined(t *testing.T, env []string) (code int, found []doctor.Finding) {
	t.Helper()
	code, stdout, stderr := finished(t, env, "doctor", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("got %q and %q, want findings as JSON: %v", stdout, stderr, err)
	}
	return code, found
}

func level(found []doctor.Finding, check string) doctor.Level {
	var of []doctor.Finding
	for _, f := range found {
		if f.Check == check {
			of = append(of, f)
		}
	}
	return doctor.Worst(of)
}

// What is wrong comes to light one by one: no streams, no workers, no Redis, no NATS.
func TestDoctor(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redis.URL()}
	code, found := examined(t, env)
	if code != 1 || level(found, "streams") != doctor.Broken {
		t.Errorf("without streams: got exit code %d and %v, want 1 and broken streams", code, found)
	}
	if code, _, stderr := finished(t, env, "streams", "apply"); code != 0 {
		t.Fatalf("got %d: %s", code, stderr)
	}
	code, found = examined(t, env)
	if code != 1 || level(found, "streams") != doctor.Fine || level(found, "chats") != doctor.Fine ||
		level(found, "records") != doctor.Warning || level(found, "replicas") != doctor.Broken {
		t.Errorf("without workers: got exit code %d and %v, want 1, for nobody asks for records and no replica is alive", code, found)
	}
	without := found
	redis.Kill()
	code, found = examined(t, env)
	if code != 2 || level(found, "redis") != doctor.Unknown || level(found, "streams") != doctor.Fine || len(found) != len(without)-3 {
		t.Errorf("without redis: got exit code %d and %v, want 2, since it does not answer, said once", code, found)
	}
	code, found = examined(t, []string{"BOTMESH_NATS_URL=nats://127.0.0.1:1", env[1]})
	if code != 2 || level(found, "nats") != doctor.Unknown {
		t.Errorf("without nats: got exit code %d and %v, want 2", code, found)
	}
	code, stdout, _ := finished(t, env, "doctor")
	if code != 2 || !strings.Contains(stdout, "unknown  redis         Redis at "+redis.URL()+" (BOTMESH_REDIS_URL) does not answer") {
		t.Errorf("got exit code %d and %s, want the findings as text", code, stdout)
	}
}

// A platform that has nowhere to post to is found, where the settings have the token; so
// are a chat that waits, with why, and a dead letter.
func TestDoctorSeesADeafBotAndWhatWaits(t *testing.T) {
	t.Parallel()
	const token = "12:PLANTED"
	tg := telegramtest.New(token)
	api := httptest.NewServer(tg)
	t.Cleanup(api.Close)
	url := natstest.Start(t)
	env := []string{"BOTMESH_NATS_URL=" + url, "BOTMESH_REDIS_URL=" + redistest.Start(t).URL(), "BOTMESH_TELEGRAM_TOKEN=" + token, "BOTMESH_TELEGRAM_API_URL=" + api.URL}
	if code, _, stderr := finished(t, env, "streams", "apply"); code != 0 {
		t.Fatalf("got %d: %s", code, stderr)
	}
	saw := func(check string, want doctor.Level, words ...string) {
		t.Helper()
		code, found := examined(t, env)
		var of []string
		for _, f := range found {
			if f.Check == check {
				of = append(of, f.Text+" "+f.Do)
			}
		}
		text := strings.Join(of, "\n")
		if code != 1 || level(found, check) != want || strings.Contains(text, token) {
			t.Errorf("%s: got exit code %d and %q, want 1 and %s, without the token", check, code, text, want)
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s: got %q, want %q in it", check, text, w)
			}
		}
	}
	saw("platforms", doctor.Broken, "telegram has no webhook set", "setWebhook")
	tg.Hook("https://bot.example/webhooks/telegram", "", time.Time{})
	saw("platforms", doctor.Fine, "telegram delivers")
	saw("chats", doctor.Fine, "nothing is set aside")

	conn, err := jet.Dial(t.Context(), jet.Config{URL: url})
	must(t, err)
	t.Cleanup(conn.Close)
	j, err := journal.Open(t.Context(), journal.Config{Bot: "demo", Inbox: conn.Stream(journal.InboxStream("demo")), Dead: conn.Stream(journal.DeadStream("demo"))})
	must(t, err)
	for _, chat := range []string{"42", "43"} {
		_, err = j.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m" + chat, Chat: botmesh.ChatKey{Provider: "telegram", Chat: chat}, Message: botmesh.Message{Text: "PLANTED"}})
		must(t, err)
	}
	must(t, j.SetAside(t.Context(), journal.Dead{Chat: botmesh.ChatKey{Provider: "telegram", Chat: "42"}, Epoch: j.Epoch(), Seq: 1, Tries: 5, Error: "no"}))
	code, stdout, _ := finished(t, env, "doctor", "--waiting=1ns")
	for _, want := range []string{"telegram/42 waits for ", "telegram/43 waits for ", "1 is kept, the oldest for ", "botmesh dlq ls says why"} {
		if code != 1 || !strings.Contains(stdout, want) {
			t.Errorf("got exit code %d and %s, want 1 and %q", code, stdout, want)
		}
	}
	if strings.Contains(stdout, "PLANTED") {
		t.Errorf("got %s, want nothing that was written", stdout)
	}
	saw("chats", doctor.Fine) // none waits for a minute
}
