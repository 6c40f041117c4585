package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/journal"
)

const (
	// maxReplay bounds the records that one request puts into the journal again.
	maxReplay = 500
	// maxWord bounds the word of a replay, in bytes.
	maxWord = 100
)

// replayMark begins the end of the id that a replayed record has.
const replayMark = "~replay"

// replaying is the request to put records of a chat into its journal again.
type replaying struct {
	// From and To are sequences, Since and Until times of storing; zero is no bound.
	From  uint64    `json:"from"`
	To    uint64    `json:"to"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Word tells one replay of a record from another. With the same word it is replayed
	// once.
	Word string `json:"word"`
}

// Replayed is what a replay has to do, and what was done of it.
type Replayed struct {
	// Records are to be journaled again, the sequences from First to Last.
	Records int    `json:"records"`
	First   uint64 `json:"first,omitempty"`
	Last    uint64 `json:"last,omitempty"`
	// There were replayed with the same word before. LeftOut can not be: timers, ends of
	// pauses, replays and what can not be read.
	There   int    `json:"there,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	Word    string `json:"word,omitempty"`
}

// says is it in words.
func (r Replayed) says() string {
	return fmt.Sprintf("to run again, behind all others: %d; there already by the same word: %d; left out: %d", r.Records, r.There, r.LeftOut)
}

// replayChat puts records of a chat into its journal again, each as a new record behind
// all others, in their order, so that the workers run them and send what the bot says. A
// crash leaves the first of them; done again, those that are there are passed over.
func (a *API) replayChat(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	var asked replaying
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	if len(asked.Word) > maxWord {
		return nil, wrong(fmt.Sprintf("a word of %d bytes, want at most %d", len(asked.Word), maxWord))
	}
	if err := rooms.heeds(ctx, chat); err != nil {
		return nil, err
	}
	todo, is, err := rooms.toReplay(ctx, chat, asked)
	if err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "journal replay", Chat: &chat, Of: placesOf(is)}, before: asked, after: is, was: "records " + placesOf(is) + " of the chat", now: is.says(), unchanged: is.Records == 0,
		do: func(ctx context.Context) error {
			for n, record := range todo {
				if _, err := rooms.Journal.Publish(ctx, record); err != nil {
					return fmt.Errorf("%d of %d records are journaled, say the same again for the rest: %w", n, len(todo), err)
				}
			}
			return nil
		},
	})
}

// heeds fails with botmesh.ErrConflict while a chat is paused. What is put back runs though
// it may be paused a moment later; a worker of an older build would pass over it when the
// chat is resumed, so it is not left to chance where that can be told.
func (rooms *Rooms) heeds(ctx context.Context, chat botmesh.ChatKey) error {
	pause, err := rooms.Pauses.Get(ctx, chat)
	if err == nil && pause.On && pause.Scope != acts.Delivery {
		err = conflict("the chat is paused, and workers of an older build pass over what is put back meanwhile: resume it first")
	}
	return err
}

// placesOf names the records of a replay.
func placesOf(is Replayed) string {
	if is.First == is.Last {
		return fmt.Sprint(is.First)
	}
	return fmt.Sprintf("%d-%d", is.First, is.Last)
}

// toReplay finds what is to be journaled.
func (rooms *Rooms) toReplay(ctx context.Context, chat botmesh.ChatKey, asked replaying) (todo []botmesh.Record, is Replayed, err error) {
	entries, err := rooms.Journal.List(ctx, journal.Filter{
		Chat: chat, From: asked.From, To: asked.To, Since: asked.Since, Until: asked.Until, Limit: maxReplay + 1,
	})
	switch {
	case err != nil:
		return nil, is, err
	case len(entries) == 0:
		return nil, is, absent("the journal has no record of %s in that range", chat)
	case len(entries) > maxReplay:
		return nil, is, wrong(fmt.Sprintf("more than %d records: replay them in parts, the first up to #%d", maxReplay, entries[maxReplay-1].Record.Seq))
	}
	there, err := rooms.replays(ctx, chat, entries[0].Record.Seq)
	if err != nil {
		return nil, is, err
	}
	is.Word = asked.Word
	why := ""
	for _, e := range entries {
		if is.First == 0 {
			is.First = e.Record.Seq
		}
		is.Last = e.Record.Seq
		again, err := replayed(e, asked.Word)
		switch {
		case err != nil:
			is.LeftOut++
			why = err.Error()
		case there[again.ID]:
			is.There++
		default:
			todo = append(todo, again)
		}
	}
	is.Records = len(todo)
	if is.LeftOut == len(entries) {
		return nil, is, wrong("nothing of it can be replayed: " + why)
	}
	return todo, is, nil
}

// replays are the ids of the replayed records of a chat behind a sequence.
func (rooms *Rooms) replays(ctx context.Context, chat botmesh.ChatKey, behind uint64) (map[string]bool, error) {
	ids := map[string]bool{}
	for f := (journal.Filter{Chat: chat, From: behind + 1, Limit: maxReplay}); ; {
		entries, err := rooms.Journal.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.Contains(e.Record.ID, replayMark) {
				ids[e.Record.ID] = true
			}
			f.From = e.Record.Seq + 1
		}
		if len(entries) < f.Limit {
			return ids, nil
		}
	}
}

// replayed is the record that repeats another. Its id says of which, and by which word.
func replayed(e journal.Entry, word string) (botmesh.Record, error) {
	r := e.Record
	switch {
	case e.Err != nil:
		return r, fmt.Errorf("#%d can not be read as a record: %w", r.Seq, e.Err)
	case r.Type == botmesh.TypeTimer:
		return r, fmt.Errorf("#%d is of a timer, which is armed no more", r.Seq)
	case r.Resume != nil:
		return r, fmt.Errorf("#%d is the end of a pause", r.Seq)
	case r.ReplayOf != "":
		return r, fmt.Errorf("#%d is itself the replay of %s: replay that, with another word", r.Seq, r.ReplayOf)
	}
	sum := sha256.Sum256([]byte(word))
	return anew(r, replayMark+hex.EncodeToString(sum[:4]), func(again *botmesh.Record) { again.ReplayOf, again.RequeueOf = placeOf(r), "" }), nil
}

// anew is a record that repeats r under an id of its own, or it would be taken for the
// repetition of a webhook.
func anew(r botmesh.Record, suffix string, of func(*botmesh.Record)) botmesh.Record {
	of(&r)
	r.Epoch, r.Seq, r.Stored = "", 0, time.Time{}
	if len(r.ID)+len(suffix) > journal.MaxID {
		sum := sha256.Sum256([]byte(r.ID))
		r.ID = hex.EncodeToString(sum[:16])
	}
	r.ID += suffix
	return r
}
