package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// silent is a platform whose answers are lost.
type silent struct{}

func (silent) ID() string                          { return "telegram" }
func (silent) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (silent) Call(context.Context, provider.Call) (provider.Sent, error) {
	return provider.Sent{}, fmt.Errorf("no answer: %w", botmesh.ErrUnknown)
}

var heldChat = botmesh.ChatKey{Provider: "telegram", Chat: "7"}

// openRooms opens the rooms of a bot that never ran, in memory.
func openRooms(t *testing.T) *admin.Rooms {
	t.Helper()
	const bot = "demo"
	memory := jet.NewMemory()
	t.Cleanup(memory.Close)
	epoch := jet.MemoryConfig{Duplicates: time.Nanosecond, Metadata: map[string]string{"botmesh.epoch": "e1"}}
	j, err := journal.Open(t.Context(), journal.Config{
		Bot: bot, Inbox: memory.Stream(journal.InboxStream(bot), epoch), Dead: memory.Stream(journal.DeadStream(bot), epoch),
	})
	must(t, err)
	o, err := outbox.Open(t.Context(), outbox.Config{
		Stream: memory.Stream(outbox.StreamName(bot), epoch), Bot: bot, Incarnation: "r/1", Senders: []provider.Sender{silent{}},
		InDoubt: map[string]outbox.Policy{"telegram": outbox.Hold},
	})
	must(t, err)
	cfg := acts.Config{Stream: memory.Stream(acts.StreamName(bot), epoch), Bot: bot}
	log, err := acts.NewLog(cfg)
	must(t, err)
	pauses, err := acts.OpenPauses(t.Context(), acts.PausesConfig{Config: cfg})
	must(t, err)
	return &admin.Rooms{Journal: j, Store: &checkpoint.Memory{}, Outbox: o, Acts: log, Pauses: pauses}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holding opens the rooms of a bot that holds one part of a chat, and returns its id.
func holding(t *testing.T) (rooms *admin.Rooms, part string) {
	t.Helper()
	rooms = openRooms(t)
	o := rooms.Outbox
	letter, err := o.Letter(botmesh.LetterID(heldChat, "e1", 1), heldChat, []botmesh.Send{{Text: "paid"}}, time.Now(), nil)
	must(t, err)
	seq, err := o.Append(t.Context(), letter, 0)
	must(t, err)
	d := o.Deliver(t.Context(), heldChat)
	d.Put(seq, letter)
	_, err = d.Wait(t.Context(), seq)
	must(t, err)
	_, err = d.Close(t.Context())
	must(t, err)
	return rooms, letter.Parts[0].ID
}

// releasing asks for the release of a part, and for what is held of its chat.
func releasing(t *testing.T, rooms *admin.Rooms) (release func(part string) int, held func() int) {
	t.Helper()
	api, err := admin.New(admin.Config{Token: token, Journal: rooms.Journal, Rooms: func() *admin.Rooms { return rooms }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	release = func(part string) int {
		return ask(http.MethodPost, "/v1/chats/telegram%2F7/release", `{"part":"`+part+`"}`).Code
	}
	held = func() int {
		t.Helper()
		w := ask(http.MethodGet, "/v1/outbox?chat=telegram%2F7", "")
		var all []admin.Unsent
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all) != 1 {
			t.Fatalf("got %s, want one chat", w.Body)
		}
		return len(all[0].Held)
	}
	return release, held
}

// expectRecords compares how many records the chat's journal holds.
func expectRecords(t *testing.T, rooms *admin.Rooms, want int) {
	t.Helper()
	got, err := rooms.Journal.List(t.Context(), journal.Filter{Chat: heldChat})
	if err != nil || len(got) != want {
		t.Errorf("got %d records (%v), want %d", len(got), err, want)
	}
}

// A release that failed leaves the part held, and one that was repeated, by whatever
// came of the first, is one record of the chat.
func TestAReleaseIsRepeated(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]struct {
		failed string // of the release that is logged before
		held   int
	}{
		"after a failure": {"refused", 1},
		"after a crash":   {"", 0}, // logged, and whether it was done is not known
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rooms, part := holding(t)
			release, held := releasing(t, rooms)
			if got := held(); got != 1 {
				t.Fatalf("got %d held parts, want 1", got)
			}
			act, err := rooms.Acts.Write(t.Context(), acts.Act{By: "ana", Verb: "outbox release", Chat: &heldChat, Of: part})
			if act.Failed = before.failed; err == nil && act.Failed != "" {
				_, err = rooms.Acts.Write(t.Context(), act)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := held(); got != before.held {
				t.Errorf("got %d held parts after it, want %d", got, before.held)
			}
			for range 2 {
				if got := release(part); got != http.StatusOK {
					t.Errorf("got %d for a release, want 200", got)
				}
				expectRecords(t, rooms, 1)
			}
			if got := held(); got != 0 {
				t.Errorf("got %d held parts after the release, want none", got)
			}
		})
	}
}

func TestWhatIsNotHeldIsNotReleased(t *testing.T) {
	t.Parallel()
	rooms, part := holding(t)
	release, _ := releasing(t, rooms)
	if got := release(part + "0"); got != http.StatusNotFound {
		t.Errorf("got %d, want 404", got)
	}
	expectRecords(t, rooms, 0)
}
