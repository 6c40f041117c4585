package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

// replay asks for records to be put into the journal again.
func (d *desk) replay(query, body string) (code int, is admin.Replayed, text string) {
	d.t.Helper()
	w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/replay"+query, body)
	var did admin.Did
	if w.Code == http.StatusOK {
		must(d.t, json.Unmarshal(w.Body.Bytes(), &did))
		must(d.t, json.Unmarshal(did.After, &is))
	}
	return w.Code, is, w.Body.String()
}

// behind are the chat's records behind a sequence: what they repeat, and what they say.
func (d *desk) behind(seq uint64) (all []string) {
	d.t.Helper()
	entries, err := d.rooms.Journal.List(d.t.Context(), journal.Filter{Chat: heldChat, From: seq + 1})
	must(d.t, err)
	for _, e := range entries {
		r := e.Record
		if r.ReplayOf == "" || !strings.Contains(r.ID, "~replay") || len(r.ID) > journal.MaxID || r.RequeueOf != "" || r.User != "u" || r.Trace["traceparent"] == "" {
			d.t.Errorf("got %+v, want a replay with the user, and the trace of its own or the old one", r)
		}
		all = append(all, r.ReplayOf+" "+r.Message.Text)
	}
	return all
}

const traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// Records are put behind all others in their order, once for a word: a repetition adds what
// is missing. What a replay can not repeat is left out.
//
// SPEC: J7
func TestRecordsAreReplayedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	for _, r := range []botmesh.Record{
		{ID: "1", Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "a"}},
		{ID: strings.Repeat("2", journal.MaxID), Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "b"}, RequeueOf: "e1.1"},
		{ID: "3", Type: botmesh.TypeTimer, Timer: "t"},
		{ID: "4", Type: botmesh.TypeCommand, Resume: &botmesh.Resume{Resumed: time.Now()}},
		{ID: "5", Type: botmesh.TypeCallback, Message: botmesh.Message{Text: "c"}},
	} {
		r.Chat, r.User, r.Trace = heldChat, "u", map[string]string{"traceparent": traced}
		_, err := d.rooms.Journal.Publish(t.Context(), r)
		must(t, err)
	}
	if code, is, text := d.replay("?dry_run=1", `{}`); code != http.StatusOK || is != (admin.Replayed{Records: 3, First: 1, Last: 5, LeftOut: 2}) {
		t.Errorf("dry: got %d %s, want three records, and two left out", code, text)
	}
	if got := d.behind(5); got != nil {
		t.Fatalf("got %v, and nobody asked for that", got)
	}
	if code, is, text := d.replay("", `{"from":2,"to":2}`); code != http.StatusOK || is.Records != 1 {
		t.Errorf("got %d %s, want one record", code, text)
	}
	if code, is, text := d.replay("", `{"to":5}`); code != http.StatusOK || is != (admin.Replayed{Records: 2, First: 1, Last: 5, There: 1, LeftOut: 2}) {
		t.Errorf("got %d %s, want the two that are missing", code, text)
	}
	if code, is, text := d.replay("", `{}`); code != http.StatusOK || is.Records != 0 || is.There != 3 || !strings.Contains(text, `"unchanged":true`) {
		t.Errorf("again: got %d %s, want nothing to do", code, text)
	}
	want := []string{"e1.2 b", "e1.1 a", "e1.5 c"}
	if diff := cmp.Diff(want, d.behind(5)); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
	if code, is, text := d.replay("", `{"to":1,"word":"once more"}`); code != http.StatusOK || is.Records != 1 {
		t.Errorf("with another word: got %d %s, want it replayed", code, text)
	}
	if diff := cmp.Diff(append(want, "e1.1 a"), d.behind(5)); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
	logged, err := d.rooms.Acts.List(t.Context(), &heldChat, jet.Window{Limit: 9})
	must(t, err)
	if len(logged) != 3 || logged[0].Verb != "journal replay" || logged[0].Of != "2" || logged[1].Of != "1-5" {
		t.Errorf("got %+v, want what was done", logged)
	}
	for body, want := range map[string]int{
		`{"from":3,"to":4}`: http.StatusBadRequest, // nothing that can be
		`{"from":6,"to":6}`: http.StatusBadRequest, // itself a replay
		`{"from":99}`:       http.StatusNotFound,
		`{"frm":1}`:         http.StatusBadRequest,
	} {
		if code, _, text := d.replay("", body); code != want {
			t.Errorf("%s: got %d %s, want %d", body, code, text, want)
		}
	}
}

// A worker of an older build passes over what was put back while a chat was paused, so nothing is
// replayed then; of a chat with very many records a part at a time.
func TestAReplayIsRefusedWhereItWouldBeLost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	for range 501 {
		_, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{ID: "m", Type: botmesh.TypeMessage, Chat: heldChat})
		must(t, err)
	}
	if code, _, text := d.replay("", `{}`); code != http.StatusBadRequest || !strings.Contains(text, "up to #500") {
		t.Errorf("all: got %d %s, want to be told how far", code, text)
	}
	if w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/pause", ""); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if code, _, text := d.replay("", `{"to":1}`); code != http.StatusConflict || !strings.Contains(text, "resume it first") {
		t.Errorf("paused: got %d %s, want it refused", code, text)
	}
}
