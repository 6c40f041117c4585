package dispatcher_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
)

// postSent journals a message with the platform's time of it.
func (w *world) postSent(chat, text, id string, sent time.Time) {
	w.t.Helper()
	p, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = p.Publish(w.t.Context(), botmesh.Record{
		Type: botmesh.TypeMessage, ID: id, Chat: key(chat), User: "user", SentAt: sent.UTC(), Message: botmesh.Message{Text: text},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// A platform that got no answer repeats a message for days. The chat has had more
// messages meanwhile than it remembers ids of.
//
// SPEC: J2
func TestARepetitionFromBeyondTheRecentIDsHasNoEffect(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		first := time.Now()
		w.postSent("a", "one", "first", first)
		for i := range checkpoint.MaxRecent + 10 {
			time.Sleep(time.Minute) // virtual
			w.postSent("a", "more", strconv.Itoa(i), time.Now())
		}
		w.settled(time.Minute)
		for range 3 { // over six days
			time.Sleep(2 * 24 * time.Hour)
			w.postSent("a", "one", "first", first)
			w.postSent("a", "more", strconv.Itoa(5), first.Add(6*time.Minute))
		}
		w.postSent("a", "late, and new", "new", first)
		w.settled(time.Minute)
		w.judge("a", checkpoint.MaxRecent+12, false)
	})
}

// A message of which the bot made nothing is repeated after the journal's window: it is
// not taken for the answer to what was asked since.
//
// SPEC: J2
func TestARepetitionOfWhatHadNoEffectHasNone(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.State == nil && r.Record.Message.Text == "blue" {
				return botmesh.Outcome{Ignored: true}, nil
			}
			o.State = []byte("asked") // which colour?
			return o, nil
		}
		w.start()
		w.postID("a", "blue", "first")
		w.settled(time.Minute)
		w.postID("a", "hi", "second")
		time.Sleep(10 * time.Minute) // virtual, past the window
		w.postID("a", "blue", "first")
		w.settled(time.Minute)
		if got := w.bot.ran(); got != 2 {
			t.Errorf("got %d runs, want none of the repetition", got)
		}
	})
}
