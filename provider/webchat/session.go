package webchat

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// sessionAge is how long a session lasts after the page was last opened.
const sessionAge = 30 * 24 * time.Hour

// The two things that are signed. What is signed as one is never taken for the other.
const (
	asSession = "session"
	asButton  = "button"
)

const (
	errSite    = provider.Refusal("webchat: the request is not from this host's page: the header Sec-Fetch-Site must be same-origin")
	errOrigin  = provider.Refusal("webchat: the request is not from this host's page: the header Origin must name the Host of the request, which a proxy has to pass on; no setting allows another")
	errSession = provider.Refusal("webchat: there is no session, or it has ended: reload the page")
)

// sign is a MAC over parts, none of which may hold a line feed but the last.
func (c *Chat) sign(what string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(c.cfg.Secret))
	mac.Write([]byte("botmesh webchat " + what + "\n" + c.cfg.ID + "\n" + strings.Join(parts, "\n")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (c *Chat) signed(sig, what string, parts ...string) bool {
	return hmac.Equal([]byte(sig), []byte(c.sign(what, parts...)))
}

func (c *Chat) cookieName() string { return "botmesh_" + c.cfg.ID }

// newChat makes the random name of a chat, which nobody can guess.
func newChat() string { return rand.Text() }

// cookie makes the session's cookie: <chat>.<issued>.<signature>.
func (c *Chat) cookie(chat string, secure bool) *http.Cookie {
	issued := strconv.FormatInt(time.Now().Unix(), 10)
	return &http.Cookie{
		Name:     c.cookieName(),
		Value:    chat + "." + issued + "." + c.sign(asSession, chat, issued),
		Path:     "/",
		MaxAge:   int(sessionAge / time.Second),
		HttpOnly: true,
		Secure:   secure,
		SameSite: http.SameSiteStrictMode,
	}
}

// chat is the chat of the session that the cookie in h names.
func (c *Chat) chat(h http.Header) (string, error) {
	cookie, err := (&http.Request{Header: h}).Cookie(c.cookieName())
	if err != nil {
		return "", errSession
	}
	chat, rest, _ := strings.Cut(cookie.Value, ".")
	issued, sig, _ := strings.Cut(rest, ".")
	if chat == "" || !c.signed(sig, asSession, chat, issued) {
		return "", errSession
	}
	at, err := strconv.ParseInt(issued, 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)) > sessionAge {
		return "", errSession
	}
	return chat, nil
}

// sameOrigin checks that the page itself made a request: by what the browser says
// of it, or in browsers that do not by the origin, which must be this host. A
// request that says neither is refused.
func sameOrigin(h http.Header) error {
	if site := h.Get("Sec-Fetch-Site"); site != "" {
		if site == "same-origin" {
			return nil
		}
		return errSite
	}
	origin, err := url.Parse(h.Get("Origin"))
	if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, h.Get("Host")) {
		return errOrigin
	}
	return nil
}
