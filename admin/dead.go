package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/journal"
)

// clocks is how far the times of two streams may be apart.
const clocks = time.Hour

// Dead is a dead letter: what was set aside, and why.
type Dead struct {
	Seq   uint64           `json:"seq"` // by which it is named
	At    time.Time        `json:"at"`
	Kind  journal.DeadKind `json:"kind"`
	Chat  string           `json:"chat"`
	Tries int              `json:"tries"`
	Error string           `json:"error"`
	// Of is what it was: a record by epoch and sequence, or a part by its id. Type and
	// ID are the record's.
	Of    string             `json:"of"`
	Type  botmesh.RecordType `json:"type,omitempty"`
	ID    string             `json:"id,omitempty"`
	Trace string             `json:"trace,omitempty"`
	// Text is what was written, where it is asked for.
	Text string `json:"text,omitempty"`
}

func deadOf(l journal.DeadLetter, text bool) Dead {
	d := Dead{Seq: l.Seq, At: l.At.UTC(), Kind: l.Kind, Chat: l.Chat.String(), Tries: l.Tries, Error: firstLine(l.Error), Of: l.Part, Trace: traceID(l.Trace)}
	if l.Kind == journal.DeadRecord {
		r := l.Entry.Record
		d.Of, d.Type, d.ID = placeOf(r), r.Type, r.ID
	}
	if text {
		d.Text, d.Error = cmp.Or(l.Send.Shown(), l.Entry.Record.Message.Text, l.Entry.Record.Message.Payload), l.Error
	}
	return d
}

// placeOf names a record by its place in the journal.
func placeOf(r botmesh.Record) string { return r.Epoch + "." + strconv.FormatUint(r.Seq, 10) }

// listDead shows dead letters in the order they were set aside, without what they say.
func (a *API) listDead(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	limit, err := number(r, "limit", journal.DefaultList, journal.MaxList)
	if err != nil {
		return nil, err
	}
	f := journal.Filter{Limit: limit, Newest: r.FormValue("newest") != "", Kind: journal.DeadKind(r.FormValue("kind"))}
	if text := r.FormValue("chat"); text != "" {
		if f.Chat, err = botmesh.ParseChatKey(text); err != nil {
			return nil, wrongError{err}
		}
	}
	letters, err := rooms.Journal.DeadLetters(ctx, f)
	if err != nil {
		return nil, err
	}
	all := make([]Dead, len(letters))
	for i, l := range letters {
		all[i] = deadOf(l, false)
	}
	return all, nil
}

func (a *API) showDead(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	l, err := rooms.dead(ctx, r)
	if err != nil {
		return nil, err
	}
	return deadOf(l, true), nil
}

// dead reads the dead letter of a request's path.
func (rooms *Rooms) dead(ctx context.Context, r *http.Request) (journal.DeadLetter, error) {
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil {
		return journal.DeadLetter{}, wrong(fmt.Sprintf("%q is no sequence of a dead letter", r.PathValue("seq")))
	}
	found, err := rooms.Journal.DeadLetters(ctx, journal.Filter{From: seq, Limit: 1})
	if err == nil && (len(found) == 0 || found[0].Seq != seq) {
		err = absent("there is no dead letter %d: botmesh dlq ls has those that are kept", seq)
	}
	if err != nil {
		return journal.DeadLetter{}, err
	}
	return found[0], nil
}

// requeueDead puts a dead letter back as a new record at the end of its chat, with its
// trace, and removes it. A crash in between leaves both: done again, however much later,
// the record is found by its id and not journaled twice.
func (a *API) requeueDead(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	l, err := rooms.dead(ctx, r)
	if err != nil {
		return nil, err
	}
	again, err := requeued(l)
	if err != nil {
		return nil, err
	}
	if l.Kind == journal.DeadRecord {
		if err := rooms.heeds(ctx, again.Chat); err != nil {
			return nil, err
		}
	}
	there, err := rooms.Journal.Holds(ctx, again.Chat, again.ID, l.At.Add(-clocks))
	if err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "dlq requeue", Chat: &again.Chat, Of: strconv.FormatUint(l.Seq, 10)}, before: deadOf(l, false),
		after: map[string]string{"record": again.ID, "requeue_of": again.RequeueOf},
		was:   saysDead(l), now: "a new record at the end of its chat",
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

// saysDead says in words what a dead letter is.
func saysDead(l journal.DeadLetter) string {
	return fmt.Sprintf("a %s, set aside at %s after %d tries: %s", l.Kind, l.At.UTC().Format(time.RFC3339), l.Tries, firstLine(l.Error))
}

// requeued is the record that repeats a dead letter. Its id has a suffix, or it would be
// taken for the repetition of a webhook.
func requeued(l journal.DeadLetter) (botmesh.Record, error) {
	suffix := "~dead" + strconv.FormatUint(l.Seq, 10)
	if l.Kind == journal.DeadSend {
		sum := sha256.Sum256([]byte(l.Part))
		return botmesh.Record{
			Type: botmesh.TypeCommand, ID: "requeue:" + hex.EncodeToString(sum[:16]) + suffix, Chat: l.Chat,
			Sends: []botmesh.Send{l.Send}, RequeueOf: l.Part, Trace: l.Trace,
		}, nil
	}
	r := l.Entry.Record
	switch {
	case l.Entry.Err != nil:
		return r, wrong("it can not be read as a record: " + l.Entry.Err.Error())
	case r.Type == botmesh.TypeTimer:
		return r, wrong("its timer is armed no more: a record of it would have no effect")
	}
	return anew(r, suffix, func(again *botmesh.Record) { again.RequeueOf, again.ReplayOf = placeOf(r), "" }), nil
}

// dropDead removes a dead letter for good.
func (a *API) dropDead(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	l, err := rooms.dead(ctx, r)
	if err != nil {
		return nil, err
	}
	act := acts.Act{Verb: "dlq drop", Of: strconv.FormatUint(l.Seq, 10)}
	if l.Chat.Validate() == nil {
		act.Chat = &l.Chat
	}
	return a.act(ctx, rooms, r, intent{
		Act: act, before: deadOf(l, false), after: nil, was: saysDead(l), now: "removed for good",
		do: func(ctx context.Context) error { return rooms.Journal.Forget(ctx, l) },
	})
}
