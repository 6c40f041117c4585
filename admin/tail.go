package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// defaultTail is how many of the newest events a tail begins with.
const defaultTail = 10

// Tail is what happened since a place.
type Tail struct {
	Events []Event `json:"events"`
	// After is the place to ask from next.
	After string `json:"after"`
	// More says that there is more now than was asked for.
	More bool `json:"more,omitempty"`
}

// tail follows the timeline of a chat, or without one what comes in, goes out, is set
// aside or done by operators, of all chats. Without after=… it begins with the newest
// events; whoever asks goes on from where the answer ends, and is told each event once.
//
// Of a chat, the checkpoint and the turn are shown as they are when they are looked at:
// what came and went in between is not.
func (a *API) tail(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	limit, err := number(r, "limit", defaultTail, maxTimeline)
	if err != nil {
		return nil, err
	}
	t := &timeline{rooms: rooms, text: r.FormValue("text") != "", traces: map[string]string{}, events: []Event{}}
	if text := r.FormValue("chat"); text != "" {
		if t.chat, err = botmesh.ParseChatKey(text); err != nil {
			return nil, wrongError{err}
		}
	}
	after := r.FormValue("after")
	from, err := places(after)
	if err != nil {
		return nil, err
	}
	more := false
	for i, read := range timelines {
		before := len(t.events)
		if from[i], err = read(t, ctx, jet.Window{From: from[i], Limit: limit, Newest: after == ""}); err != nil {
			return nil, err
		}
		more = more || after != "" && len(t.events)-before == limit
	}
	t.sort()
	if after == "" {
		t.events = t.events[max(0, len(t.events)-limit):]
	}
	return Tail{Events: t.events, After: placed(from), More: more}, nil
}

// places reads where a tail goes on: one place for each of the timelines.
func places(text string) (from [len(timelines)]uint64, err error) {
	if text == "" {
		return from, nil
	}
	words := strings.Split(text, ".")
	if len(words) == len(from) {
		for i := range from {
			if from[i], err = strconv.ParseUint(words[i], 10, 64); err != nil {
				break
			}
		}
	}
	if len(words) != len(from) || err != nil {
		return from, wrong(fmt.Sprintf("after is %q, want what the last answer had", text))
	}
	return from, nil
}

// placed writes what places reads.
func placed(from [len(timelines)]uint64) string {
	words := make([]string, len(from))
	for i, n := range from {
		words[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(words, ".")
}
