package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
	"github.com/botmesh-go/botmesh/journal"
)

// pausing is an API whose pauses can be paused and resumed. choose says what becomes of
// a publish to the stream of acts.
func pausing(t *testing.T, choose func(jet.Publish) jettest.Fault) (*admin.API, *journal.Journal) {
	t.Helper()
	server := jet.NewMemory()
	t.Cleanup(server.Close)
	j, err := journal.Open(t.Context(), journal.Config{
		Bot:   "demo",
		Inbox: server.Stream(journal.InboxStream("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
		Dead:  server.Stream(journal.DeadStream("demo"), jet.MemoryConfig{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := acts.Config{Bot: "demo", Stream: &jettest.Faulty{Stream: server.Stream(acts.StreamName("demo"), jet.MemoryConfig{}), Choose: choose}}
	log, err := acts.NewLog(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pauses, err := acts.OpenPauses(t.Context(), acts.PausesConfig{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	rooms := &admin.Rooms{Journal: j, Acts: log, Pauses: pauses}
	api, err := admin.New(admin.Config{Token: token, Journal: j, Providers: []string{"telegram"}, Rooms: func() *admin.Rooms { return rooms }})
	if err != nil {
		t.Fatal(err)
	}
	return api, j
}

// operate asks for an act to chat 7 and returns status and answer.
func operate(t *testing.T, api http.Handler, by, what, body string) (status int, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chats/telegram%2F7/"+what, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(admin.ActorHeader, by)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Of two operators who resume a chat at once, each with a choice of their own, one is
// told that the other was first, and one record wakes the chat.
func TestOfTwoWhoResumeAtOnceOneIsFirst(t *testing.T) {
	t.Parallel()
	var (
		api   *admin.API
		armed bool
	)
	api, j := pausing(t, func(p jet.Publish) jettest.Fault {
		if armed && strings.HasPrefix(p.Subject, "bot.pause.") {
			armed = false // who is first publishes too
			if status, text := operate(t, api, "bo", "resume", `{"how":"skip"}`); status != http.StatusOK {
				t.Errorf("who is first: got %d %s, want 200", status, text)
			}
		}
		return jettest.None
	})
	if status, text := operate(t, api, "ana", "pause", ""); status != http.StatusOK {
		t.Fatalf("pause: got %d %s, want 200", status, text)
	}
	armed = true
	if status, text := operate(t, api, "ana", "resume", `{"how":"ask-again"}`); status != http.StatusConflict {
		t.Errorf("who is second: got %d %s, want 409", status, text)
	}
	if status, text := operate(t, api, "ana", "resume", `{"how":"ask-again"}`); status != http.StatusConflict || !strings.Contains(text, "bo resumed the chat with --skip") || !strings.Contains(text, "pause it first") {
		t.Errorf("who tries again: got %d %s, want 409 with who was first and what to do", status, text)
	}
	entries, err := j.Read(t.Context(), botmesh.ChatKey{Provider: "telegram", Chat: "7"}, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Record.Resume == nil || entries[0].Record.Resume.Ask {
		t.Errorf("got the records %+v, %v, want that of who was first", entries, err)
	}
}

// An answer about a pause that was lost is no failure, nor is the conflict of its
// repetition.
func TestAPauseWhoseAnswerWasLostIsSet(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]jettest.Fault{"unknown": jettest.LostAnswer, "conflict": jettest.OwnConflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, _ := pausing(t, func(p jet.Publish) jettest.Fault {
				if strings.HasPrefix(p.Subject, "bot.pause.") {
					return fault
				}
				return jettest.None
			})
			for _, what := range []string{"pause", "resume", "hold", "release"} {
				if status, text := operate(t, api, "ana", what, ""); status != http.StatusOK {
					t.Errorf("%s: got %d %s, want 200", what, status, text)
				}
			}
		})
	}
}
