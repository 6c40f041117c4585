package workerd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
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
	for _, e := range events {
		if e.Kind == "letter" && (e.By == "" || !strings.Contains(e.What, " under fence ")) {
			t.Errorf("got the letter %+v, want it to say whose turn wrote it", e)
		}
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

// What was set aside can be looked at, put back and dropped: a record comes to its chat
// again as a new one, and a part that the platform would not take is sent after all.
//
// SPEC: J8 O5. HOLE: H14.
func TestDeadLettersArePutBackOrDropped(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken, "BOTMESH_TRIES=1")
	var blocked atomic.Bool
	blocked.Store(true)
	f.telegram.Script(func(_, text string) fakeplatform.Fault {
		if text == "blocked" && blocked.Load() {
			return telegramtest.Refusal(http.StatusBadRequest, "")
		}
		return fakeplatform.Fault{}
	})
	f.post(t, telegramtest.Text(1, 7, "/echo blocked"))
	f.post(t, telegramtest.Text(2, 8, "/poison"))
	dead := func(n int) (all []admin.Dead) {
		t.Helper()
		natstest.Until(t, "they are set aside", func() bool {
			all = nil
			f.ask(t, http.MethodGet, "/v1/dead", "", &all)
			return len(all) == n
		})
		return all
	}
	of := map[journal.DeadKind]admin.Dead{}
	for _, l := range dead(2) {
		of[l.Kind] = l
	}
	for kind, chat := range map[journal.DeadKind]string{journal.DeadSend: "telegram/7", journal.DeadRecord: "telegram/8"} {
		if got := of[kind]; got.Chat != chat || got.Tries != 1 || got.Error == "" || got.Text != "" || got.Of == "" {
			t.Errorf("%s: got %+v, want that of %s with its reason and not its text", kind, got, chat)
		}
	}
	act := func(kind journal.DeadKind, what string, want int) {
		t.Helper()
		if status, text := f.ask(t, http.MethodPost, fmt.Sprintf("/v1/dead/%d/%s", of[kind].Seq, what), "", nil); status != want {
			t.Errorf("%s %s: got %d %s, want %d", what, kind, status, text, want)
		}
	}
	act(journal.DeadRecord, "requeue?dry_run=1", http.StatusOK)
	blocked.Store(false)
	act(journal.DeadSend, "requeue", http.StatusOK)
	f.expect(t, "7", "blocked")
	act(journal.DeadRecord, "requeue", http.StatusOK)
	again := dead(1)[0] // it failed once more
	if again.Seq == of[journal.DeadRecord].Seq || again.ID == of[journal.DeadRecord].ID || again.Chat != "telegram/8" {
		t.Errorf("got %+v, want the new record of the same chat set aside", again)
	}
	act(journal.DeadRecord, "requeue", http.StatusNotFound)
	of[journal.DeadRecord] = again
	act(journal.DeadRecord, "drop", http.StatusOK)
	dead(0)
	f.post(t, telegramtest.Text(3, 8, "/count")) // flushes of the chat that are made again bring nothing back
	f.expect(t, "8", "count: 1")
	dead(0)
}

// An operator has sends tried that were put off, holds a chat's back and lets them go.
//
// SPEC: O5. DESIGN: D1 D2 N9.
func TestAnOperatorHurriesAndHoldsSends(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken)
	var busy atomic.Bool
	busy.Store(true)
	f.telegram.Script(func(string, string) fakeplatform.Fault {
		if busy.Load() {
			return telegramtest.Refusal(http.StatusInternalServerError, "")
		}
		return fakeplatform.Fault{}
	})
	const page = "/v1/chats/telegram%2F7"
	f.post(t, telegramtest.Text(1, 7, "/count"))
	natstest.Until(t, "it is put off for some seconds", func() bool {
		var page admin.OutboxPage
		f.ask(t, http.MethodGet, "/v1/outbox", "", &page)
		all := page.Chats
		return len(all) == 1 && all[0].Waiting == 1 && all[0].Tries >= 3 && time.Until(all[0].NotBefore) > time.Second
	})
	busy.Store(false)
	if status, text := f.ask(t, http.MethodPost, page+"/retry", "", nil); status != http.StatusOK {
		t.Fatalf("retry: got %d %s, want it tried", status, text)
	}
	f.expect(t, "7", "count: 1")
	f.atRest(t, "7")
	if status, text := f.ask(t, http.MethodPost, page+"/retry", "", nil); status != http.StatusConflict {
		t.Errorf("retry of nothing: got %d %s, want a conflict", status, text)
	}

	if status, text := f.ask(t, http.MethodPost, page+"/hold", "", nil); status != http.StatusOK {
		t.Fatalf("hold: got %d %s, want it held", status, text)
	}
	natstest.Until(t, "the workers know", func() bool { return f.look(t, "7").State == admin.StatePaused })
	f.post(t, telegramtest.Text(2, 7, "/count"))
	natstest.Until(t, "it is answered and not sent", func() bool {
		c := f.look(t, "7")
		return c.Records.Waiting == 0 && c.Outbox.Waiting == 1
	})
	f.expect(t, "7", "count: 1")
	if status, text := f.ask(t, http.MethodPost, page+"/resume", "", nil); status != http.StatusBadRequest {
		t.Errorf("resume: got %d %s, want the way to release", status, text)
	}
	if status, text := f.ask(t, http.MethodPost, page+"/release", "", nil); status != http.StatusOK {
		t.Fatalf("release: got %d %s, want it sent", status, text)
	}
	f.expect(t, "7", "count: 1", "count: 2")
}
