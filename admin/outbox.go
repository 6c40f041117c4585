package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
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
	// clockSkew is by how much the leaders of two streams may differ on the time.
	clockSkew = time.Minute
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
	all, err := rooms.parked(ctx, chat)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	tried, err := rooms.releases(ctx, chat)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(h Held) bool { return tried[h.Part].done }), nil
}

// parked finds the parts of a chat that were held, released since or not.
func (rooms *Rooms) parked(ctx context.Context, chat botmesh.ChatKey) ([]Held, error) {
	links, err := rooms.Outbox.Chain(ctx, chat, jet.Window{Limit: outboxEntries, Newest: true})
	if err != nil {
		return nil, err
	}
	var all []Held
	for _, l := range links {
		if r := l.Receipt; r != nil && r.Result == botmesh.ResultHeld {
			all = append(all, Held{r.Part, l.At.UTC(), r.Error})
		}
	}
	return all, nil
}

// attempt is what was logged of the releases of a part.
type attempt struct {
	since time.Time // of the first
	done  bool      // one of them did not fail, as far as is logged
}

// releases reads what was tried to release of a chat, by part. An act is logged before
// it is done, and its failure after that, under the same id: so first the failures.
func (rooms *Rooms) releases(ctx context.Context, chat botmesh.ChatKey) (map[string]attempt, error) {
	logged, err := rooms.Acts.List(ctx, &chat, jet.Window{Limit: maxTimeline, Newest: true})
	if err != nil {
		return nil, err
	}
	failed := map[string]bool{}
	for _, act := range logged {
		failed[act.ID] = failed[act.ID] || act.Failed != ""
	}
	tried := map[string]attempt{}
	for _, act := range logged {
		if act.Verb != "outbox release" || act.Of == "" {
			continue
		}
		a, again := tried[act.Of]
		if !again {
			a.since = act.At
		}
		a.done = a.done || !failed[act.ID]
		tried[act.Of] = a
	}
	return tried, nil
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

// releasePart sends a held part after all: again, if it had reached the platform. A
// crash leaves a release that was logged and not done, so it may be repeated: the record
// is the same by its id, and goes to the journal once.
func (a *API) releasePart(ctx context.Context, rooms *Rooms, r *http.Request, chat botmesh.ChatKey, part string) (any, error) {
	parked, err := rooms.parked(ctx, chat)
	if err != nil {
		return nil, err
	}
	send, err := rooms.partOf(ctx, chat, part)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(parked, func(h Held) bool { return h.Part == part })
	if at < 0 {
		return nil, fmt.Errorf("%w: %s is not held", botmesh.ErrConflict, part)
	}
	tried, err := rooms.releases(ctx, chat)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(part))
	again := botmesh.Record{
		Type: botmesh.TypeCommand, ID: "release:" + hex.EncodeToString(sum[:16]), Chat: chat, Sends: []botmesh.Send{send}, RequeueOf: part,
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "outbox release", Chat: &chat, Of: part}, before: parked[at], after: map[string]string{"record": again.ID},
		do: func(ctx context.Context) error { return rooms.publishOnce(ctx, again, tried[part].since) },
	})
}

// publishOnce journals a record that may have been journaled before, at or after a time;
// a zero time says that it was not. The server itself knows its id for minutes only.
func (rooms *Rooms) publishOnce(ctx context.Context, r botmesh.Record, since time.Time) error {
	if !since.IsZero() {
		if there, err := rooms.Journal.Holds(ctx, r.Chat, r.ID, since.Add(-clockSkew)); err != nil || there {
			return err
		}
	}
	_, err := rooms.Journal.Publish(ctx, r)
	return err
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
