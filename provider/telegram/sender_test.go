package telegram

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/providertest"
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
		if len(got) != 1 || sent.MessageID != got[0].ID || got[0].Text != "hello <b>&" {
			t.Fatalf("%s: got %+v sent as %q, want the message", chat, got, sent.MessageID)
		}
		want := []fakeplatform.Button{{Label: "Yes", Payload: "y"}, {Label: "No", Payload: "n"}, {Label: "Maybe", Payload: "m"}}
		if diff := cmp.Diff(want, got[0].Buttons); diff != "" {
			t.Errorf("%s: buttons (-want +got):\n%s", chat, diff)
		}
	}
}

// The rows are as the bot has them, without those that are empty.
func TestButtonsKeepTheirRows(t *testing.T) {
	t.Parallel()
	got, err := inlineKeyboard([][]botmesh.Button{{{Label: "Yes", Payload: "y"}, {Label: "No", Payload: "n"}}, {}, {{Label: "Maybe", Payload: "m"}}})
	want := &markup{[][]button{{{"Yes", "y"}, {"No", "n"}}, {{"Maybe", "m"}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got error %v, rows (-want +got):\n%s", err, diff)
	}
}

// SPEC: O5 O7
func TestSender(t *testing.T) {
	t.Parallel()
	sample := func(name string) string { return string(read(t, name)) }
	wait := func(seconds string) http.Header { return http.Header{"Retry-After": {seconds}} }
	providertest.Sender(t, providertest.Platform{
		Sender:   func(t testing.TB, api string) provider.Sender { return newSender(t, api) },
		Chat:     "55",
		Secret:   "AA_secret",
		Fake:     func() http.Handler { return telegramtest.New(testToken) },
		Unstyled: providertest.Answer{Status: 400, Body: sample("answer_400_entities")},
		Answers: map[string]providertest.Answer{
			"Sent":             {Status: 200, Body: `{"ok":true,"result":{"message_id":5}}`, Want: "sent 5"},
			"RateLimit":        {Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`, Want: "retry after 7s"},
			"RateLimitHeader":  {Status: 429, Header: wait("9"), Body: `{"ok":false,"error_code":429,"description":"Too Many Requests"}`, Want: "retry after 9s"},
			"RateLimitOfProxy": {Status: 429, Header: wait("9"), Body: `slow down`, Want: "retry after 9s"},
			"RateLimitHuge":    {Status: 429, Body: `{"ok":false,"error_code":429,"parameters":{"retry_after":9000000000000000000}}`, Want: "retry after 24h0m0s"},
			"RateLimitMinus":   {Status: 429, Body: `{"ok":false,"error_code":429,"parameters":{"retry_after":-5}}`, Want: "retry after 0s"},
			"ChatNotFound":     {Status: 400, Body: sample("answer_400_chat_not_found"), Want: "permanent"},
			"EmptyText":        {Status: 400, Body: sample("answer_400_empty_text"), Want: "permanent"},
			"Entities":         {Status: 400, Body: sample("answer_400_entities"), Want: "permanent"},
			"Kicked":           {Status: 403, Body: sample("answer_403_kicked"), Want: "blocked"},
			"Token":            {Status: 401, Body: sample("answer_401"), Want: "retry after 30s"},
			"WrongPath":        {Status: 404, Body: `{"ok":false,"error_code":404,"description":"Not Found"}`, Want: "retry after 30s"},
			"NotTelegram":      {Status: 404, Body: `<html>nothing here</html>`, Want: "retry after 30s"},
			"ProxySaysNo":      {Status: 403, Body: `<html>forbidden</html>`, Want: "retry after 30s"},
			"Redirect":         {Status: 302, Header: http.Header{"Location": {"/elsewhere"}}, Want: "retry after 30s"},
			"OtherPoller":      {Status: 409, Body: sample("answer_409"), Want: "retry after 0s"},
			"Unavailable":      {Status: 500, Body: `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, Want: "in doubt"},
			"BadGateway":       {Status: 502, Body: `<html>bad gateway</html>`, Want: "in doubt"},
			"Gibberish":        {Status: 200, Body: `<html>log in first</html>`, Want: "in doubt"},
			"SaysNothing":      {Status: 200, Body: `{}`, Want: "in doubt"},
			"NoOnSuccess":      {Status: 200, Body: `{"ok":false}`, Want: "in doubt"},
			"YesAndNo":         {Status: 500, Body: `{"ok":true,"error_code":400}`, Want: "in doubt"},
			"YesOnFailure":     {Status: 500, Body: `{"ok":true,"result":{"message_id":5}}`, Want: "in doubt"},
		},
	})
}

func TestCallFollowsMigration(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	tg.Next("-100", telegramtest.Migrated(400, -1003000000009))
	if _, err := s.Call(t.Context(), to("-100", "hi")); err != nil {
		t.Fatal(err)
	}
	if got := tg.Texts("-1003000000009"); len(got) != 1 {
		t.Errorf("got %q in the new chat, want the message", got)
	}
	// Only a refusal is followed: another answer may come after a delivery.
	calls := tg.Calls()
	tg.Next("-100", telegramtest.Migrated(502, -1003000000009))
	if _, err := s.Call(t.Context(), to("-100", "hi")); providertest.Verdict(provider.Sent{}, err) != "in doubt" || tg.Calls() != calls+1 {
		t.Errorf("got %s after %d calls, want in doubt after one", providertest.Verdict(provider.Sent{}, err), tg.Calls()-calls)
	}
	// A chat that moves twice in one call is given up.
	tg.Next("", telegramtest.Migrated(400, -5), telegramtest.Migrated(400, -6))
	if _, err := s.Call(t.Context(), to("-100", "hi")); !provider.IsPermanent(err) {
		t.Errorf("got %v, want a permanent error", err)
	}
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
			t.Errorf("%s: got %s (%v), want permanent", name, providertest.Verdict(provider.Sent{}, err), err)
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
