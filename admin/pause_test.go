package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
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
	o, err := outbox.Open(t.Context(), outbox.Config{Stream: server.Stream(outbox.StreamName("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}), Bot: "demo"})
	must(t, err)
	rooms := &admin.Rooms{Journal: j, Store: &checkpoint.Memory{}, Outbox: o, Acts: log, Pauses: pauses}
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
	if status, text := operate(t, api, "ana", "pause", `{"new":true}`); status != http.StatusOK {
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
				body := ""
				if what == "pause" {
					body = `{"new":true}`
				}
				if status, text := operate(t, api, "ana", what, body); status != http.StatusOK {
					t.Errorf("%s: got %d %s, want 200", what, status, text)
				}
			}
		})
	}
}

// A chat of which nothing is kept is a mistake of whoever names it, unless they say that
// it is new. Once it wrote, or was paused, it is known.
func TestAChatThatNobodyKnows(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	const page = "/v1/chats/telegram%2F7"
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodGet, page, "", 404, "this bot knows no chat telegram/7"},
		{http.MethodGet, page + "/timeline", "", 404, "this bot knows no chat telegram/7"},
		{http.MethodPost, page + "/pause", "", 404, "say --new"},
		{http.MethodPost, page + "/hold", "", 404, "say --new"},
		{http.MethodPost, page + "/pause", `{"new":true}`, 200, "paused by api since"},
		{http.MethodGet, page, "", 200, "paused by api since"},
		{http.MethodPost, page + "/resume", "", 200, "resumed by api with --ask-again"},
		{http.MethodPost, page + "/hold", "", 200, "held back by api since"},
	} {
		if w := d.ask(step.method, step.path, step.body); w.Code != step.status || !strings.Contains(w.Body.String(), step.says) {
			t.Errorf("%s %s: got %d %s, want %d and %q", step.method, step.path, w.Code, w.Body, step.status, step.says)
		}
	}
}

// An end that is there already is no act: nothing is logged. If what wakes the chat is
// missing, it is one.
func TestTheEndOfAPauseIsRepeated(t *testing.T) {
	t.Parallel()
	for begin, end := range map[string]string{"pause": "resume", "hold": "release"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			rooms, server := openServer(t)
			d := newDesk(t, rooms)
			const page = "/v1/chats/telegram%2F7/"
			logged := func(want int) {
				t.Helper()
				all, err := rooms.Acts.List(t.Context(), &heldChat, jet.Window{Limit: 10})
				if err != nil || len(all) != want {
					t.Errorf("got %d acts, %v, want %d", len(all), err, want)
				}
			}
			ends := func(unchanged bool) {
				t.Helper()
				w := d.ask(http.MethodPost, page+end, "")
				if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"unchanged":true`) != unchanged {
					t.Errorf("got %d %s, want 200, unchanged: %v", w.Code, w.Body, unchanged)
				}
			}
			d.ask(http.MethodPost, page+begin, `{"new":true}`)
			ends(false)
			logged(2)
			ends(true)
			logged(2)
			must(t, server.Stream(journal.InboxStream(bot), jet.MemoryConfig{}).Purge(t.Context(), "bot.in.demo."+heldChat.Key()))
			ends(false)
			logged(3)
		})
	}
}

// Who reads an act, and why one is refused, reads sentences. Each act is logged, once, and a dry
// one is not.
func TestActsAreToldInWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	const page = "/v1/chats/telegram%2F7/"
	part, done := hold(t, d.rooms), 0
	for _, c := range []struct{ what, body, was, now string }{
		{"pause", `{"reason":"ana talks to them"}`, "not paused", "paused by api since "},
		{"resume", "", "paused by api since ", "not paused; resumed by api with --ask-again at "},
		{"hold", "", "not paused; resumed by api", "its sends are held back by api since "},
		{"release", "", "its sends are held back by api", "its sends are not held back; released by api at "},
		{"release", `{"part":"` + part + `"}`, "held since ", "it is in the chat's journal"},
		{"replay", "", "records 1-", "to run again, behind all others: "},
	} {
		var did admin.Did
		d.ask(http.MethodPost, page+c.what+"?dry_run=1", c.body)
		if got := d.acts(); got != done {
			t.Errorf("%s, dry: got %d acts logged, want the %d before", c.what, got, done)
		}
		if err := json.Unmarshal(d.ask(http.MethodPost, page+c.what, c.body).Body.Bytes(), &did); err != nil || !strings.HasPrefix(did.Was, c.was) || !strings.Contains(did.Now, c.now) {
			t.Errorf("%s: got %q and %q, %v, want %q and %q", c.what, did.Was, did.Now, err, c.was, c.now)
		}
		if done++; d.acts() != done {
			t.Errorf("%s: got %d acts logged, want %d", c.what, d.acts(), done)
		}
	}
	for _, what := range []string{"resume", "retry"} {
		if w := d.ask(http.MethodPost, page+what, ""); w.Code != http.StatusConflict || strings.Contains(w.Body.String(), "botmesh: conflict") {
			t.Errorf("%s: got %d %s, want 409 in words", what, w.Code, w.Body)
		}
	}
}

// The last message that is answered is the user's, not one that an operator put back
// meanwhile: that runs in any case.
//
// DESIGN: N9.
func TestTheLastMessageIsTheUsers(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	publish := func(r botmesh.Record) uint64 {
		r.Type, r.Chat = botmesh.TypeMessage, heldChat
		placed, err := d.rooms.Journal.Publish(t.Context(), r)
		must(t, err)
		return placed.Seq
	}
	last := publish(botmesh.Record{ID: "a"})
	publish(botmesh.Record{ID: "a~replay", ReplayOf: "e1.1"})
	for _, step := range [][2]string{{"pause", ""}, {"resume", `{"how":"answer-last"}`}} {
		if w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/"+step[0], step[1]); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	if p, err := d.rooms.Pauses.Get(t.Context(), heldChat); err != nil || p.Keep != last {
		t.Errorf("got %+v, %v, want %d kept", p, err, last)
	}
}

// Who forgets a chat has what came passed over, and tells the bot with the record that
// wakes the chat.
func TestAResumeThatForgets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	for _, step := range [][2]string{{"pause", `{"new":true}`}, {"resume", `{"how":"forget"}`}} {
		if w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/"+step[0], step[1]); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	entries, err := d.rooms.Journal.List(t.Context(), journal.Filter{Chat: heldChat, Limit: 10})
	must(t, err)
	if len(entries) != 1 || entries[0].Record.Resume == nil || !entries[0].Record.Resume.Forget || entries[0].Record.Resume.Ask {
		t.Errorf("got %+v, want one record, a resume that forgets", entries)
	}
}

// acts counts what is logged.
func (d *desk) acts() int {
	d.t.Helper()
	all, err := d.rooms.Acts.List(d.t.Context(), nil, jet.Window{Limit: 100})
	must(d.t, err)
	return len(all)
}
