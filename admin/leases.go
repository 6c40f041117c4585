package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/coord"
)

// maxLeases bounds a listing of leases.
const maxLeases = 1000

// Lease is what is known of a chat's turn, of the leadership of a session, or of a lock:
// who holds it, since when, and who waits for it.
type Lease struct {
	Kind coord.Kind `json:"kind"`
	// Key is the chat of a turn, as provider/chat or provider/chat/participant, else the
	// name of what is held.
	Key string `json:"key"`
	Turn
	// Gone says that the holder's process is not heard of: its lease will run out.
	Gone bool `json:"gone,omitempty"`
}

var leaseKinds = []coord.Kind{coord.KindTurn, coord.KindLead, coord.KindLock}

// listLeases shows what is held or waited for, or was when its holder died; with a kind
// that alone. What is held longest comes first.
func (a *API) listLeases(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	limit, err := number(r, "limit", maxLeases, maxLeases)
	if err != nil {
		return nil, err
	}
	kinds := leaseKinds
	if kind := coord.Kind(r.FormValue("kind")); kind != "" {
		if kinds = []coord.Kind{kind}; !slices.Contains(leaseKinds, kind) {
			return nil, wrongKind(kind)
		}
	}
	if rooms.Turns == nil {
		return nil, rooms.notSeen()
	}
	all := []Lease{}
	for _, kind := range kinds {
		for view, err := range rooms.Turns.List(ctx, kind) {
			if err != nil {
				return nil, rooms.silent(err)
			}
			all = append(all, rooms.leaseOf(ctx, view))
		}
	}
	slices.SortStableFunc(all, func(a, b Lease) int {
		if a.Holder == "" || b.Holder == "" {
			return strings.Compare(b.Holder, a.Holder) // what nobody holds is last
		}
		return a.Since.Compare(b.Since)
	})
	all = all[:min(len(all), limit)]
	return all, rooms.lookForHolders(ctx, all)
}

// notSeen is the error of who asks where no coordination can be looked at.
func (rooms *Rooms) notSeen() error {
	return told{botmesh.ErrNotFound, "who holds what can not be told here: " + rooms.Coordination}
}

// silent is the error of a coordination that does not answer.
func (rooms *Rooms) silent(err error) error {
	return told{err, fmt.Sprintf("%s does not answer: %v", rooms.Coordination, err)}
}

func wrongKind(kind coord.Kind) error {
	return wrong(fmt.Sprintf("kind is %q, want turn, lead or lock", kind))
}

func (rooms *Rooms) leaseOf(ctx context.Context, view coord.View) Lease {
	l := Lease{Kind: view.Kind, Key: view.Key, Turn: *turnOf(view)}
	if view.Kind == coord.KindTurn {
		if chat, err := rooms.chatOf(ctx, view.Key); err == nil {
			l.Key = chat.String()
		}
	}
	return l
}

// lookForHolders says of each lease whether its holder's process is gone.
func (rooms *Rooms) lookForHolders(ctx context.Context, all []Lease) error {
	gone := map[string]bool{"": false}
	for i, l := range all {
		if _, known := gone[l.Holder]; !known {
			alive, err := rooms.Turns.Alive(ctx, l.Holder)
			if err != nil {
				return rooms.silent(err)
			}
			gone[l.Holder] = !alive
		}
		all[i].Gone = gone[l.Holder]
	}
	return nil
}

// breaking is the request to break a lease.
type breaking struct {
	Kind coord.Kind `json:"kind"`
	Key  string     `json:"key"` // as Lease.Key
	// Fence is the one that it was seen under: who holds it later is left alone.
	Fence uint64 `json:"fence"`
}

// breakLease takes a lease from who holds it: the next in line has it at once, and what
// the one before still writes has no effect. Without a fence it shows what would be done.
func (a *API) breakLease(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	var asked breaking
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	if !slices.Contains(leaseKinds, asked.Kind) {
		return nil, wrongKind(asked.Kind)
	}
	if rooms.Turns == nil {
		return nil, rooms.notSeen()
	}
	key, act := asked.Key, acts.Act{Verb: "leases break", Of: string(asked.Kind)}
	if asked.Kind == coord.KindTurn {
		chat, err := botmesh.ParseChatKey(asked.Key)
		if err != nil {
			return nil, wrongError{err}
		}
		key, act.Chat = chat.Key(), &chat
	} else {
		act.Of += " " + asked.Key
	}
	view, err := rooms.Turns.Inspect(ctx, asked.Kind, key)
	switch {
	case errors.Is(err, botmesh.ErrNotFound) || err == nil && view.Holder == "":
		return nil, conflict("nobody holds the %s of %s", asked.Kind, asked.Key)
	case err != nil:
		return nil, rooms.silent(err)
	case asked.Fence != 0 && asked.Fence != view.Fence:
		return nil, conflict("%s holds it now, under fence %d, %s", view.Holder, view.Fence, since(view.Since))
	}
	before, after := []Lease{rooms.leaseOf(ctx, view)}, map[string]string{"holder": ""}
	if err := rooms.lookForHolders(ctx, before); err != nil {
		return nil, err
	}
	was := fmt.Sprintf("%s holds it under fence %d, %s", view.Holder, view.Fence, since(view.Since))
	if before[0].Gone {
		was += "; its process is not heard of"
	}
	now := "nobody holds it, and nobody is in line"
	if len(view.Waiting) > 0 {
		after["holder"] = view.Waiting[0].Incarnation
		now = after["holder"] + " has it, the next in line"
	}
	return a.act(ctx, rooms, r, intent{
		Act: act, before: before[0], after: after, was: was, now: now, dry: asked.Fence == 0,
		do: func(ctx context.Context) error { return rooms.takeAway(ctx, view) },
	})
}

// takeAway breaks what was seen to be held. An answer that was lost is settled by looking.
func (rooms *Rooms) takeAway(ctx context.Context, seen coord.View) error {
	err := rooms.Turns.Break(ctx, seen.Kind, seen.Key, seen.Fence)
	if errors.Is(err, botmesh.ErrUnknown) {
		now, lerr := rooms.Turns.Inspect(ctx, seen.Kind, seen.Key)
		if errors.Is(lerr, botmesh.ErrNotFound) || lerr == nil && (now.Holder == "" || now.Fence != seen.Fence) {
			return nil
		}
	}
	return err
}
