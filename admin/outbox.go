package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	// outboxLetters is how far back the outbox is looked through for chats.
	outboxLetters = 2000
	// outboxEntries is how far back a chat's chain is looked through for held parts.
	outboxEntries = 500
)

// Unsent is a chat with letters that are not delivered, or parts that are held.
type Unsent struct {
	Chat string `json:"chat"`
	Outbox
	// Held are the parts that wait for an operator, since they may have reached the
	// platform. They are looked for where one chat is asked for.
	Held []Held `json:"held,omitempty"`
}

// Held is a part that is held.
type Held struct {
	Part  string    `json:"part"`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
}

// listOutbox shows the chats with letters that are not delivered, of those among the
// newest letters; with chat=… that chat alone, with its held parts.
func (a *API) listOutbox(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	if text := r.FormValue("chat"); text != "" {
		chat, err := botmesh.ParseChatKey(text)
		if err != nil {
			return nil, wrongError{err}
		}
		u, err := rooms.unsent(ctx, chat)
		if err == nil {
			u.Held, err = rooms.held(ctx, chat)
		}
		return []Unsent{u}, err
	}
	letters, err := rooms.Outbox.All(ctx, jet.Window{Limit: outboxLetters, Newest: true})
	if err != nil {
		return nil, err
	}
	found, all := newChats(maxChats), []Unsent{}
	for _, l := range letters {
		found.add(l.Letter.Chat)
	}
	for _, chat := range found.found {
		u, err := rooms.unsent(ctx, chat)
		if err != nil {
			return nil, err
		}
		if u.Waiting > 0 {
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

// held finds the held parts of a chat that were not released.
func (rooms *Rooms) held(ctx context.Context, chat botmesh.ChatKey) ([]Held, error) {
	links, err := rooms.Outbox.Chain(ctx, chat, jet.Window{Limit: outboxEntries, Newest: true})
	if err != nil {
		return nil, err
	}
	done, err := rooms.Acts.List(ctx, &chat, jet.Window{Limit: maxTimeline, Newest: true})
	if err != nil {
		return nil, err
	}
	released := map[string]bool{}
	for _, act := range done {
		if act.Verb == "outbox release" && act.Of != "" && act.Failed == "" {
			released[act.Of] = true
		}
	}
	var all []Held
	for _, l := range links {
		if r := l.Receipt; r != nil && r.Result == botmesh.ResultHeld && !released[r.Part] {
			all = append(all, Held{r.Part, l.At.UTC(), r.Error})
		}
	}
	return all, nil
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
		return nil, fmt.Errorf("%w: nothing of the chat waits to be sent", botmesh.ErrConflict)
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "outbox retry", Chat: &chat}, before: is, after: map[string]string{"not_before": "now"},
		do: func(ctx context.Context) error {
			if err := rooms.Outbox.Hurry(ctx, chat, "operator/"+actorOf(r)); err != nil {
				return err
			}
			return rooms.wake(ctx, chat, "retry:"+uuid.NewString())
		},
	})
}

// releasePart sends a held part after all: again, if it had reached the platform.
func (a *API) releasePart(ctx context.Context, rooms *Rooms, r *http.Request, chat botmesh.ChatKey, part string) (any, error) {
	held, err := rooms.held(ctx, chat)
	if err != nil {
		return nil, err
	}
	var is *Held
	for _, h := range held {
		if h.Part == part {
			is = &h
		}
	}
	send, err := rooms.partOf(ctx, chat, part)
	if err == nil && is == nil {
		err = fmt.Errorf("%w: %s is not held", botmesh.ErrConflict, part)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(part))
	again := botmesh.Record{
		Type: botmesh.TypeCommand, ID: "release:" + hex.EncodeToString(sum[:16]), Chat: chat, Sends: []botmesh.Send{send}, RequeueOf: part,
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "outbox release", Chat: &chat, Of: part}, before: is, after: map[string]string{"record": again.ID},
		do: func(ctx context.Context) error {
			_, err := rooms.Journal.Publish(ctx, again)
			return err
		},
	})
}

// partOf reads a part from its chat's letters.
func (rooms *Rooms) partOf(ctx context.Context, chat botmesh.ChatKey, part string) (botmesh.Send, error) {
	letters, err := rooms.Outbox.History(ctx, chat, jet.Window{Limit: outboxLetters, Newest: true})
	if err != nil {
		return botmesh.Send{}, err
	}
	for _, l := range letters {
		for _, p := range l.Letter.Parts {
			if p.ID == part {
				return p.Send, nil
			}
		}
	}
	return botmesh.Send{}, fmt.Errorf("%w: no part %s among the chat's letters", botmesh.ErrNotFound, part)
}
