package webchat_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/webchat"
)

const bot = "demo"

// site is an ingress with a web chat, its journal and its outbox.
type site struct {
	t       *testing.T
	url     string
	journal *journal.Journal
	outbox  *outbox.Outbox
}

func newSite(t *testing.T) *site {
	t.Helper()
	server := jet.NewMemory()
	t.Cleanup(server.Close)
	made := jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}
	j, err := journal.Open(t.Context(), journal.Config{Bot: bot,
		Inbox: server.Stream(journal.InboxStream(bot), made), Dead: server.Stream(journal.DeadStream(bot), jet.MemoryConfig{})})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := webchat.NewSender("")
	if err != nil {
		t.Fatal(err)
	}
	o, err := outbox.Open(t.Context(), outbox.Config{Bot: bot, Stream: server.Stream(outbox.StreamName(bot), made),
		Incarnation: "i1", Senders: []provider.Sender{sender}})
	if err != nil {
		t.Fatal(err)
	}
	chat, err := webchat.New(webchat.Config{Secret: "a secret of the tests", Letters: o})
	if err != nil {
		t.Fatal(err)
	}
	h, err := ingress.New(ingress.Config{Journal: j, Receivers: []provider.Receiver{chat}, Web: chat})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	t.Cleanup(chat.Close)
	return &site{t: t, url: srv.URL, journal: j, outbox: o}
}

// browser does what a browser does: it keeps cookies, and says where its requests
// come from.
type browser struct {
	*site
	client *http.Client
	chat   string
	post   string
}

func (s *site) open() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &browser{site: s, client: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	s.t.Cleanup(b.client.CloseIdleConnections)
	resp, body := b.request("webchat/session", nil, s.url)
	var session struct{ Chat, Post string }
	if err := json.Unmarshal([]byte(body), &session); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("got %d %q, want a session", resp.StatusCode, body)
	}
	b.chat, b.post = session.Chat, session.Post
	return b
}

func (b *browser) request(path string, form url.Values, origin string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+"/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", origin)
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(body)
}

func (b *browser) say(id, text string) int {
	b.t.Helper()
	resp, _ := b.request(b.post, url.Values{"chat": {b.chat}, "id": {id}, "text": {text}}, b.url)
	return resp.StatusCode
}

func (b *browser) key() botmesh.ChatKey { return botmesh.ChatKey{Provider: webchat.ID, Chat: b.chat} }

func (s *site) records(chat botmesh.ChatKey) []botmesh.Record {
	s.t.Helper()
	entries, err := s.journal.Read(s.t.Context(), chat, 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	var recs []botmesh.Record
	for _, e := range entries {
		recs = append(recs, e.Record)
	}
	return recs
}

// SPEC: J2
func TestWhatIsSaidTwiceIsOneRecord(t *testing.T) {
	t.Parallel()
	b := newSite(t).open()
	for range 3 {
		if got := b.say("0123-abc", "hello"); got != http.StatusOK {
			t.Fatalf("got %d, want 200", got)
		}
	}
	if got := b.records(b.key()); len(got) != 1 || got[0].Message.Text != "hello" || got[0].Type != botmesh.TypeMessage {
		t.Errorf("got %+v, want one message", got)
	}
	// Another user who chose the same id said something else.
	other := b.site.open()
	other.say("0123-abc", "hi")
	if got := b.records(other.key()); len(got) != 1 || got[0].Message.Text != "hi" {
		t.Errorf("got %+v, want the other's message", got)
	}
}

// SPEC: X1
func TestForeignPagesAreRefusedAndNotJournaled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.open()
	form := url.Values{"chat": {b.chat}, "id": {"0123-abc"}, "text": {"hello"}}
	if resp, body := b.request(b.post, form, "https://evil.example"); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "not from this host's page") {
		t.Errorf("another origin: got %d and %q, want 401 and why", resp.StatusCode, body)
	}
	if resp, _ := b.request("webchat/session?new", nil, "https://evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a session for another origin: got %d, want 403", resp.StatusCode)
	}
	stranger := &browser{site: s, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(stranger.client.CloseIdleConnections)
	if resp, body := stranger.request(b.post, form, s.url); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "reload the page") {
		t.Errorf("without a session: got %d and %q, want 401 and why", resp.StatusCode, body)
	}
	if got := s.records(b.key()); len(got) != 0 {
		t.Errorf("got %+v journaled, want nothing", got)
	}
}

// What the bot says comes from the real outbox, with its sequences, and a button
// of it can be pressed.
func TestAnswersComeFromTheOutbox(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.open()
	var out uint64
	answer := func(n int, sends ...botmesh.Send) {
		t.Helper()
		l, err := s.outbox.Letter(botmesh.LetterID(b.key(), "e1", uint64(n)), b.key(), sends, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, err = s.outbox.Append(t.Context(), l, out); err != nil {
			t.Fatal(err)
		}
	}
	answer(1, botmesh.Send{Text: "first"}, botmesh.Send{Text: "second"})
	answer(2, botmesh.Send{Text: "sure?", Buttons: [][]botmesh.Button{{{Label: "Yes", Payload: "sure:yes"}}}})

	events := b.follow(2)
	if texts := events[0].texts(); texts != "first|second" || events[0].ID != "1" || events[1].ID != "2" {
		t.Errorf("got events %+v, want both letters with their sequences", events)
	}
	button := events[1].Parts[0].Buttons[0][0]
	form := url.Values{"chat": {b.chat}, "id": {"0123-abd"}, "payload": {button.Payload}, "sig": {button.Sig}, "of": {events[1].Parts[0].ID}}
	if resp, body := b.request(b.post, form, b.url); resp.StatusCode != http.StatusOK {
		t.Fatalf("got %d %q, want the button taken", resp.StatusCode, body)
	}
	if got := s.records(b.key()); len(got) != 1 || got[0].Type != botmesh.TypeCallback || got[0].Message.Payload != "sure:yes" {
		t.Errorf("got %+v, want the pressed button", got)
	}
}

type event struct {
	ID    string
	Parts []struct {
		ID, Text string
		Buttons  [][]struct{ Label, Payload, Sig string }
	}
}

func (e event) texts() string {
	var texts []string
	for _, p := range e.Parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "|")
}

// follow reads the first n events of the session.
func (b *browser) follow(n int) []event {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/webchat/events?chat="+b.chat, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var events []event
	var e event
	for lines := bufio.NewScanner(resp.Body); len(events) < n && lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			e.ID = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				b.t.Fatal(err)
			}
			events, e = append(events, e), event{}
		}
	}
	if len(events) < n {
		b.t.Fatalf("got the stream's end after %d events, want %d", len(events), n)
	}
	return events
}
