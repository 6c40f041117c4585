package whatsapp

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
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

func newSender(t testing.TB, api string) *Sender {
	t.Helper()
	s, err := NewSender(SenderConfig{AccessToken: testToken, PhoneNumberID: testNumber, API: api})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fake is a WhatsApp and a sender to it.
func fake(t testing.TB) (*whatsapptest.Server, *Sender) {
	t.Helper()
	wa := whatsapptest.New(testToken, testNumber)
	srv := httptest.NewServer(wa)
	t.Cleanup(srv.Close)
	return wa, newSender(t, srv.URL+"/"+whatsapptest.Version)
}

func to(chat string, s botmesh.Send) provider.Call {
	return provider.Call{Part: "whatsapp.1/e.7/0.0", Chat: key(chat), Send: s}
}

func row(labels ...string) [][]botmesh.Button {
	var rows [][]botmesh.Button
	for _, l := range labels {
		rows = append(rows, []botmesh.Button{{Label: l, Payload: "p:" + l}})
	}
	return rows
}

func TestCallSends(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	for _, chat := range []string{noraPhone, nora, "group:R3JvdXBGaWVsZA"} {
		for n, buttons := range [][][]botmesh.Button{nil, row("Yes", "No"), row("1", "2", "3", "4", "5")} {
			sent, err := s.Call(t.Context(), to(chat, botmesh.Send{Text: "hello <b>&", Buttons: buttons}))
			if err != nil {
				t.Fatalf("%s: got %v, want no error", chat, err)
			}
			got := wa.Chat(chat)
			if len(got) != n+1 || sent.MessageID != got[n].ID || got[n].Text != "hello <b>&" || got[n].Part != "whatsapp.1/e.7/0.0" {
				t.Fatalf("%s: got %+v sent as %q, want the message", chat, got, sent.MessageID)
			}
			var want []fakeplatform.Button
			for _, b := range buttons {
				want = append(want, fakeplatform.Button(b[0]))
			}
			if diff := cmp.Diff(want, got[n].Buttons); diff != "" {
				t.Errorf("%s: buttons (-want +got):\n%s", chat, diff)
			}
		}
	}
}

// What was written to another number is answered from there.
func TestCallFromTheNumberThatWasWrittenTo(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/701/messages" {
			t.Errorf("got a call of %s, want that of number 701", r.URL.Path)
		}
		w.Write([]byte(`{"messages":[{"id":"wamid.1"}]}`))
	}))
	t.Cleanup(srv.Close)
	if _, err := newSender(t, srv.URL).Call(t.Context(), to("701@"+nora, botmesh.Send{Text: "hi"})); err != nil {
		t.Error(err)
	}
}

// SPEC: O5 O7
func TestSender(t *testing.T) {
	t.Parallel()
	sample := func(name string) string { return string(read(t, name)) }
	refusal := func(status, code int, want string) providertest.Answer {
		return providertest.Answer{Status: status, Body: whatsapptest.Error(status, code, "no").Body, Want: want}
	}
	usage := func(v string) http.Header { return http.Header{"X-Business-Use-Case-Usage": {v}} }
	providertest.Sender(t, providertest.Platform{
		Sender: func(t testing.TB, api string) provider.Sender { return newSender(t, api+"/"+whatsapptest.Version) },
		Chat:   noraPhone,
		Secret: testToken,
		Fake:   func() http.Handler { return whatsapptest.New(testToken, testNumber) },
		Answers: map[string]providertest.Answer{
			"Sent":          {Status: 200, Body: sample("answer_sent"), Want: "sent wamid.OUT0001"},
			"Throughput":    {Status: 400, Body: sample("answer_130429"), Want: "retry after 0s"},
			"Unavailable":   {Status: 500, Body: sample("answer_131016"), Want: "retry after 0s"},
			"AppLimit":      {Status: 429, Header: usage(`{"9":[{"estimated_time_to_regain_access":7}]}`), Body: sample("answer_4"), Want: "retry after 7m0s"},
			"AppLimitPlain": {Status: 429, Header: http.Header{"Retry-After": {"9"}}, Body: sample("answer_4"), Want: "retry after 9s"},
			"AppLimitHuge":  {Status: 429, Header: usage(`{"9":[{"estimated_time_to_regain_access":9000000000000000000}]}`), Body: sample("answer_4"), Want: "retry after 24h0m0s"},
			"AppLimitOdd":   {Status: 429, Header: usage(`[7]`), Body: sample("answer_4"), Want: "retry after 0s"},
			"PairRate":      refusal(400, 131056, "retry after 6s"),
			"Maintenance":   refusal(503, 131057, "retry after 0s"),
			"Window":        refusal(400, 131047, "blocked"),
			"Undeliverable": refusal(400, 131026, "blocked"),
			"OptedOut":      refusal(400, 131050, "permanent"),
			"FileGone":      refusal(500, 131052, "permanent"),
			"FileNotThere":  refusal(500, 131053, "permanent"),
			"Parameter":     refusal(400, 100, "permanent"),
			"NewRefusal":    refusal(400, 199999, "permanent"),
			"Token":         refusal(401, 190, "retry after 30s"),
			"Permission":    refusal(403, 200, "retry after 30s"),
			"Payment":       refusal(400, 131042, "retry after 30s"),
			"Spam":          refusal(400, 131048, "retry after 30s"),
			"UnknownOn5xx":  refusal(500, 1, "in doubt"),
			"ProxyLimit":    {Status: 429, Header: http.Header{"Retry-After": {"9"}}, Body: "slow down", Want: "retry after 9s"},
			"NotTheAPI":     {Status: 404, Body: "<html>nothing here</html>", Want: "retry after 30s"},
			"Redirect":      {Status: 302, Header: http.Header{"Location": {"/elsewhere"}}, Want: "retry after 30s"},
			"BadGateway":    {Status: 502, Body: "<html>bad gateway</html>", Want: "in doubt"},
			"SaysNothing":   {Status: 200, Body: `{}`, Want: "in doubt"},
			"NoOnSuccess":   {Status: 200, Body: `{"error":{"code":100}}`, Want: "in doubt"},
			"YesOnFailure":  {Status: 500, Body: sample("answer_sent"), Want: "in doubt"},
			"Gibberish":     {Status: 200, Body: "<html>log in first</html>", Want: "in doubt"},
		},
	})
}

