package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
)

// The choices about what came while a chat was paused.
const (
	// AskAgain passes over what the user wrote and asks the open question again.
	AskAgain = "ask-again"
	// Skip passes over it, and waits for the next message.
	Skip = "skip"
	// AnswerLast passes over all but the last message, which is answered.
	AnswerLast = "answer-last"
	// Forget passes over it, and forgets what is kept of the chat: its conversation and the
	// values of handlers. It leads a chat out whose state no build can read.
	Forget = "forget"
)

// maxReason bounds what an operator says of a pause, in bytes.
const maxReason = 500

func pausedWord(s acts.Scope) string {
	if s == acts.Delivery {
		return "its sends are held back"
	}
	return "paused"
}

// pause is the request to pause a chat, or to hold its sends.
type pause struct {
	Reason string `json:"reason"`
	// New also stops a chat of which nothing is kept: else that is taken for a mistake.
	New bool `json:"new"`
}

// pauseChat stops a chat until it is resumed: no record is run, nothing is sent, its
// timers stand still. What comes meanwhile is journaled and waits.
func (a *API) pauseChat(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	return a.stop(ctx, rooms, r, "chats pause", acts.All)
}

// holdSends stops what is sent to a chat; its records are run.
func (a *API) holdSends(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	return a.stop(ctx, rooms, r, "outbox hold", acts.Delivery)
}

func (a *API) stop(ctx context.Context, rooms *Rooms, r *http.Request, verb string, scope acts.Scope) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	var asked pause
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	if len(asked.Reason) > maxReason {
		return nil, wrong(fmt.Sprintf("a reason of %d bytes, want at most %d", len(asked.Reason), maxReason))
	}
	if known, err := rooms.knows(ctx, chat); err != nil || !known && !asked.New {
		return nil, cmp.Or(err, absent("%s; to stop one before it first writes say --new", unknown(chat)))
	}
	is, err := rooms.Pauses.Get(ctx, chat)
	if err != nil {
		return nil, err
	}
	if is.On {
		first := "resume it"
		if is.Scope == acts.Delivery {
			first = "release them"
		}
		return nil, conflict("%s by %s since %s: %s first", pausedWord(is.Scope), is.By, is.Since.Format(time.RFC3339), first)
	}
	next := is // what the last pause passes over stays passed over
	next.ID, next.Chat, next.On, next.Scope, next.By = uuid.NewString(), chat, true, scope, actorOf(r)
	next.Reason, next.Since, next.Resumed, next.How = asked.Reason, time.Now().UTC(), time.Time{}, ""
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: verb, Chat: &chat}, before: is, after: next, was: saysPause(is), now: saysPause(next),
		do: func(ctx context.Context) error { return rooms.setPause(ctx, next) },
	})
}

// saysPause says in words how a pause is.
func saysPause(p acts.Pause) string {
	switch {
	case p.On:
		return fmt.Sprintf("%s by %s since %s%s", pausedWord(p.Scope), p.By, p.Since.UTC().Format(time.RFC3339), because(p.Reason))
	case p.How != "":
		return fmt.Sprintf("not paused; resumed by %s with --%s at %s", p.By, p.How, p.Resumed.UTC().Format(time.RFC3339))
	case p.Scope == acts.Delivery:
		return fmt.Sprintf("its sends are not held back; released by %s at %s", p.By, p.Resumed.UTC().Format(time.RFC3339))
	}
	return "not paused"
}

// setPause replaces a pause. An answer that was lost is settled by reading: it is done
// if all of next is there. Of two who end one pause at once only one is, and the other
// has a conflict.
func (rooms *Rooms) setPause(ctx context.Context, next acts.Pause) error {
	_, err := rooms.Pauses.Set(ctx, next)
	if errors.Is(err, botmesh.ErrUnknown) || errors.Is(err, botmesh.ErrConflict) {
		is, rerr := rooms.Pauses.Get(ctx, next.Chat)
		switch {
		case rerr == nil && same(is, next):
			return nil
		case rerr == nil && errors.Is(err, botmesh.ErrConflict):
			return conflict("somebody else changed the pause of %s at the same time: look at it again", next.Chat)
		}
	}
	return err
}

// same reports whether two pauses were written by one act: they differ in nothing but,
// perhaps, the revision.
func same(a, b acts.Pause) bool {
	a.Revision, b.Revision = 0, 0
	one, err := json.Marshal(a)
	other, oerr := json.Marshal(b)
	return err == nil && oerr == nil && bytes.Equal(one, other)
}

// resume is the request to resume a chat.
type resume struct {
	// How is [AskAgain], [Skip], [AnswerLast] or [Forget]; the first if it is empty.
	How string `json:"how"`
}

