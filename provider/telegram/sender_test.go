package telegram

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const testToken = "7100000001:AA_secret-token"

func newSender(t testing.TB, api string) *Sender {
	t.Helper()
	s, err := NewSender(SenderConfig{Token: testToken, API: api})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fake is a Telegram and a sender to it.
func fake(t testing.TB) (*telegramtest.Server, *Sender) {
	t.Helper()
	tg := telegramtest.New(testToken)
	srv := httptest.NewServer(tg)
	t.Cleanup(srv.Close)
	return tg, newSender(t, srv.URL)
}

func to(chat, text string) provider.Call {
	return provider.Call{Part: "p", Chat: key(chat), Send: botmesh.Send{Text: text}}
}

func TestCallSends(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	for _, chat := range []string{"55", "-100/7", "biz:conn:55"} {
		c := to(chat, "hello <b>&")
		c.Send.Buttons = [][]botmesh.Button{{{Label: "Yes", Payload: "y"}, {Label: "No", Payload: "n"}}, {}, {{Label: "Maybe", Payload: "m"}}}
		sent, err := s.Call(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: got %v, want no error", chat, err)
		}
		got := tg.Chat(chat)
		if len(got) != 1 || sent.MessageID != id(got[0].ID) || got[0].Text != "hello <b>&" {
			t.Fatalf("%s: got %+v sent as %q, want the message", chat, got, sent.MessageID)
		}
		want := [][]telegramtest.Button{{{Label: "Yes", Payload: "y"}, {Label: "No", Payload: "n"}}, {{Label: "Maybe", Payload: "m"}}}
		if diff := cmp.Diff(want, got[0].Buttons); diff != "" {
			t.Errorf("%s: buttons (-want +got):\n%s", chat, diff)
		}
	}
}

// verdict is what a call's error means to the outbox.
func verdict(err error) string {
	after, retry := provider.RetryAfter(err)
	switch {
	case err == nil:
		return "sent"
	case provider.IsPermanent(err):
		return "permanent"
	case retry:
		return "retry after " + after.String()
	}
	return "in doubt"
}

// SPEC: O5 O7
func TestCallAnswers(t *testing.T) {
	t.Parallel()
	sample := func(name string) string { return string(read(t, name)) }
	for name, c := range map[string]struct {
		status int
		header string // Retry-After
		body   string
		want   string
	}{
		"Sent":             {200, "", `{"ok":true,"result":{"message_id":5}}`, "sent"},
		"RateLimit":        {429, "", `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`, "retry after 7s"},
		"RateLimitHeader":  {429, "9", `{"ok":false,"error_code":429,"description":"Too Many Requests"}`, "retry after 9s"},
		"RateLimitOfProxy": {429, "9", `slow down`, "retry after 9s"},
		"RateLimitHuge":    {429, "", `{"ok":false,"error_code":429,"parameters":{"retry_after":9000000000000000000}}`, "retry after 24h0m0s"},
		"RateLimitMinus":   {429, "", `{"ok":false,"error_code":429,"parameters":{"retry_after":-5}}`, "retry after 0s"},
		"ChatNotFound":     {400, "", sample("answer_400_chat_not_found"), "permanent"},
		"EmptyText":        {400, "", sample("answer_400_empty_text"), "permanent"},
		"Entities":         {400, "", sample("answer_400_entities"), "permanent"},
		"Kicked":           {403, "", sample("answer_403_kicked"), "permanent"},
		"Token":            {401, "", sample("answer_401"), "retry after 30s"},
		"WrongPath":        {404, "", `{"ok":false,"error_code":404,"description":"Not Found"}`, "retry after 30s"},
		"NotTelegram":      {404, "", `<html>nothing here</html>`, "retry after 30s"},
		"ProxySaysNo":      {403, "", `<html>forbidden</html>`, "retry after 30s"},
		"Redirect":         {302, "", ``, "retry after 30s"},
		"OtherPoller":      {409, "", sample("answer_409"), "retry after 0s"},
		"Unavailable":      {500, "", `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, "in doubt"},
		"BadGateway":       {502, "", `<html>bad gateway</html>`, "in doubt"},
		"Gibberish":        {200, "", `<html>log in first</html>`, "in doubt"},
		"SaysNothing":      {200, "", `{}`, "in doubt"},
		"NoOnSuccess":      {200, "", `{"ok":false}`, "in doubt"},
		"YesAndNo":         {500, "", `{"ok":true,"error_code":400}`, "in doubt"},
		"YesOnFailure":     {500, "", `{"ok":true,"result":{"message_id":5}}`, "in doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				if c.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			t.Cleanup(srv.Close)
			_, err := newSender(t, srv.URL).Call(t.Context(), to("55", "hi"))
			if got := verdict(err); got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
			noToken(t, err)
		})
	}
}

func noToken(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), testToken) || strings.Contains(e.Error(), "AA_secret") {
			t.Errorf("got the token in %q, want it nowhere", e)
		}
		var withURL *url.Error
		if errors.As(e, &withURL) {
			t.Errorf("got a *url.Error in %T, want its address nowhere", e)
		}
	}
}

func TestCallFollowsMigration(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	tg.Next("-100", telegramtest.Fault{Status: 400, MigrateTo: -1003000000009})
	if _, err := s.Call(t.Context(), to("-100", "hi")); err != nil {
		t.Fatal(err)
	}
	if got := tg.Texts("-1003000000009"); len(got) != 1 {
		t.Errorf("got %q in the new chat, want the message", got)
	}
	// Only a refusal is followed: another answer may come after a delivery.
	calls := tg.Calls()
	tg.Next("-100", telegramtest.Fault{Status: 502, MigrateTo: -1003000000009})
	if _, err := s.Call(t.Context(), to("-100", "hi")); verdict(err) != "in doubt" || tg.Calls() != calls+1 {
		t.Errorf("got %s after %d calls, want in doubt after one", verdict(err), tg.Calls()-calls)
	}
	// A chat that moves twice in one call is given up.
	tg.Next("", telegramtest.Fault{Status: 400, MigrateTo: -5}, telegramtest.Fault{Status: 400, MigrateTo: -6})
	if _, err := s.Call(t.Context(), to("-100", "hi")); !provider.IsPermanent(err) {
		t.Errorf("got %v, want a permanent error", err)
	}
}

// SPEC: O7
func TestCallWithoutAnswerIsInDoubt(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	tg.Next("55", telegramtest.Fault{Take: true, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taken := make(chan error, 1)
	go func() {
		_, err := tg.Wait(t.Context(), "55", 1)
		cancel()
		taken <- err
	}()
	_, err := s.Call(ctx, to("55", "hi"))
	if werr := <-taken; werr != nil {
		t.Fatal(werr)
	}
	if got := verdict(err); got != "in doubt" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %s (%v), want in doubt since the context ended", got, err)
	}
	noToken(t, err)
}

// A connection that breaks after the call was written: it may have been taken.
func TestCallBrokenConnectionIsInDoubt(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(srv.Close)
	_, err := newSender(t, srv.URL).Call(t.Context(), to("55", "hi"))
	if got := verdict(err); got != "in doubt" {
		t.Errorf("got %s (%v), want in doubt", got, err)
	}
	noToken(t, err)
}

// A call that never left is no doubt.
func TestCallThatNeverLeftIsRetried(t *testing.T) {
	t.Parallel()
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = newSender(t, "http://"+l.Addr().String()).Call(t.Context(), to("55", "hi"))
		if got := verdict(err); got != "retry after 0s" {
			t.Errorf("got %s (%v), want a retry", got, err)
		}
		noToken(t, err)
	})
	t.Run("NoTime", func(t *testing.T) {
		t.Parallel()
		tg, s := fake(t)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		_, err := s.Call(ctx, to("55", "hi"))
		if got := verdict(err); got != "retry after 0s" || tg.Calls() != 0 {
			t.Errorf("got %s (%v) and %d calls, want a retry and none", got, err, tg.Calls())
		}
		noToken(t, err)
	})
	t.Run("HandshakeFails", func(t *testing.T) {
		t.Parallel()
		srv := httptest.NewUnstartedServer(telegramtest.New(testToken))
		srv.Config.ErrorLog = quiet
		srv.StartTLS() // with a certificate that nobody trusts
		t.Cleanup(srv.Close)
		_, err := newSender(t, srv.URL).Call(t.Context(), to("55", "hi"))
		if got := verdict(err); got != "retry after 0s" {
			t.Errorf("got %s (%v), want a retry", got, err)
		}
		noToken(t, err)
	})
}

func TestCallRefusesBeforehand(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	long := to("55", "hi")
	long.Send.Buttons = [][]botmesh.Button{{{Label: "Yes", Payload: strings.Repeat("é", 33)}}}
	bare := to("55", "hi")
	bare.Send.Buttons = [][]botmesh.Button{{{Payload: "y"}}}
	for name, c := range map[string]provider.Call{"LongPayload": long, "NoLabel": bare, "NoChat": to("-", "hi")} {
		if _, err := s.Call(t.Context(), c); !provider.IsPermanent(err) {
			t.Errorf("%s: got %s (%v), want permanent", name, verdict(err), err)
		}
	}
	if got := tg.Calls(); got != 0 {
		t.Errorf("got %d calls, want none", got)
	}
}

func TestNewSenderNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewSender(SenderConfig{ID: "X", Token: "7:AA/secret", API: "ftp://u:pw@h"})
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, word := range []string{`"X"`, "token", "API address"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %q, want it to name %s", err, word)
		}
	}
	for _, secret := range []string{"AA/secret", "pw"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("got %q, want no secret in it", err)
		}
	}
}
