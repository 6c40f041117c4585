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
	"github.com/botmesh-go/botmesh/internal/workerd"
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

const bot = "demo"

// openRooms opens the rooms of a bot that never ran, in memory.
func openRooms(t *testing.T) *admin.Rooms {
	t.Helper()
	rooms, _ := openServer(t)
	return rooms
}

// openServer opens them and returns the server in memory too.
func openServer(t *testing.T) (*admin.Rooms, *jet.Memory) {
	t.Helper()
	memory := jet.NewMemory()
	t.Cleanup(memory.Close)
	epoch := jet.MemoryConfig{Duplicates: time.Nanosecond, Metadata: map[string]string{"botmesh.epoch": "e1"}}
	j, err := journal.Open(t.Context(), journal.Config{
		Bot: bot, Inbox: memory.Stream(journal.InboxStream(bot), epoch), Dead: memory.Stream(journal.DeadStream(bot), epoch),
	})
	must(t, err)
	o, err := outbox.Open(t.Context(), outbox.Config{
		Stream: memory.Stream(outbox.StreamName(bot), epoch), Bot: bot, Incarnation: "r/1", Senders: []provider.Sender{silent{}},
		InDoubt: map[string]outbox.Policy{"telegram": outbox.Hold}, Dead: workerd.SetAside(j),
	})
	must(t, err)
	cfg := acts.Config{Stream: memory.Stream(acts.StreamName(bot), epoch), Bot: bot}
	log, err := acts.NewLog(cfg)
	must(t, err)
	pauses, err := acts.OpenPauses(t.Context(), acts.PausesConfig{Config: cfg})
	must(t, err)
	return &admin.Rooms{Journal: j, Store: &checkpoint.Memory{}, Outbox: o, Acts: log, Pauses: pauses}, memory
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hold has a bot hold one part of a chat, what it said of the chat's record, and returns
// the part's id.
func hold(t *testing.T, rooms *admin.Rooms) (part string) {
	t.Helper()
	placed, err := rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", Chat: heldChat})
	must(t, err)
	return deliver(t, rooms, placed.Seq, nil)
}

// deliver has what a record was answered with held.
func deliver(t *testing.T, rooms *admin.Rooms, record uint64, trace map[string]string) (part string) {
	t.Helper()
	o := rooms.Outbox
	letter, err := o.Letter(botmesh.LetterID(heldChat, "e1", record), heldChat, []botmesh.Send{{Text: "paid"}}, time.Now(), trace)
	must(t, err)
	seq, err := o.Append(t.Context(), letter, 0)
	must(t, err)
	d := o.Deliver(t.Context(), heldChat)
	d.Put(seq, letter)
	_, err = d.Wait(t.Context(), seq)
	must(t, err)
	_, err = d.Close(t.Context())
	must(t, err)
	return letter.Parts[0].ID
}

// desk asks for the release of parts, and for what is held.
type desk struct {
	t     *testing.T
	rooms *admin.Rooms
	api   *admin.API
}

func newDesk(t *testing.T, rooms *admin.Rooms) *desk {
	t.Helper()
	api, err := admin.New(admin.Config{Token: token, Journal: rooms.Journal, Rooms: func() *admin.Rooms { return rooms }})
	must(t, err)
	return &desk{t, rooms, api}
}

func (d *desk) ask(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(d.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	d.api.ServeHTTP(w, r)
	return w
}

func (d *desk) release(part, query string) *httptest.ResponseRecorder {
	return d.ask(http.MethodPost, "/v1/chats/telegram%2F7/release"+query, `{"part":"`+part+`"}`)
}

// expect compares how many parts of the chat are held, as the chat's page tells and that
// of all chats, and how many releases the chat's journal holds.
func (d *desk) expect(held, released int) {
	d.t.Helper()
	for _, query := range []string{"", "?chat=telegram%2F7"} {
		w := d.ask(http.MethodGet, "/v1/outbox"+query, "")
		var page admin.OutboxPage
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			d.t.Fatalf("got %s, want chats: %v", w.Body, err)
		}
		all := page.Chats
		got := 0
		for _, u := range all {
			got += len(u.Held)
		}
		if got != held || query == "" && len(all) != held {
			d.t.Errorf("outbox%s: got %+v, want %d held parts", query, all, held)
		}
	}
	entries, err := d.rooms.Journal.List(d.t.Context(), journal.Filter{Chat: heldChat})
	must(d.t, err)
	got := 0
	for _, e := range entries {
		if e.Record.Type == botmesh.TypeCommand {
			got++
		}
	}
	if got != released {
		d.t.Errorf("got %d releases in the journal, want %d", got, released)
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
		"after a crash":   {"", 1}, // logged, and whether it was done is not known
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, openRooms(t))
			part := hold(t, d.rooms)
			d.expect(1, 0)
			var would admin.Did
			must(t, json.Unmarshal(d.release(part, "?dry_run=1").Body.Bytes(), &would))
			act, err := d.rooms.Acts.Write(t.Context(), would.Act)
			if act.Failed = before.failed; err == nil && act.Failed != "" {
				_, err = d.rooms.Acts.Write(t.Context(), act)
			}
			must(t, err)
			d.expect(before.held, 0)
			for range 2 {
				if w := d.release(part, ""); w.Code != http.StatusOK {
					t.Errorf("got %d %s for a release, want 200", w.Code, w.Body)
				}
				d.expect(0, 1)
			}
		})
	}
}

