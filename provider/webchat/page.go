package webchat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"time"
)

// policy lets the page use its own script, style and address, images that the bot shows,
// and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src data: http: https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// route builds the page and says what is where.
func (c *Chat) route() error {
	t, err := template.ParseFS(files, "page/index.html")
	if err != nil {
		return fmt.Errorf("webchat: read the page: %w", err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, struct{ Title string }{c.cfg.Title}); err != nil {
		return fmt.Errorf("webchat: make the page: %w", err)
	}
	c.mux.Handle("GET /{$}", static("index.html", page.Bytes()))
	for _, name := range []string{"chat.js", "chat.css"} {
		data, err := files.ReadFile("page/" + name)
		if err != nil {
			return fmt.Errorf("webchat: read the page: %w", err)
		}
		c.mux.Handle("GET /webchat/"+name, static(name, data))
	}
	c.mux.HandleFunc("POST /webchat/session", c.session)
	c.mux.HandleFunc("GET /webchat/events", c.events)
	return nil
}

// static serves a file, which a browser keeps and asks for again.
func static(name string, data []byte) http.Handler {
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		protect(h)
		h.Set("ETag", tag)
		h.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, path.Base(name), time.Time{}, bytes.NewReader(data))
	})
}

// protect sets what every answer says to the browser. With a stricter referrer
// policy a browser would not name the origin of what the page posts.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// session gives the page its session: the one it has, renewed, or a new one. It is
// not given with the page itself, since a browser that follows a link from
// elsewhere leaves the cookie of an old session out.
func (c *Chat) session(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	protect(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	if err := sameOrigin(header); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	chat, err := c.chat(header)
	if err != nil || r.URL.Query().Has("new") {
		chat = newChat()
	}
	// The proxy before us may be the one that speaks TLS. Who lies here gets a
	// cookie that his own browser does not send.
	secure := r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
	http.SetCookie(w, c.cookie(chat, secure))
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(struct {
		Chat string `json:"chat"`
		Post string `json:"post"`
	}{chat, "webhooks/" + c.cfg.ID})
}
