package webchat

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// SPEC: X1
func TestPageIsServedSafely(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{Title: `<Pizza> & "more"`})
	for path, typ := range map[string]string{"/": "text/html", "/webchat/chat.js": "text/javascript", "/webchat/chat.css": "text/css"} {
		w := get(t, c, path, nil)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), typ) || w.Body.Len() == 0 {
			t.Errorf("%s: got %d of type %q, want 200 of %s", path, w.Code, w.Header().Get("Content-Type"), typ)
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "img-src data: http: https:;") || strings.Contains(csp, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got the policy %q, want a strict one", path, csp)
		}
		if w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: got a cookie, want none", path)
		}
		again := get(t, c, path, http.Header{"If-None-Match": {w.Header().Get("ETag")}})
		if again.Code != http.StatusNotModified {
			t.Errorf("%s: got %d for the same again, want 304", path, again.Code)
		}
	}
	if body := get(t, c, "/", nil).Body.String(); !strings.Contains(body, "&lt;Pizza&gt; &amp;") || strings.Contains(body, "<Pizza>") {
		t.Error("got the title unescaped or not at all, want it escaped")
	}
	for _, path := range []string{"/webchat/", "/webchat/page.go", "/page/index.html", "/index.html", "/..%2fwebchat.go"} {
		if w := get(t, c, path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, w.Code)
		}
	}
}

// The policy of the page forbids what these would need; this names the line.
func TestPageHasNoMarkupFromText(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]*regexp.Regexp{
		"page/chat.js":    regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function`),
		"page/index.html": regexp.MustCompile(`(?i)\son[a-z]+=|<style|\sstyle=|<script>`),
	} {
		data, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := bad.FindString(string(data)); found != "" {
			t.Errorf("%s: got %q, want none of it", name, found)
		}
	}
}

// All links are made in one place, which gives nothing of the page to where they lead.
func TestPageLinksSafely(t *testing.T) {
	t.Parallel()
	data, err := files.ReadFile("page/chat.js")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, once := range []string{".href = ", "element('a'", "link.target = '_blank'", "link.rel = 'noopener noreferrer'", `/^(https?:\/\/|mailto:|tel:)/i.test(run.url)`} {
		if n := strings.Count(page, once); n != 1 {
			t.Errorf("got %q %d times, want it once", once, n)
		}
	}
}

func TestNewNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := New(Config{ID: "No", Secret: "short-secret", MaxStreams: -1})
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, word := range []string{`"No"`, "16 bytes", "no Letters", "negative"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %q, want it to name %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "short-secret") {
		t.Errorf("got %q, want no secret in it", err)
	}
}

func TestSender(t *testing.T) {
	t.Parallel()
	s, err := NewSender("")
	if err != nil || s.ID() != "webchat" {
		t.Fatalf("got %v, %v, want the web chat's sender", s, err)
	}
	if _, err := NewSender("No"); err == nil {
		t.Error("got no error for a wrong id, want one")
	}
	for _, style := range []botmesh.Style{botmesh.StyleBold, botmesh.StylePre, botmesh.StyleLink} {
		if !s.Styles(botmesh.Span{Style: style}) {
			t.Errorf("got %s not shown, want it shown", style)
		}
	}
	long := botmesh.Send{Text: strings.Repeat("a", 100_000)}
	if parts := s.Split(long); len(parts) != 1 || parts[0].Text != long.Text {
		t.Errorf("got %d parts, want the text whole", len(parts))
	}
	sent, err := s.Call(t.Context(), provider.Call{Part: "p"})
	if err != nil || sent.MessageID != "p" || !s.IdempotentCalls() {
		t.Errorf("got %+v, %v, want success", sent, err)
	}
}
