package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
)

// why is what the page of a chat says of it.
func (d *desk) why() string {
	d.t.Helper()
	w := d.ask(http.MethodGet, "/v1/chats/telegram%2F7", "")
	var c admin.Chat
	must(d.t, json.Unmarshal(w.Body.Bytes(), &c))
	return strings.Join(c.Why, "\n")
}

// Where nobody can tell who holds a chat, it is not said that nobody asked for it.
func TestWhoHoldsAChatIsNotGuessed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	_, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", Chat: heldChat})
	must(t, err)
	const nobody = "nobody asked for its turn"
	if got := d.why(); strings.Contains(got, nobody) {
		t.Errorf("without a coordination: got %s", got)
	}
	c := replica(t, &coord.MemoryHub{}, "a")
	d.rooms.Turns = c
	if got := d.why(); !strings.Contains(got, nobody) {
		t.Errorf("with one that has no turn: got %s, want to be told", got)
	}
	_, err = c.Take(t.Context(), coord.Request{Key: heldChat.Key()})
	must(t, err)
	if got := d.why(); strings.Contains(got, nobody) {
		t.Errorf("while it is held: got %s", got)
	}
	const dies = "it gives no sign of life: its lease runs out in "
	if got := d.why(); strings.Contains(got, dies) || !strings.Contains(got, "1 record waits") {
		t.Errorf("while its holder lives: got %s", got)
	}
	d.rooms.Turns = deserted{c}
	if got := d.why(); !strings.Contains(got, dies) {
		t.Errorf("while its holder is gone: got %s, want to be told how long that lasts", got)
	}
}

// deserted is a coordination whose holders are all gone.
type deserted struct{ *coord.MemoryCoordinator }

func (deserted) Alive(context.Context, string) (bool, error) { return false, nil }

// A chat that was answered and has no checkpoint has lost it; one whose first message
// waits has not.
func TestALostCheckpointIsTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	const lost = "its checkpoint is lost"
	placed, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "m0", Chat: heldChat})
	must(t, err)
	if got := d.why(); strings.Contains(got, lost) {
		t.Errorf("before the first answer: got %s", got)
	}
	hold(t, d.rooms)
	if got := d.why(); !strings.Contains(got, lost) || !strings.Contains(got, "rebuild") {
		t.Errorf("answered, without a checkpoint: got %s, want to be told", got)
	}
	value, err := checkpoint.Checkpoint{Chat: heldChat, Epoch: "e1", Cursor: placed.Seq}.Encode()
	must(t, err)
	_, err = d.rooms.Store.Swap(t.Context(), heldChat.Key(), checkpoint.Row{}, value, "n", 0)
	must(t, err)
	if got := d.why(); strings.Contains(got, lost) {
		t.Errorf("with a checkpoint: got %s", got)
	}
}
