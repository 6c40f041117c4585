package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
)

// outboxPage is how many records are read for the chats that they are of at a time.
const outboxPage = 1000

// OutboxPage is a page of the chats with something unsent.
type OutboxPage struct {
	Chats []Unsent `json:"chats"`
	// Next is what to ask for as from to see more, zero if there is none. A chat may be
	// on several pages.
	Next uint64 `json:"next,omitempty"`
}

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
	At    time.Time `json:"at"` // since when
	Error string    `json:"error,omitempty"`
}

// listOutbox shows the chats whose sends an operator holds back, and those with parts that
// are held or letters that are not delivered; with chat=… that chat alone. The first page
// has all that are on hold, or have parts that are held, up to [journal.MaxList] of those.
// For letters it goes through the records that are not all acknowledged, as none is whose
// letters wait, with from=… from there on.
func (a *API) listOutbox(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	if text := r.FormValue("chat"); text != "" {
		chat, err := botmesh.ParseChatKey(text)
		if err != nil {
			return nil, wrongError{err}
		}
		u, err := rooms.unsent(ctx, chat)
		return OutboxPage{Chats: []Unsent{u}}, err
	}
	from := uint64(0)
	if text := r.FormValue("from"); text != "" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, wrong(fmt.Sprintf("from is %q, want the next of a page", text))
		}
	}
	return rooms.allUnsent(ctx, from)
}

// allUnsent finds the chats with something to be sent, held back ones first.
func (rooms *Rooms) allUnsent(ctx context.Context, from uint64) (page OutboxPage, err error) {
	found := newChats(math.MaxInt)
	if from == 0 {
		for _, pause := range rooms.Pauses.Paused() {
			found.add(pause.Chat)
		}
		held, err := rooms.held(ctx, botmesh.ChatKey{})
		if err != nil {
			return page, err
		}
		for _, l := range held {
			found.add(l.Chat)
		}
	}
	if page.Next, err = rooms.behind(ctx, from, outboxPage, found); err != nil {
		return page, err
	}
	all := make([]Unsent, len(found.found))
	err = eachOf(ctx, found.found, func(ctx context.Context, i int, chat botmesh.ChatKey) (err error) {
		all[i], err = rooms.unsent(ctx, chat)
		return err
	})
	page.Chats = slices.DeleteFunc(all, func(u Unsent) bool {
		return u.Waiting == 0 && u.Held == nil && (u.Pause == nil || u.Pause.Scope != acts.Delivery)
	})
	return page, err
}

func (rooms *Rooms) unsent(ctx context.Context, chat botmesh.ChatKey) (Unsent, error) {
	var c Chat
	quiet := func(string, ...any) {}
	err := rooms.lookAtOutbox(ctx, chat, &c, quiet)
	if err == nil {
		err = rooms.lookAtHeld(ctx, chat, &c, quiet)
	}
	u := Unsent{Chat: chat.String(), Outbox: c.Outbox, Held: c.Held}
	if err != nil {
		return u, err
	}
	pause, err := rooms.Pauses.Get(ctx, chat)
	if pause.On {
		u.Pause = &pause
	}
	return u, err
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
		was: fmt.Sprintf("%s, the next try is %s, after %s in vain", count(is.Waiting, "1 letter waits", "%d letters wait"), until(is.NotBefore), count(is.Tries, "1 call", "%d calls")), now: "tried at once, or as soon as the platform's limits allow",
		do: func(ctx context.Context) error {
			if err := rooms.Outbox.Hurry(ctx, chat, "operator/"+actorOf(r)); err != nil {
				return err
			}
			return rooms.wake(ctx, chat, "retry:"+uuid.NewString())
		},
	})
}
