package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// outboxLetters is how far back the outbox is looked through for chats.
const outboxLetters = 2000

// Unsent is a chat with letters that are not delivered, parts that are held, or sends that
// an operator holds back.
type Unsent struct {
	Chat string `json:"chat"`
	Outbox
	// Held are the parts that wait for an operator, since they may have reached the
	// platform.
	Held []Held `json:"held,omitempty"`
	// Pause is what keeps its letters, if an operator does.
	Pause *acts.Pause `json:"pause,omitempty"`
}

// Held is a part that is held.
type Held struct {
	Part  string    `json:"part"`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
}

// listOutbox shows the chats whose sends an operator holds back, and those with letters
// that are not delivered, or parts that are held, as far as the newest letters and what
// came of them tell; with chat=… that chat alone, and all that is held of it.
func (a *API) listOutbox(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	if text := r.FormValue("chat"); text != "" {
		chat, err := botmesh.ParseChatKey(text)
		if err != nil {
			return nil, wrongError{err}
		}
		held, err := rooms.held(ctx, chat, 0)
		if err != nil {
			return nil, err
		}
		u, err := rooms.unsent(ctx, chat)
		u.Held = held[chat]
		if pause, perr := rooms.Pauses.Get(ctx, chat); pause.On {
			u.Pause = &pause
		} else if err == nil {
			err = perr
		}
		return []Unsent{u}, err
	}
	return rooms.allUnsent(ctx)
}

// allUnsent finds the chats with something to be sent, held back ones first.
func (rooms *Rooms) allUnsent(ctx context.Context) ([]Unsent, error) {
	letters, err := rooms.Outbox.History(ctx, botmesh.ChatKey{}, jet.Window{Limit: outboxLetters, Newest: true})
	if err != nil {
		return nil, err
	}
	held := map[botmesh.ChatKey][]Held{}
	if len(letters) > 0 {
		if held, err = rooms.held(ctx, botmesh.ChatKey{}, letters[0].Seq); err != nil {
			return nil, err
		}
	}
	found, all, paused := newChats(maxChats), []Unsent{}, map[botmesh.ChatKey]*acts.Pause{}
	for _, pause := range rooms.Pauses.Paused() {
		if paused[pause.Chat] = &pause; pause.Scope == acts.Delivery {
			found.add(pause.Chat)
		}
	}
	for _, chat := range slices.SortedFunc(maps.Keys(held), func(a, b botmesh.ChatKey) int { return strings.Compare(a.String(), b.String()) }) {
		found.add(chat)
	}
	for _, l := range letters {
		found.add(l.Letter.Chat)
	}
	for _, chat := range found.found {
		u, err := rooms.unsent(ctx, chat)
		if err != nil {
			return nil, err
		}
		u.Held, u.Pause = held[chat], paused[chat]
		if u.Waiting > 0 || u.Held != nil || u.Pause != nil && u.Pause.Scope == acts.Delivery {
			all = append(all, u)
		}
	}
	return all, nil
}

func (rooms *Rooms) unsent(ctx context.Context, chat botmesh.ChatKey) (Unsent, error) {
	var c Chat
	err := rooms.lookAtOutbox(ctx, chat, &c, func(string, ...any) {})
	return Unsent{Chat: chat.String(), Outbox: c.Outbox}, err
}

// retrySends has what was put off tried now, whatever the platform or the limits said.
func (a *API) retrySends(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	is, err := rooms.unsent(ctx, chat)
	if err != nil {
		return nil, err
	}
	if is.Waiting == 0 {
		return nil, conflict("nothing of the chat waits to be sent")
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "outbox retry", Chat: &chat}, before: is, after: map[string]string{"not_before": "now"},
		was: fmt.Sprintf("%d letters wait, the next try is %s, after %d calls in vain", is.Waiting, until(is.NotBefore), is.Tries), now: "tried at once",
		do: func(ctx context.Context) error {
			if err := rooms.Outbox.Hurry(ctx, chat, "operator/"+actorOf(r)); err != nil {
				return err
			}
			return rooms.wake(ctx, chat, "retry:"+uuid.NewString())
		},
	})
}
