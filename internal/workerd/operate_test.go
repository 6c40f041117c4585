package workerd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const adminToken = "the operators' token"

// ask makes a request to the first worker's API and reads the answer into out.
func (f *fleet) ask(t *testing.T, method, path, body string, out any) (status int, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+adminToken)
	r.Header.Set(admin.ActorHeader, "ana")
	w := httptest.NewRecorder()
	f.workers[0].Probes().API.ServeHTTP(w, r)
	if w.Code == http.StatusOK && out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			t.Fatalf("%s: got %s: %v", path, w.Body, err)
		}
	}
	return w.Code, w.Body.String()
}

// look asks for a chat.
func (f *fleet) look(t *testing.T, chat string) (c admin.Chat) {
	t.Helper()
	if status, text := f.ask(t, http.MethodGet, "/v1/chats/telegram%2F"+chat, "", &c); status != http.StatusOK {
		t.Fatalf("got %d %s, want the chat", status, text)
	}
	return c
}

// atRest waits until nothing of a chat waits, and nobody holds it.
func (f *fleet) atRest(t *testing.T, chat string) {
	t.Helper()
	natstest.Until(t, "the chat is idle", func() bool { return f.look(t, chat).State == admin.StateIdle })
}

func (f *fleet) timeline(t *testing.T, chat, query string) (events []admin.Event, text string) {
	t.Helper()
	status, text := f.ask(t, http.MethodGet, "/v1/chats/telegram%2F"+chat+"/timeline"+query, "", &events)
	if status != http.StatusOK {
		t.Fatalf("got %d %s, want the timeline", status, text)
	}
	return events, text
}

// What is going on with a chat, and what happened to it, can be asked of any worker:
// who holds it, what waits, in which order it went, and no word of what was said.
//
// SPEC: W1 W2
func TestWhatIsKnownOfAChat(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken)
	f.post(t, telegramtest.Text(1, 7, "/echo private words"))
	f.expect(t, "7", "private words")
	f.atRest(t, "7")

	events, text := f.timeline(t, "7", "")
	if strings.Contains(text, "private") {
		t.Errorf("got what was written without asking for it: %s", text)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got, want := strings.Join(kinds, " "), "record commit letter claim receipt"; got != want {
		t.Errorf("got the timeline %s, want %s", got, want)
	}
	if events, _ := f.timeline(t, "7", "?text=1"); events[0].Text != "/echo private words" || events[2].Text != "private words" {
		t.Errorf("with text: got %+v, want both that were written", events)
	}
	if events, _ := f.timeline(t, "7", "?limit=2"); len(events) != 2 || events[1].Kind != "receipt" {
		t.Errorf("the newest two: got %+v, want the claim and the receipt", events)
	}

	f.post(t, telegramtest.Text(2, 7, "/slow 2"))
	f.post(t, telegramtest.Text(3, 7, "/count"))
	natstest.Until(t, "a run holds the chat and a record waits", func() bool {
		c := f.look(t, "7")
		return c.State == admin.StateHeld && c.Records.Waiting == 2 && strings.Contains(strings.Join(c.Why, "\n"), " has its turn since ")
	})
	var busy []admin.Chat
	if status, text := f.ask(t, http.MethodGet, "/v1/chats", "", &busy); status != http.StatusOK || len(busy) != 1 || busy[0].Chat != "telegram/7" {
		t.Errorf("chats: got %d %s, want the one that is held", status, text)
	}
	f.expect(t, "7", "private words", "working", "done after 2s", "count: 1")
	f.atRest(t, "7")
	var all []admin.Chat
	if f.ask(t, http.MethodGet, "/v1/chats", "", &all); len(all) != 0 {
		t.Errorf("got %+v, want no chat that something is going on with", all)
	}
	if f.ask(t, http.MethodGet, "/v1/chats?all=1", "", &all); len(all) != 1 || all[0].State != admin.StateIdle {
		t.Errorf("got %+v, want the one idle chat", all)
	}
}

// An operator pauses a chat, over the API of any worker, and lets it go on: each act is
// logged with who did it, a dry run does nothing, and the chat waits meanwhile.
//
// DESIGN: N9 C9. HOLE: H23.
func TestAnOperatorPausesAChat(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken)
	f.post(t, telegramtest.Text(1, 7, "/order"))
	f.post(t, telegramtest.Text(2, 7, "pizza"))
	natstest.Until(t, "two questions are asked", func() bool { return len(f.telegram.Texts("7")) == 2 })
	f.atRest(t, "7")
	questions := f.telegram.Texts("7")

	const page = "/v1/chats/telegram%2F7"
	var did admin.Did
	if status, text := f.ask(t, http.MethodPost, page+"/pause?dry_run=1", `{"reason":"a person is on it"}`, &did); status != http.StatusOK || !did.DryRun {
		t.Fatalf("dry: got %d %s, want what would be done", status, text)
	}
	if c := f.look(t, "7"); c.State != admin.StateIdle {
		t.Errorf("after a dry run: got %s, want idle", c.State)
	}
	if status, text := f.ask(t, http.MethodPost, page+"/pause", `{"reason":"a person is on it"}`, &did); status != http.StatusOK || did.By != "ana" {
		t.Fatalf("got %d %s, want it paused by ana", status, text)
	}
	if status, text := f.ask(t, http.MethodPost, page+"/pause", "", nil); status != http.StatusConflict {
		t.Errorf("a second pause: got %d %s, want a conflict", status, text)
	}
	f.post(t, telegramtest.Text(3, 7, "2"))
	natstest.Until(t, "a record waits since the chat is paused", func() bool {
		c := f.look(t, "7")
		return c.State == admin.StatePaused && c.Records.Waiting == 1 && strings.Contains(c.Why[0], "paused by ana") && strings.Contains(c.Why[0], "a person is on it")
	})
	if status, text := f.ask(t, http.MethodPost, page+"/resume", `{"how":"somehow"}`, nil); status != http.StatusBadRequest {
		t.Errorf("resume somehow: got %d %s, want it refused", status, text)
	}
	if status, text := f.ask(t, http.MethodPost, page+"/resume", "", &did); status != http.StatusOK || did.Of != admin.AskAgain {
		t.Fatalf("got %d %s, want it resumed", status, text)
	}
	f.expect(t, "7", append(questions, questions[1])...)
	f.post(t, telegramtest.Text(4, 7, "3"))
	natstest.Until(t, "the answer is taken", func() bool {
		return len(f.telegram.Texts("7")) == 4 && strings.Contains(f.telegram.Texts("7")[3], "3 x pizza")
	})
	events, _ := f.timeline(t, "7", "")
	var acts []string
	for _, e := range events {
		if e.Kind == "act" {
			acts = append(acts, e.By+": "+e.What)
		}
	}
	if got, want := strings.Join(acts, ", "), "ana: chats pause, ana: chats resume ask-again"; got != want {
		t.Errorf("got the acts %s, want %s", got, want)
	}
}