// The outbox tells of a held part for a day longer than the journal keeps records. Then
// nobody knows whether a release that was logged was sent, and it is not sent again.
func TestAReleaseThatTheJournalForgotIsNotRepeated(t *testing.T) {
	t.Parallel()
	rooms, server := openServer(t)
	d := newDesk(t, rooms)
	part := hold(t, rooms)
	if w := d.release(part, ""); w.Code != http.StatusOK {
		t.Fatalf("got %d %s, want 200", w.Code, w.Body)
	}
	must(t, server.Stream(journal.InboxStream(bot), jet.MemoryConfig{}).Purge(t.Context(), "bot.in.demo."+heldChat.Key()))
	_, err := rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m2", Chat: heldChat})
	must(t, err)
	if w := d.release(part, ""); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "it was released by api at ") {
		t.Errorf("got %d %s, want 409 with who released it", w.Code, w.Body)
	}
	d.expect(0, 0)
}

func TestWhatIsNotHeldIsNotReleased(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	part := hold(t, d.rooms)
	if w := d.release(part+"0", ""); w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
	d.expect(1, 0)
}

// Sends that an operator holds back are seen while nothing waits yet, with who and why.
func TestAChatOnHoldIsListed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	for _, step := range []struct {
		what, body string
		listed     bool
	}{
		{"pause", `{"new":true}`, false}, // of which nothing is to be sent
		{"resume", "", false},
		{"hold", `{"reason":"ana reads first"}`, true},
		{"release", "", false},
	} {
		if w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/"+step.what, step.body); w.Code != http.StatusOK {
			t.Fatalf("%s: got %d %s, want 200", step.what, w.Code, w.Body)
		}
		for _, query := range []string{"", "?chat=telegram%2F7"} {
			var page admin.OutboxPage
			must(t, json.Unmarshal(d.ask(http.MethodGet, "/v1/outbox"+query, "").Body.Bytes(), &page))
			all := page.Chats
			listed := len(all) == 1 && all[0].Chat == "telegram/7" && all[0].Pause != nil && all[0].Pause.Reason == "ana reads first"
			if listed != step.listed || query == "" && len(all) > 0 != step.listed {
				t.Errorf("after %s, outbox%s: got %+v, listed with its pause: want %v", step.what, query, all, step.listed)
			}
		}
	}
}

// A chat whose only trouble is a part that is held says so, with since when and what to do.
func TestAChatSaysThatAPartIsHeld(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	part := hold(t, d.rooms)
	var c admin.Chat
	must(t, json.Unmarshal(d.ask(http.MethodGet, "/v1/chats/telegram%2F7", "").Body.Bytes(), &c))
	why := strings.Join(c.Why, "\n")
	if len(c.Held) != 1 || c.Held[0].Part != part || !strings.Contains(why, "1 part is held") || !strings.Contains(why, "botmesh outbox release or drop telegram/7 --part="+part) {
		t.Errorf("got %+v and %s, want the part and what to do", c.Held, why)
	}
}

// However much was said since, a part that is held and a letter that is not delivered are
// found, page by page.
func TestWhatIsUnsentIsFoundBehindAllElse(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	hold(t, d.rooms)
	o := d.rooms.Outbox
	say := func(i int) botmesh.ChatKey {
		chat := botmesh.ChatKey{Provider: "telegram", Chat: fmt.Sprint("u", i)}
		placed, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m", Chat: chat})
		must(t, err)
		letter, err := o.Letter(botmesh.LetterID(chat, "e1", placed.Seq), chat, []botmesh.Send{{Text: "x"}}, time.Now(), nil)
		must(t, err)
		_, err = o.Append(t.Context(), letter, 0)
		must(t, err)
		return chat
	}
	want := map[string]bool{heldChat.String(): true}
	for i := range 2100 {
		want[say(i).String()] = true
	}
	pages, next := 0, uint64(0)
	for ; pages == 0 || next > 0; pages++ {
		var page admin.OutboxPage
		must(t, json.Unmarshal(d.ask(http.MethodGet, fmt.Sprint("/v1/outbox?from=", next), "").Body.Bytes(), &page))
		for _, u := range page.Chats {
			if (u.Chat == heldChat.String()) != (len(u.Held) == 1) || u.Held == nil && u.Waiting != 1 {
				t.Errorf("got %+v", u)
			}
			delete(want, u.Chat)
		}
		next = page.Next
	}
	if len(want) > 0 || pages != 3 {
		t.Errorf("%d chats were not on any of %d pages, want all on three", len(want), pages)
	}
}
