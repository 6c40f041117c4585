package admin_test

import (
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh"
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
		{"/v1/dead/2/requeue", http.StatusConflict}, // who resumes the chat would pass over it
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
