package webchat

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
)

const testSecret = "a secret of the tests"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLetters is an outbox of one chat.
type fakeLetters struct {
	mu      sync.Mutex
	letters []botmesh.Letter // sequences are 10, 20, …
	changed chan struct{}
	after   []uint64 // what each Follow asked for
	running int
	fail    error
}

func newLetters(texts ...string) *fakeLetters {
	f := &fakeLetters{changed: make(chan struct{})}
	for _, t := range texts {
		f.add(t)
	}
	return f
}

func (f *fakeLetters) add(text string, buttons ...botmesh.Button) {
	f.mu.Lock()
	defer f.mu.Unlock()
	part := botmesh.Part{ID: "part-" + text, Send: botmesh.Send{Text: text}}
	if buttons != nil {
		part.Send.Buttons = [][]botmesh.Button{buttons}
	}
	f.letters = append(f.letters, botmesh.Letter{ID: text, Parts: []botmesh.Part{part}})
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeLetters) Follow(ctx context.Context, chat botmesh.ChatKey, after uint64, each func(uint64, botmesh.Letter) error) error {
	f.mu.Lock()
	f.after = append(f.after, after)
	f.running++
	fail := f.fail
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if fail != nil {
		return fail
	}
	for n := 0; ; {
		f.mu.Lock()
		letters, changed := f.letters, f.changed
		f.mu.Unlock()
		for ; n < len(letters); n++ {
			l := letters[n]
			l.Chat = chat
			if seq := uint64(n+1) * 10; seq > after {
				if err := each(seq, l); err != nil {
					return err
				}
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fakeLetters) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

func newTestChat(t testing.TB, cfg Config) *Chat {
	t.Helper()
	if cfg.Letters == nil {
		cfg.Letters = newLetters()
	}
	if cfg.Secret == "" {
		cfg.Secret = testSecret
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// pageHeader is what a browser sends with a form of the page.
func pageHeader(c *Chat, chat string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", formType)
	h.Set("Sec-Fetch-Site", "same-origin")
	h.Set("Accept-Language", "de-AT,de;q=0.9,en;q=0.8")
	h.Set("Cookie", c.cookieName()+"="+c.cookie(chat, false).Value)
	h.Set("Host", "chat.example")
	return h
}

func formBody(pairs ...string) []byte {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return []byte(v.Encode())
}

func get(t testing.TB, h http.Handler, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, http.MethodGet, target, header)
}

func do(t testing.TB, h http.Handler, method, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(""))
	if header != nil {
		r.Header = header.Clone()
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
