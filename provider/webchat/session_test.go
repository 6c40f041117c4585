package webchat

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// SPEC: X1
func TestSameOrigin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site, origin, host string
		ok                 bool
	}{
		"ThePage":         {"same-origin", "https://chat.example", "chat.example", true},
		"BehindAProxy":    {"same-origin", "https://chat.example", "10.0.0.7:8080", true},
		"OtherSite":       {"cross-site", "https://evil.example", "chat.example", false},
		"Sibling":         {"same-site", "https://www.example", "chat.example", false},
		"Typed":           {"none", "", "chat.example", false},
		"SiteLies":        {"cross-site", "https://chat.example", "chat.example", false},
		"OldBrowser":      {"", "http://Chat.example:8080", "chat.example:8080", true},
		"OldBrowserOther": {"", "https://evil.example", "chat.example", false},
		"OtherPort":       {"", "http://chat.example:81", "chat.example:8080", false},
		"NullOrigin":      {"", "null", "chat.example", false},
		"SaysNothing":     {"", "", "", false},
		"NoHost":          {"", "https://", "", false},
	} {
		h := http.Header{}
		for k, v := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin, "Host": c.host} {
			if v != "" {
				h.Set(k, v)
			}
		}
		err := sameOrigin(h)
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v, want accepted %v", name, err, c.ok)
		}
		if header := map[bool]string{true: "Sec-Fetch-Site", false: "Origin"}[c.site != ""]; err != nil && !strings.Contains(err.Error(), "the header "+header) {
			t.Errorf("%s: got %v, want it to name %s", name, err, header)
		}
	}
}

// SPEC: X1
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	other := newTestChat(t, Config{Secret: "another secret of tests"})
	sibling := newTestChat(t, Config{ID: "webchat-2"})
	good := c.cookie("CHATONE", false).Value
	_, rest, _ := strings.Cut(good, ".")
	button := c.sign(asButton, "CHATONE", "1")
	for name, value := range map[string]string{
		"OtherChat":   "CHATTWO." + rest,
		"NoSignature": "CHATONE.1",
		"NoTime":      "CHATONE",
		"Empty":       "",
		"OtherSecret": other.cookie("CHATONE", false).Value,
		"OtherID":     sibling.cookie("CHATONE", false).Value,
		"ButtonAs":    "CHATONE.1." + button,
		"Longer":      good + "A",
	} {
		h := http.Header{"Cookie": {c.cookieName() + "=" + value}}
		if chat, err := c.chat(h); err == nil {
			t.Errorf("%s: got the chat %q, want an error", name, chat)
		}
	}
	if chat, err := c.chat(http.Header{"Cookie": {c.cookieName() + "=" + good}}); err != nil || chat != "CHATONE" {
		t.Errorf("got %q, %v, want the chat of our own cookie", chat, err)
	}
}

func TestSessionExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestChat(t, Config{})
		h := pageHeader(c, "CHATONE")
		time.Sleep(sessionAge) // fake time
		if _, err := c.chat(h); err != nil {
			t.Errorf("got %v at the age of a session, want none", err)
		}
		time.Sleep(2 * time.Second)
		if _, err := c.chat(h); err == nil {
			t.Error("got no error past the age of a session, want one")
		}
		c.Close()
	})
}

type givenSession struct{ Chat, Post string }

func readSession(t *testing.T, body []byte) givenSession {
	t.Helper()
	var s givenSession
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSessionIsGivenAndKept(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{ID: "help-desk"})
	h := http.Header{"Sec-Fetch-Site": {"same-origin"}}
	first := do(t, c, http.MethodPost, "/webchat/session", h)
	s := readSession(t, first.Body.Bytes())
	if first.Code != 200 || len(s.Chat) < 20 || s.Post != "webhooks/help-desk" {
		t.Fatalf("got %d %+v, want a random chat and where to post", first.Code, s)
	}
	cookie := first.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure || cookie.Path != "/" || cookie.MaxAge <= 0 {
		t.Errorf("got the cookie %+v, want HttpOnly, SameSite=Strict, with an age", cookie)
	}
	h.Set("Cookie", cookie.Name+"="+cookie.Value)
	if again := readSession(t, do(t, c, http.MethodPost, "/webchat/session", h).Body.Bytes()); again.Chat != s.Chat {
		t.Errorf("got the chat %q again, want %q", again.Chat, s.Chat)
	}
	if fresh := readSession(t, do(t, c, http.MethodPost, "/webchat/session?new", h).Body.Bytes()); fresh.Chat == s.Chat {
		t.Error("got the old chat, want a new one")
	}
	h.Set("X-Forwarded-Proto", "https")
	if cookie := do(t, c, http.MethodPost, "/webchat/session", h).Result().Cookies()[0]; !cookie.Secure {
		t.Error("got a cookie that is not Secure behind TLS, want Secure")
	}
}

func TestSessionOnlyForThePage(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	w := do(t, c, http.MethodPost, "/webchat/session?new", http.Header{"Sec-Fetch-Site": {"cross-site"}})
	if w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("got %d with cookie %q, want 403 without", w.Code, w.Header().Get("Set-Cookie"))
	}
	if w := get(t, c, "/webchat/session", nil); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("got %d for a GET, want 405", w.Code)
	}
}
