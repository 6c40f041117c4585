package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// browser talks to the web chat as the page does.
type browser struct {
	t      *testing.T
	client http.Client
	addr   string
	cookie *http.Cookie
	chat   string
	last   string // id of the last event seen
}

func newBrowser(t *testing.T, addr string) *browser {
	t.Helper()
	b := &browser{t: t, addr: addr, client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	b.open()
	return b
}

// open begins the session, or renews the one there is.
func (b *browser) open() {
	b.t.Helper()
	resp := b.do(http.MethodPost, "/webchat/session", "")
	defer resp.Body.Close()
	var s struct{ Chat string }
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		b.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		b.cookie = c
	}
	b.chat = s.Chat
}

func (b *browser) do(method, path, form string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.addr+path, strings.NewReader(form))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Origin", "http://"+b.addr)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: got %s, want 200", method, path, resp.Status)
	}
	return resp
}

func (b *browser) say(text string) {
	b.t.Helper()
	form := url.Values{"chat": {b.chat}, "id": {rand.Text()}, "text": {text}}
	b.do(http.MethodPost, "/webhooks/webchat", form.Encode()).Body.Close()
}

// hear waits for the bot's next message.
func (b *browser) hear() string {
	b.t.Helper()
	resp := b.do(http.MethodGet, "/webchat/events?chat="+b.chat+"&after="+b.last, "")
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			b.last = id
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct{ Parts []struct{ Text string } }
		if err := json.Unmarshal([]byte(data), &event); err != nil || len(event.Parts) == 0 {
			b.t.Fatalf("got the event %q (%v), want a part", data, err)
		}
		return event.Parts[0].Text
	}
	b.t.Fatal("the stream ended without an event")
	return ""
}
