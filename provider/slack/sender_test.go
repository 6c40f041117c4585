package slack

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
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

func newSender(t testing.TB, api string) *Sender {
	t.Helper()
	s, err := NewSender(SenderConfig{Token: testToken, API: api})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fake is a Slack and a sender to it.
func fake(t testing.TB) (*slacktest.Server, *Sender) {
	t.Helper()
	sl := slacktest.New(testToken)
	srv := httptest.NewServer(sl)
	t.Cleanup(srv.Close)
	return sl, newSender(t, srv.URL)
}

func to(chat string, s botmesh.Send) provider.Call {
	return provider.Call{Part: "slack.1/e.7/0.0", Chat: direct(chat), Send: s}
}

func row(labels ...string) [][]botmesh.Button {
	rows := [][]botmesh.Button{{}}
	for _, l := range labels {
		rows[0] = append(rows[0], botmesh.Button{Label: l, Payload: "p:" + l})
	}
	return rows
}

func TestCallSends(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	for _, chat := range []string{dm, hall + "/" + stamp} {
		for n, buttons := range [][][]botmesh.Button{nil, append(row("Yes", "No"), row("Maybe")...)} {
			sent, err := s.Call(t.Context(), to(chat, botmesh.Send{Text: "hello <b>&amp;", Buttons: buttons}))
			if err != nil {
				t.Fatalf("%s: got %v, want no error", chat, err)
			}
			got := sl.Chat(chat)
			if len(got) != n+1 || sent.MessageID != got[n].ID || got[n].Text != "hello <b>&amp;" || got[n].Part != "slack.1/e.7/0.0" {
				t.Fatalf("%s: got %+v sent as %q, want the message", chat, got, sent.MessageID)
			}
			var want []fakeplatform.Button
			if n == 1 {
				want = []fakeplatform.Button{{Label: "Yes", Payload: "p:Yes"}, {Label: "No", Payload: "p:No"}, {Label: "Maybe", Payload: "p:Maybe"}}
			}
			if diff := cmp.Diff(want, got[n].Buttons); diff != "" {
				t.Errorf("%s: buttons (-want +got):\n%s", chat, diff)
			}
		}
	}
}

// SPEC: O5 O7
func TestSender(t *testing.T) {
	t.Parallel()
	sample := func(name string) string { return string(read(t, "answer_"+name+".json")) }
	refusal := func(code, want string) providertest.Answer {
		return providertest.Answer{Status: 200, Body: slacktest.Error(code).Body, Want: want}
	}
	wait := http.Header{"Retry-After": {"9"}}
	providertest.Sender(t, providertest.Platform{
		Sender:   func(t testing.TB, api string) provider.Sender { return newSender(t, api) },
		Chat:     dm,
		Secret:   testToken,
		Fake:     func() http.Handler { return slacktest.New(testToken) },
		Unstyled: refusal("invalid_blocks", ""),
		Answers: map[string]providertest.Answer{
			"Sent":         {Status: 200, Body: sample("sent"), Want: "sent 1797000130.001600"},
			"TooLong":      {Status: 200, Body: sample("too_long"), Want: "permanent"},
			"TokenRevoked": {Status: 200, Body: sample("token_revoked"), Want: "retry after 30s"},
			"RateLimit":    {Status: 429, Header: wait, Body: slacktest.Error("ratelimited").Body, Want: "retry after 9s"},
			"ProxyLimit":   {Status: 429, Header: wait, Body: "slow down", Want: "retry after 9s"},
			"RateLimit200": refusal("ratelimited", "retry after 0s"),
			"Away":         refusal("service_unavailable", "retry after 0s"),
			"Scope":        refusal("missing_scope", "retry after 30s"),
			"Channel":      refusal("channel_not_found", "permanent"),
			"NotThere":     refusal("not_in_channel", "permanent"),
			"NewRefusal":   refusal("bad_karma", "permanent"),
			"Internal":     refusal("internal_error", "in doubt"),
			"Fatal":        refusal("fatal_error", "in doubt"),
			"Down":         {Status: 503, Body: "<html>down</html>", Want: "in doubt"},
			"NoOn5xx":      {Status: 500, Body: slacktest.Error("channel_not_found").Body, Want: "in doubt"},
			"NotTheAPI":    {Status: 404, Body: "<html>nothing here</html>", Want: "retry after 30s"},
			"Redirect":     {Status: 302, Header: http.Header{"Location": {"/elsewhere"}}, Want: "retry after 30s"},
			"SaysNothing":  {Status: 200, Body: `{}`, Want: "in doubt"},
			"NoStamp":      {Status: 200, Body: `{"ok":true}`, Want: "in doubt"},
			"Gibberish":    {Status: 200, Body: "<html>log in first</html>", Want: "in doubt"},
		},
	})
}

// SPEC: O8
func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send    botmesh.Send
		texts   []int // lengths of the parts as the user sees them
		buttons int   // of the last part
	}{
		"Text":         {botmesh.Send{Text: "hi"}, []int{2}, 0},
		"LongText":     {botmesh.Send{Text: strings.Repeat("é", 5000)}, []int{4000, 1000}, 0},
		"Escaped":      {botmesh.Send{Text: strings.Repeat("&", 1000)}, []int{800, 200}, 0},
		"Buttons":      {botmesh.Send{Text: "hi", Buttons: row("Yes", "No")}, []int{2}, 2},
		"WideRow":      {botmesh.Send{Text: "hi", Buttons: row(strings.Split("abcdefghijklmnopqrstuvwxyz", "")...)}, []int{2 + 1 + 9*5 + 17*6}, 0},
		"LongLabel":    {botmesh.Send{Text: "hi", Buttons: row(strings.Repeat("x", 76))}, []int{2 + 2 + 3 + 76}, 0},
		"LongPayload":  {botmesh.Send{Text: "hi", Buttons: row(strings.Repeat("x", 1999))}, []int{2 + 2 + 3 + 1999}, 0},
		"ManyRows":     {botmesh.Send{Text: "hi", Buttons: append([][]botmesh.Button{{}}, many(50)...)}, []int{2 + 1 + 9*5 + 41*6}, 0},
		"LongWithRow":  {botmesh.Send{Text: strings.Repeat("é", 3500), Buttons: row("Yes")}, []int{3000, 500}, 1},
		"EmptyRowOnly": {botmesh.Send{Text: "hi", Buttons: [][]botmesh.Button{{}}}, []int{2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sl, s := fake(t)
			var got []int
			for _, p := range s.Split(c.send) {
				got = append(got, provider.Unit(provider.CodePoints).Len(p.Text))
				if _, err := s.Call(t.Context(), to(dm, p)); err != nil { // Slack takes each
					t.Error(err)
				}
			}
			if diff := cmp.Diff(c.texts, got); diff != "" {
				t.Errorf("lengths (-want +got):\n%s", diff)
			}
			if taken := sl.Chat(dm); len(taken) == 0 || len(taken[len(taken)-1].Buttons) != c.buttons {
				t.Errorf("got %+v, want %d buttons below the last part", taken, c.buttons)
			}
		})
	}
}

func many(n int) (rows [][]botmesh.Button) {
	for range n {
		rows = append(rows, row("x")...)
	}
	return rows
}

func TestCallRefusesBeforehand(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	if _, err := s.Call(t.Context(), to(dm, botmesh.Send{Text: "hi", Buttons: row("")})); !provider.IsPermanent(err) || sl.Calls() != 0 {
		t.Errorf("got %v after %d calls, want a permanent error and none", err, sl.Calls())
	}
}

func TestNewSenderNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewSender(SenderConfig{ID: "X", Token: "se cret", API: "ftp://h"})
	for _, word := range []string{`"X"`, "token", "API address"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %s", err, word)
		}
	}
	if strings.Contains(err.Error(), "se cret") {
		t.Errorf("got %v, want no secret in it", err)
	}
}
