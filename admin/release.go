package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// verbRelease is the act of releasing a part, or what an operator held back.
const verbRelease = "outbox release"

// held finds the held parts that were not released, by chat: of one chat, or with a zero
// chat of all, of which the outbox tells at or after a sequence.
func (rooms *Rooms) held(ctx context.Context, chat botmesh.ChatKey, from uint64) (map[botmesh.ChatKey][]Held, error) {
	all, err := rooms.parked(ctx, chat, from)
	if err != nil {
		return nil, err
	}
	for chat, parts := range all {
		tried, err := rooms.releases(ctx, chat)
		if err != nil {
			return nil, err
		}
		parts = slices.DeleteFunc(parts, func(h Held) bool { return tried[h.Part].done })
		if all[chat] = parts; len(parts) == 0 {
			delete(all, chat)
		}
	}
	return all, nil
}

// parked finds the parts that were held, released since or not, as held does.
func (rooms *Rooms) parked(ctx context.Context, chat botmesh.ChatKey, from uint64) (map[botmesh.ChatKey][]Held, error) {
	links, err := rooms.Outbox.Held(ctx, chat, from)
	if err != nil {
		return nil, err
	}
	byKey := map[string][]Held{}
	for _, l := range links {
		byKey[l.Chat] = append(byKey[l.Chat], Held{l.Receipt.Part, l.At.UTC(), l.Receipt.Error})
	}
	all := map[botmesh.ChatKey][]Held{}
	for key, parts := range byKey {
		of := chat
		if of == (botmesh.ChatKey{}) {
			if of, err = rooms.chatOf(ctx, key); err != nil {
				continue // its checkpoint is gone, and with it how the chat is called
			}
		}
		all[of] = parts
	}
	return all, nil
}

// attempt is what was logged of the releases of a part.
type attempt struct {
	at   time.Time // of the first, as are by and to
	by   string
	to   releasing
	done bool // one of them did not fail, as far as is logged
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
		if act.Verb != verbRelease || act.Of == "" {
			continue
		}
		a, again := tried[act.Of]
		if !again {
			a.at, a.by = act.At, act.By
			_ = json.Unmarshal(act.After, &a.to) // if it says nothing, nobody can tell
		}
		a.done = a.done || !failed[act.ID]
		tried[act.Of] = a
	}
	return tried, nil
}

// releasePart sends a held part after all: again, if it had reached the platform. A
// crash leaves a release that was logged and not done, so it may be repeated: the record
// is the same by its id, and goes to the journal once.
func (a *API) releasePart(ctx context.Context, rooms *Rooms, r *http.Request, chat botmesh.ChatKey, part string) (any, error) {
	parked, err := rooms.parked(ctx, chat, 0)
	if err != nil {
		return nil, err
	}
	send, err := rooms.partOf(ctx, chat, part)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(parked[chat], func(h Held) bool { return h.Part == part })
	if at < 0 {
		return nil, conflict("%s is not held: botmesh outbox ls --chat %s names what is", part, chat)
	}
	releases, err := rooms.releases(ctx, chat)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(part))
	again := botmesh.Record{
		Type: botmesh.TypeCommand, ID: "release:" + hex.EncodeToString(sum[:16]), Chat: chat, Sends: []botmesh.Send{send}, RequeueOf: part,
	}
	there, to := false, releasing{Record: again.ID, Epoch: rooms.Journal.Epoch()}
	if before, tried := releases[part]; tried {
		if there, err = rooms.released(ctx, chat, before); err != nil {
			return nil, err
		}
	}
	if to.Behind, err = rooms.Journal.End(ctx); err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: verbRelease, Chat: &chat, Of: part}, before: parked[chat][at], after: to, unchanged: there,
		was: fmt.Sprintf("held since %s: %s", parked[chat][at].At.Format(time.RFC3339), parked[chat][at].Error),
		now: "it is in the chat's journal, to be sent after what is there before it; the user may see it twice",
		do: func(ctx context.Context) error {
			_, err := rooms.Journal.Publish(ctx, again)
			return err
		},
	})
}

// releasing is what is logged of the release of a part: its record, and behind which
// sequence of which journal that is to be found.
type releasing struct {
	Record string `json:"record"`
	Epoch  string `json:"epoch"`
	Behind uint64 `json:"behind"`
}

// released reports whether the record of a release is in the journal. It fails with
// botmesh.ErrConflict once nobody can tell: the outbox tells of a held part for longer
// than the journal keeps records.
func (rooms *Rooms) released(ctx context.Context, chat botmesh.ChatKey, before attempt) (there bool, err error) {
	err = botmesh.ErrNotFound
	if before.to.Epoch == rooms.Journal.Epoch() {
		there, err = rooms.Journal.HoldsBehind(ctx, chat, before.to.Record, before.to.Behind)
	}
	if errors.Is(err, botmesh.ErrNotFound) {
		return false, conflict("it was released by %s at %s, and the journal keeps no record from then: ask the user whether it came",
			before.by, before.at.UTC().Format(time.RFC3339))
	}
	return there, err
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
	return botmesh.Send{}, absent("no part %s among the letters of %s", part, chat)
}
