package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/flow"
)

// An operator is told at which question a chat waits, and nothing of what was said there.
func TestTheOpenQuestionIsTold(t *testing.T) {
	t.Parallel()
	due := time.Date(2030, 1, 2, 15, 4, 5, 0, time.UTC)
	secret := json.RawMessage(`"secret"`)
	for name, tt := range map[string]struct {
		is        flow.Chat
		why, says string
	}{
		"none":   {flow.Chat{Locale: "de"}, "nothing waits", ""},
		"people": {flow.Chat{Human: true}, "nothing waits: people have what its user writes, until /bot", ""},
		"people, and a step": {
			flow.Chat{Human: true, Position: &flow.Position{Flow: "order", Step: "quantity", Asked: 4}},
			"nothing waits: people have what its user writes, until /bot", "order/quantity, asked with record 4",
		},
		"a step": {
			flow.Chat{Position: &flow.Position{Flow: "order", Step: "quantity", Asked: 4, State: secret, Tries: 1, Due: due}},
			"nothing waits but an answer of its user, at order/quantity",
			"order/quantity, asked with record 4, 1 answer was not understood, until 2030-01-02T15:04:05Z",
		},
		"a flow in a flow": {
			flow.Chat{Position: &flow.Position{Flow: "order", Step: "where", Asked: 4, In: &flow.Position{
				Flow: "address", Step: "all", Asked: 6, Heard: []flow.Heard{{Ask: "street", Value: secret}, {Ask: "town", Value: secret}},
			}}},
			"nothing waits but an answer of its user, at order/where, address/all",
			"order/where, address/all, asked with record 6, after 2 answers in that step",
		},
		"one that is not kept": {
			flow.Chat{Position: &flow.Position{Flow: "guess", Asked: 5, Live: &flow.Waiting{ID: "x", Turns: 1}, Brief: &flow.Brief{}}},
			"nothing waits but an answer of its user, at guess",
			"guess, asked with record 5; it is in the memory of here/1 alone",
		},
		"one that may go on": {
			flow.Chat{Position: &flow.Position{Flow: "game", Step: "a", Asked: 5, Brief: &flow.Brief{Forward: true}}},
			"nothing waits but an answer of its user, at game/a", "game/a, asked with record 5",
		},
		"one that is lost": {
			flow.Chat{Position: &flow.Position{Flow: "game", Step: "a", Asked: 5, Brief: &flow.Brief{Lost: true}}},
			"nothing waits but an answer of its user, at game/a",
			"game/a, asked with record 5; it is lost: the next message is answered as the bot's Handover says",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, openRooms(t))
			d.rooms.Turns = populated{replica(t, &coord.MemoryHub{}, "a")}
			state, err := tt.is.Encode()
			must(t, err)
			keepState(t, d.rooms, state)
			w := d.ask(http.MethodGet, "/v1/chats/telegram%2F7", "")
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("got %s, want nothing of what was said", w.Body)
			}
			var c admin.Chat
			must(t, json.Unmarshal(w.Body.Bytes(), &c))
			says := ""
			if c.Question != nil {
				says = c.Question.Describe()
			}
			if c.Why[len(c.Why)-1] != tt.why || says != tt.says {
				t.Errorf("got %q and %q, want %q and %q", c.Why, says, tt.why, tt.says)
			}
		})
	}
}

// A conversation in the memory of a worker that is gone is lost, and a state that this
// build can not read is passed over.
func TestTheQuestionOfAWorkerThatIsGone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	state, err := flow.Chat{Position: &flow.Position{Flow: "guess", Asked: 5, Brief: &flow.Brief{}}}.Encode()
	must(t, err)
	keepState(t, d.rooms, state)
	d.rooms.Turns = deserted{replica(t, &coord.MemoryHub{}, "a")}
	if got, want := d.show().Question.Describe(), "guess, asked with record 5; it is lost with here/1, which gives no sign of life: the next message is answered as the bot's Handover says"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other := newDesk(t, openRooms(t))
	other.rooms.Turns = d.rooms.Turns
	keepState(t, other.rooms, []byte("of another runner"))
	if got := other.show(); got.Question != nil || got.Why[0] != "nothing waits" {
		t.Errorf("a state that can not be read: got %+v, %q, want nothing said of it", got.Question, got.Why)
	}
}

// populated is a coordination whose holders are all there.
type populated struct{ *coord.MemoryCoordinator }

func (populated) Alive(context.Context, string) (bool, error) { return true, nil }

// keepState has the chat a checkpoint with a state.
func keepState(t *testing.T, rooms *admin.Rooms, state []byte) {
	t.Helper()
	value, err := checkpoint.Checkpoint{Chat: heldChat, Epoch: rooms.Journal.Epoch(), Cursor: 1, State: state, By: "here/1"}.Encode()
	must(t, err)
	_, err = rooms.Store.Swap(t.Context(), heldChat.Key(), checkpoint.Row{}, value, "n", 0)
	must(t, err)
}

func (d *desk) show() (c admin.Chat) {
	d.t.Helper()
	must(d.t, json.Unmarshal(d.ask(http.MethodGet, "/v1/chats/telegram%2F7", "").Body.Bytes(), &c))
	return c
}
