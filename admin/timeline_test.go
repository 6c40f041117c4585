package admin_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// Was it read? A receipt says what the platform told later: also of a part of which nobody
// knew whether it was taken.
//
// SPEC: O6
func TestATimelineSaysWhatWasRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	part := hold(t, d.rooms)
	receipt := func() (found admin.Event) {
		t.Helper()
		w := d.ask(http.MethodGet, "/v1/chats/telegram%2F7/timeline", "")
		var events []admin.Event
		if err := json.Unmarshal(w.Body.Bytes(), &events); err != nil || w.Code != http.StatusOK {
			t.Fatalf("got %d %s, want a timeline: %v", w.Code, w.Body, err)
		}
		for _, e := range events {
			if e.Kind == "receipt" {
				found = e
			}
		}
		return found
	}
	if got := receipt(); got.State != outbox.StateHeld {
		t.Errorf("before: got %+v, want it held", got)
	}
	read := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for i, word := range []string{"read", "delivered"} {
		_, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeStatus, ID: word, Chat: heldChat, SentAt: read.Add(-time.Duration(i) * time.Hour),
			Message: botmesh.Message{Status: word, Part: part}})
		must(t, err)
	}
	got := receipt()
	if want := "; delivered at 2026-12-01T08:00:00Z; read at 2026-12-01T09:00:00Z"; got.State != outbox.StateRead || !strings.HasSuffix(got.What, want) {
		t.Errorf("got %+v, want it read, and %q at its end", got, want)
	}
}

// Whatever a turn left says in whose trace it is: what came, what was decided, what is sent and
// what became of it, and what was set aside.
//
// SPEC: W1
func TestATimelineLeadsToTheTraces(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	const id = "0af7651916cd43dd8448eb211c80319c"
	trace := map[string]string{"traceparent": "00-" + id + "-b7ad6b7169203331-01"}
	placed, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", Chat: heldChat, Trace: trace})
	must(t, err)
	must(t, d.rooms.Journal.SetAside(t.Context(), journal.Dead{Chat: heldChat, Epoch: "e1", Seq: placed.Seq}))
	_, err = d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeStatus, ID: "s1", Chat: heldChat, Trace: trace,
		Message: botmesh.Message{Status: "read", MessageID: "x"}})
	must(t, err)
	deliver(t, d.rooms, placed.Seq, trace)

	var events []admin.Event
	must(t, json.Unmarshal(d.ask(http.MethodGet, "/v1/chats/telegram%2F7/timeline", "").Body.Bytes(), &events))
	var kinds []string
	for _, e := range events {
		if e.Kind == "claim" || e.Kind == "attempt" { // of the chain, not of a turn
			continue
		}
		kinds = append(kinds, e.Kind)
		if e.Trace != id {
			t.Errorf("got %+v, want the trace %s", e, id)
		}
	}
	slices.Sort(kinds)
	if got, want := strings.Join(kinds, " "), "dead letter receipt record status"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