// resumeChat ends a pause. A second one repeats what a crash may have left undone: the
// record that wakes the chat.
func (a *API) resumeChat(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	asked := resume{How: AskAgain}
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	switch asked.How {
	case AskAgain, Skip, AnswerLast, Forget:
	default:
		return nil, wrong(fmt.Sprintf("how is %q, want %s, %s, %s or %s", asked.How, AskAgain, Skip, AnswerLast, Forget))
	}
	is, err := rooms.Pauses.Get(ctx, chat)
	switch {
	case err != nil:
		return nil, err
	case is.On && is.Scope == acts.Delivery:
		return nil, wrong("its sends are held back, it is not paused: botmesh outbox release")
	case !is.On && (is.How == "" || is.How != asked.How):
		return nil, conflict("%s", notPaused(is))
	}
	next := is
	if is.On {
		next.On, next.By, next.How, next.Resumed = false, actorOf(r), asked.How, time.Now().UTC()
		if err := rooms.passOver(ctx, &next); err != nil {
			return nil, err
		}
	}
	record := "resume:" + next.ID
	there, err := rooms.undone(ctx, is, record)
	if err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: "chats resume", Chat: &chat, Of: asked.How}, before: is, after: next,
		was: saysPause(is), now: saysPause(next), unchanged: there,
		do: func(ctx context.Context) error {
			if is.On {
				if err := rooms.setPause(ctx, next); err != nil {
					return err
				}
			}
			// A crash before this: the chat is not paused, and is woken by a nudge that was
			// given back, or by another resume, under the same id.
			_, err := rooms.Journal.Publish(ctx, botmesh.Record{
				Type: botmesh.TypeCommand, ID: record, Chat: chat, Resume: &botmesh.Resume{
					Paused: next.Since, Resumed: next.Resumed, Ask: next.How == AskAgain, Forget: next.How == Forget, Through: next.Through, Keep: next.Keep,
				},
			})
			return err
		},
	})
}

// undone reports whether a pause has ended with all that belongs to it: the record that
// wakes its chat, which a crash may have left out, is in the journal.
func (rooms *Rooms) undone(ctx context.Context, is acts.Pause, record string) (bool, error) {
	if is.On {
		return false, nil
	}
	return rooms.Journal.Holds(ctx, is.Chat, record, is.Resumed.Add(-clocks))
}

// notPaused says why there is nothing to resume.
func notPaused(is acts.Pause) string {
	if is.How == "" {
		return "the chat is not paused"
	}
	return fmt.Sprintf("%s resumed the chat with --%s at %s: the same again repeats what may not have reached it, and for another choice pause it first, which brings back nothing that was passed over",
		is.By, is.How, is.Resumed.Format(time.RFC3339))
}

// passOver says which records a pause that ends passes over: the user's up to the
// journal's end, but for the last one if that is to be answered. What an operator put
// back runs in any case, and is not the user's last word.
func (rooms *Rooms) passOver(ctx context.Context, next *acts.Pause) error {
	end, err := rooms.Journal.End(ctx)
	if err != nil {
		return err
	}
	next.Epoch, next.Through, next.Keep = rooms.Journal.Epoch(), end, 0
	if next.How != AnswerLast {
		return nil
	}
	row, err := rooms.Store.Load(ctx, next.Chat.Key())
	if err != nil {
		return err
	}
	cp, err := checkpoint.Decode(row.Value)
	if err != nil {
		return err
	}
	f := journal.Filter{Chat: next.Chat, Limit: journal.MaxList}
	if cp.Epoch == next.Epoch {
		f.From = cp.Cursor + 1
	}
	entries, err := rooms.Journal.List(ctx, f)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r := e.Record
		if e.Err == nil && r.Seq <= end && !r.PutBack() && (r.Type == botmesh.TypeMessage || r.Type == botmesh.TypeCallback) {
			next.Keep = r.Seq
		}
	}
	return nil
}

// release is the request to send what is held.
type release struct {
	// Part is a part that is held since it may have reached the platform; empty is all
	// that waits since an operator holds it back.
	Part string `json:"part"`
}

// releaseSends ends the holding back of what is sent to a chat.
func (a *API) releaseSends(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	var asked release
	if err := readAct(r, &asked); err != nil {
		return nil, err
	}
	if asked.Part != "" {
		return a.releasePart(ctx, rooms, r, chat, asked.Part)
	}
	is, err := rooms.Pauses.Get(ctx, chat)
	switch {
	case err != nil:
		return nil, err
	case is.On && is.Scope != acts.Delivery:
		return nil, wrong("the chat is paused: botmesh chats resume")
	case !is.On && is.Scope != acts.Delivery:
		return nil, conflict("its sends are not held back")
	}
	next := is
	if is.On {
		next.On, next.By, next.Resumed = false, actorOf(r), time.Now().UTC()
	}
	record := "release:" + next.ID
	there, err := rooms.undone(ctx, is, record)
	if err != nil {
		return nil, err
	}
	return a.act(ctx, rooms, r, intent{
		Act: acts.Act{Verb: verbRelease, Chat: &chat}, before: is, after: next,
		was: saysPause(is), now: saysPause(next), unchanged: there,
		do: func(ctx context.Context) error {
			if is.On {
				if err := rooms.setPause(ctx, next); err != nil {
					return err
				}
			}
			return rooms.wake(ctx, chat, record)
		},
	})
}

// wake has a worker look at a chat: a record without effect, whose nudge stands for all
// that the chat has left to do.
func (rooms *Rooms) wake(ctx context.Context, chat botmesh.ChatKey, id string) error {
	_, err := rooms.Journal.Publish(ctx, botmesh.Record{Type: botmesh.TypeEvent, ID: id, Chat: chat})
	return err
}