// SPEC: O8
func TestSplit(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("é ", 1000)) // of 1999
	for name, c := range map[string]struct {
		send    botmesh.Send
		texts   []int // lengths of the parts
		buttons int   // of the last part
	}{
		"Text":          {botmesh.Send{Text: "hi"}, []int{2}, 0},
		"LongText":      {botmesh.Send{Text: strings.Repeat("é", 5000)}, []int{4096, 904}, 0},
		"Buttons":       {botmesh.Send{Text: "hi", Buttons: row("Yes", "No", "Maybe")}, []int{2}, 3},
		"List":          {botmesh.Send{Text: "hi", Buttons: row("1", "2", "3", "4")}, []int{2}, 4},
		"TooMany":       {botmesh.Send{Text: "hi", Buttons: row(strings.Split("abcdefghijk", "")...)}, []int{2 + 11*5 + 2 + 1}, 0},
		"ListForLabels": {botmesh.Send{Text: "hi", Buttons: row("twenty-one characters")}, []int{2}, 1},
		"LongLabel":     {botmesh.Send{Text: "hi", Buttons: row("the label has 25 letters.")}, []int{2 + 2 + 3 + 25}, 0},
		"LongPayload":   {botmesh.Send{Text: "hi", Buttons: row(strings.Repeat("x", 255))}, []int{2 + 2 + 3 + 255}, 0},
		"Twins":         {botmesh.Send{Text: "hi", Buttons: row("A", "A")}, []int{2 + 2 + 9}, 0},
		"LongWithList":  {botmesh.Send{Text: long, Buttons: row("Yes")}, []int{1023, 975}, 1},
		"NoRows":        {botmesh.Send{Text: "hi", Buttons: [][]botmesh.Button{{}}}, []int{2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wa, s := fake(t)
			parts := s.Split(c.send)
			var got []int
			for _, p := range parts {
				got = append(got, text.Unit.Len(p.Text))
				if _, err := s.Call(t.Context(), to(nora, p)); err != nil { // the platform takes each
					t.Error(err)
				}
			}
			if diff := cmp.Diff(c.texts, got); diff != "" {
				t.Errorf("lengths (-want +got):\n%s", diff)
			}
			taken := wa.Chat(nora)
			if n := len(taken[len(taken)-1].Buttons); n != c.buttons {
				t.Errorf("got %d buttons below the last part, want %d", n, c.buttons)
			}
		})
	}
}

func TestCallRefusesBeforehand(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	if _, err := s.Call(t.Context(), to(nora, botmesh.Send{Text: "hi", Buttons: row("")})); !provider.IsPermanent(err) || wa.Calls() != 0 {
		t.Errorf("got %v after %d calls, want a permanent error and none", err, wa.Calls())
	}
}

func TestNewSenderNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewSender(SenderConfig{ID: "X", AccessToken: "se cret", PhoneNumberID: "+1", API: "ftp://h", Choose: strings.Repeat("x", 21)})
	for _, word := range []string{`"X"`, "access token", "number id", "API address", "21 characters"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %s", err, word)
		}
	}
	if strings.Contains(err.Error(), "se cret") {
		t.Errorf("got %v, want no secret in it", err)
	}
}
