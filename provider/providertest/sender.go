package providertest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Platform makes a sender and says what its platform answers.
type Platform struct {
	// Sender makes a sender to the API at that base address.
	Sender func(t testing.TB, api string) provider.Sender
	// Chat is an address that the sender can send to.
	Chat string
	// Secret is in no error.
	Secret string
	// Answers are what a platform says to a call, and what it means.
	Answers map[string]Answer
	// Fake makes a pretended platform that takes what the real one takes, nil for none.
	Fake func() http.Handler
	// Unstyled is the answer by which the platform refuses the styles of a text, zero where
	// it does not. The plain text is then sent by a second call.
	Unstyled Answer
}

// Answer is an answer to a call and what it means.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	// Want is "sent <id>", "permanent", "blocked", "retry after <delay>" or "in doubt".
	Want string
}

// write answers a call.
func (a Answer) write(w http.ResponseWriter) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	w.Write([]byte(a.Body))
}

// Verdict is what the outcome of a call means, in the words of [Answer].
func Verdict(sent provider.Sent, err error) string {
	after, retry := provider.RetryAfter(err)
	switch {
	case err == nil:
		return "sent " + sent.MessageID
	case provider.IsBlocked(err):
		return "blocked"
	case provider.IsPermanent(err):
		return "permanent"
	case retry:
		return "retry after " + after.String()
	}
	return "in doubt"
}

// Sender checks that a sender tells each answer for what it is, what never left
// from what is in doubt, and its secret to nobody; and that it loses no file, and no
// word and no style that it shows of a formatted text.
func Sender(t *testing.T, p Platform) {
	t.Helper()
	if len(p.Answers) == 0 || p.Chat == "" || p.Secret == "" {
		t.Fatal("got no answers, no chat or no secret, want all")
	}
	for name, a := range p.Answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.answered(t, a)
		})
	}
	t.Run("NeverLeft", func(t *testing.T) {
		t.Parallel()
		p.neverLeft(t)
	})
	t.Run("InDoubt", func(t *testing.T) {
		t.Parallel()
		p.inDoubt(t)
	})
	t.Run("Files", func(t *testing.T) {
		t.Parallel()
		p.files(t)
	})
	t.Run("Styles", func(t *testing.T) {
		t.Parallel()
		p.styles(t)
	})
	if p.Unstyled.Status != 0 {
		t.Run("Unstyled", func(t *testing.T) {
			t.Parallel()
			p.unstyled(t)
		})
	}
	t.Run("NoChat", func(t *testing.T) {
		t.Parallel()
		none := provider.Call{Part: "p", Chat: botmesh.ChatKey{Provider: "p", Chat: "-"}, Send: botmesh.Send{Text: "hi"}}
		if _, err := p.Sender(t, "http://127.0.0.1:1").Call(t.Context(), none); !provider.IsPermanent(err) {
			t.Errorf("got %v, want a permanent error for what has no chat", err)
		}
	})
}

// call makes a call to api and looks at its error.
func (p Platform) call(ctx context.Context, t *testing.T, api string) string {
	t.Helper()
	s := p.Sender(t, api)
	sent, err := s.Call(ctx, provider.Call{
		Part: "p/1.2/3.0", Chat: botmesh.ChatKey{Provider: s.ID(), Chat: p.Chat}, Send: botmesh.Send{Text: "hi"},
	})
	for e := err; e != nil; e = errors.Unwrap(e) {
		var withURL *url.Error
		if strings.Contains(e.Error(), p.Secret) || errors.As(e, &withURL) {
			t.Errorf("got the secret or an address in %T %q, want it nowhere", e, e)
		}
	}
	t.Logf("%v", err)
	return Verdict(sent, err)
}

func (p Platform) answered(t *testing.T, a Answer) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		a.write(w)
	}))
	defer srv.Close()
	if got := p.call(t.Context(), t, srv.URL); got != a.Want {
		t.Errorf("got %s, want %s", got, a.Want)
	}
}

// neverLeft makes calls that can not have reached the platform.
func (p Platform) neverLeft(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := p.call(t.Context(), t, "http://"+l.Addr().String()); got != "retry after 0s" {
		t.Errorf("nobody listens: got %s, want a retry", got)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("got a call over a connection that nobody trusts, want none")
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	if got := p.call(t.Context(), t, srv.URL); got != "retry after 0s" {
		t.Errorf("an unknown certificate: got %s, want a retry", got)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if got := p.call(late, t, srv.URL); got != "retry after 0s" {
		t.Errorf("no time left: got %s, want a retry", got)
	}
}

// inDoubt makes calls that the platform may have taken.
func (p Platform) inDoubt(t *testing.T) {
	t.Helper()
	broken := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer broken.Close()
	if got := p.call(t.Context(), t, broken.URL); got != "in doubt" {
		t.Errorf("a broken connection: got %s, want in doubt", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel() // it has the call, and the caller's time ends
		<-r.Context().Done()
	}))
	defer silent.Close()
	if got := p.call(ctx, t, silent.URL); got != "in doubt" {
		t.Errorf("no answer in time: got %s, want in doubt", got)
	}
}
