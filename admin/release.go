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
	"github.com/botmesh-go/botmesh/journal"
)

// verbRelease is the act of releasing a part, or what an operator held back.
const verbRelease = "outbox release"

// held finds the parts that are held, of a chat or with a zero chat of all, the oldest
// first, up to [journal.MaxList].
func (rooms *Rooms) held(ctx context.Context, chat botmesh.ChatKey) ([]journal.DeadLetter, error) {
	return rooms.Journal.DeadLetters(ctx, journal.Filter{Chat: chat, Kind: journal.DeadHeld, Limit: journal.MaxList})
}

// heldPart finds a part that is held.
func (rooms *Rooms) heldPart(ctx context.Context, chat botmesh.ChatKey, part string) (l journal.DeadLetter, ok bool, err error) {
	all, err := rooms.held(ctx, chat)
	at := slices.IndexFunc(all, func(l journal.DeadLetter) bool { return l.Part == part })
	if at < 0 {
		return l, false, err
	}
	return all[at], true, nil
}

func heldOf(l journal.DeadLetter) Held { return Held{l.Part, l.At.UTC(), firstLine(l.Error)} }

func saysHeld(l journal.DeadLetter) string {
	return fmt.Sprintf("held since %s%s", l.At.UTC().Format(time.RFC3339), because(firstLine(l.Error)))
}

func notHeld(chat botmesh.ChatKey, part string) error {
	return absent("%s is not held: botmesh outbox ls --chat %s names what is", part, chat)
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
	l, held, err := rooms.heldPart(ctx, chat, part)
	if err != nil {
		return nil, err
	}
	releases, err := rooms.releases(ctx, chat)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(part))
	again := botmesh.Record{
		Type: botmesh.TypeCommand, ID: "release:" + hex.EncodeToString(sum[:16]), Chat: chat, Sends: []botmesh.Send{l.Send}, RequeueOf: part, Trace: l.Trace,
	}
	there, to := false, releasing{Record: again.ID, Epoch: rooms.Journal.Epoch()}
	if before, tried := releases[part]; tried {
		if there, err = rooms.released(ctx, chat, before); err != nil {
			return nil, err
		}
	}
	if !held && !there {
		return nil, notHeld(chat, part)
	}
	if to.Behind, err = rooms.Journal.End(ctx); err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: verbRelease, Chat: &chat, Of: part}, before: heldOf(l), after: to, unchanged: !held,
		was: saysHeld(l), now: "it is in the chat's journal, to be sent after what is there before it; the user may see it twice",
		do: func(ctx context.Context) error {
			if !there {
				if _, err := rooms.Journal.Publish(ctx, again); err != nil {
					return err
				}
			}
			return rooms.Journal.Forget(ctx, l)
		},
	})
}

// dropSend leaves a held part as it is, for good: it is not sent, and waits no more.
func (a *API) dropSend(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	var asked release
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	l, held, err := rooms.heldPart(ctx, chat, asked.Part)
	if err == nil && !held {
		err = notHeld(chat, asked.Part)
	}
	if err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "outbox drop", Chat: &chat, Of: l.Part}, before: heldOf(l), after: nil,
		was: saysHeld(l), now: "it is not sent; if it had not reached the platform, the user never sees it",
		do: func(ctx context.Context) error { return rooms.Journal.Forget(ctx, l) },
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
		return false, conflict("it was released by %s at %s, and the journal keeps no record from then: ask the user whether it came, then botmesh outbox drop",
			before.by, before.at.UTC().Format(time.RFC3339))
	}
	return there, err
}
