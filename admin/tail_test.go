package admin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/coord"
)

// tail asks what happened after a place, and shows it as kinds and chats.
func (d *desk) tail(after, query string) (next string, got []string) {
	d.t.Helper()
	w := d.ask(http.MethodGet, "/v1/tail?after="+url.QueryEscape(after)+query, "")
	var t admin.Tail
	if err := json.Unmarshal(w.Body.Bytes(), &t); err != nil || w.Code != http.StatusOK {
		d.t.Fatalf("got %d %s, want a tail: %v", w.Code, w.Body, err)
	}
	for _, e := range t.Events {
		got = append(got, strings.TrimSpace(e.Kind+" "+e.Chat+" "+e.Text))
	}
	return t.After, got
}

// Who follows is told each event once, and of all chats whose it is.
func TestATailTellsEachEventOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	c := replica(t, &coord.MemoryHub{}, "a")
	d.rooms.Turns = c
	compare := func(when string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	all, got := d.tail("", "")
	compare("nothing there", nil, got)
	of, _ := d.tail("", "&chat=telegram/7")

	part := hold(t, d.rooms)
	_, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m8", Message: botmesh.Message{Text: "psst"},
		Chat: botmesh.ChatKey{Provider: "telegram", Chat: "8"}})
	must(t, err)
	_, err = d.rooms.Acts.Write(t.Context(), acts.Act{By: "ana", Verb: "streams apply"})
	must(t, err)
	turn, err := c.Take(t.Context(), coord.Request{Key: heldChat.Key()})
	must(t, err)

	_, got = d.tail(all, "&text=1")
	compare("all with what was written", []string{"record telegram/7", "letter telegram/7 paid", "receipt telegram/7", "record telegram/8 psst", "act"}, got)
	all, got = d.tail(all, "")
	compare("all", []string{"record telegram/7", "letter telegram/7", "receipt telegram/7", "record telegram/8", "act"}, got)
	of, got = d.tail(of, "&chat=telegram/7")
	compare("a chat", []string{"record", "letter", "claim", "attempt", "receipt", "turn"}, got)
	_, got = d.tail("", "&limit=2")
	compare("the newest", []string{"record telegram/8", "act"}, got)

	must(t, turn.Release(t.Context(), 0))
	if w := d.release(part, ""); w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	all, got = d.tail(all, "&limit=100")
	compare("all, later", []string{"act telegram/7", "record telegram/7"}, got)
	of, got = d.tail(of, "&chat=telegram/7&limit=1")
	compare("a chat, later", []string{"act", "record"}, got)
	for after, query := range map[string]string{all: "", of: "&chat=telegram/7"} {
		next, got := d.tail(after, query)
		compare("nothing more"+query, nil, got)
		if next != after {
			t.Errorf("got to go on after %s, want after %s still", next, after)
		}
	}
	for _, after := range []string{"x", "1.2", "1.2.3.4.5.6.7.x"} {
		if w := d.ask(http.MethodGet, "/v1/tail?after="+after, ""); w.Code != http.StatusBadRequest {
			t.Errorf("after %s: got %d, want 400", after, w.Code)
		}
	}
}
