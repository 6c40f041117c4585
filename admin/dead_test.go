package admin_test

import (
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

// A dead letter whose record was put back, by who had no time to remove it, is removed and
// not put back a second time, long after the journal would have known the repetition.
//
// SPEC: J8
func TestADeadLetterIsPutBackOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t)) // its journal knows a repetition for a moment only
	j := d.rooms.Journal
	for _, id := range []string{"a", "b"} {
		placed, err := j.Publish(t.Context(), botmesh.Record{ID: id, Type: botmesh.TypeMessage, Chat: heldChat})
		must(t, err)
		must(t, j.SetAside(t.Context(), journal.Dead{Chat: heldChat, Epoch: j.Epoch(), Seq: placed.Seq}))
	}
	_, err := j.Publish(t.Context(), botmesh.Record{ID: "a~dead1", Type: botmesh.TypeMessage, Chat: heldChat, RequeueOf: "e1.1"})
	must(t, err)
	for _, step := range []struct {
		path string
		want int
	}{
		{"/v1/chats/telegram%2F7/pause", http.StatusOK},
		{"/v1/dead/2/requeue", http.StatusConflict}, // an older worker would pass over it
		{"/v1/chats/telegram%2F7/resume", http.StatusOK},
	} {
		if w := d.ask(http.MethodPost, step.path, ""); w.Code != step.want {
			t.Fatalf("%s: got %d %s, want %d", step.path, w.Code, w.Body, step.want)
		}
	}
	for _, path := range []string{"/v1/dead/1/requeue", "/v1/dead/2/requeue"} {
		if w := d.ask(http.MethodPost, path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: got %d %s, want it done", path, w.Code, w.Body)
		}
	}
	entries, err := j.List(t.Context(), journal.Filter{Chat: heldChat})
	must(t, err)
	var ids string
	for _, e := range entries {
		if e.Record.Resume == nil {
			ids += e.Record.ID + " "
		}
	}
	if want := "a b a~dead1 b~dead2 "; ids != want {
		t.Errorf("got %q, want %q", ids, want)
	}
	if left, err := j.DeadLetters(t.Context(), journal.Filter{}); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want none left", left, err)
	}
}

// What is put back goes on with the trace of what was set aside, a record as well as a
// part, and so does a held part that is released.
//
// SPEC: J8
func TestWhatIsPutBackKeepsItsTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	trace := map[string]string{"traceparent": parent}
	d := newDesk(t, openRooms(t))
	j := d.rooms.Journal
	placed, err := j.Publish(t.Context(), botmesh.Record{ID: "a", Type: botmesh.TypeMessage, Chat: heldChat, Trace: trace})
	must(t, err)
	must(t, j.SetAside(t.Context(), journal.Dead{Chat: heldChat, Epoch: j.Epoch(), Seq: placed.Seq}))
	part := journal.DeadPart{Chat: heldChat, Part: botmesh.LetterID(heldChat, "e1", placed.Seq) + "/0.0", Trace: trace, Send: botmesh.Send{Text: "paid"}}
	_, err = j.SetAsidePart(t.Context(), part)
	must(t, err)
	part.Held = true
	_, err = j.SetAsidePart(t.Context(), part)
	must(t, err)
	from, err := j.End(t.Context())
	must(t, err)
	for _, w := range []interface{ Result() *http.Response }{
		d.ask(http.MethodPost, "/v1/dead/1/requeue", ""), d.ask(http.MethodPost, "/v1/dead/2/requeue", ""), d.release(part.Part, ""),
	} {
		if got := w.Result().StatusCode; got != http.StatusOK {
			t.Errorf("got %d, want it put back", got)
		}
	}
	again, err := j.List(t.Context(), journal.Filter{Chat: heldChat, From: from + 1})
	must(t, err)
	for _, e := range again {
		if got := e.Record.Trace["traceparent"]; got != parent {
			t.Errorf("%s: got trace %q, want %s", e.Record.ID, got, parent)
		}
	}
	if len(again) != 3 {
		t.Errorf("got %d records, want 3", len(again))
	}
}

// A part that is left to its operator is held no more, and is not sent.
//
// SPEC: O7
func TestAHeldPartIsDropped(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	part := hold(t, d.rooms)
	drop := func(part string, want int) {
		t.Helper()
		if w := d.ask(http.MethodPost, "/v1/chats/telegram%2F7/drop", `{"part":"`+part+`"}`); w.Code != want {
			t.Errorf("%s: got %d %s, want %d", part, w.Code, w.Body, want)
		}
	}
	drop(part+"0", http.StatusNotFound)
	drop("", http.StatusNotFound)
	d.expect(1, 0)
	drop(part, http.StatusOK)
	d.expect(0, 0)
	if w := d.release(part, ""); w.Code != http.StatusNotFound {
		t.Errorf("got %d %s, want it held no more", w.Code, w.Body)
	}
	all, err := d.rooms.Acts.List(t.Context(), &heldChat, jet.Window{Limit: 9})
	if err != nil || len(all) != 1 || all[0].Verb != "outbox drop" || all[0].Of != part {
		t.Errorf("got %+v, %v, want the drop in the log", all, err)
	}
}
