package dispatcher_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/journal"
)

// What an operator puts back runs, though the chat was paused when that was journaled, or
// is before it runs: who put it back was told so, and the dead letter is gone.
//
// SPEC: J8. DESIGN: N9.
func TestAResumePassesOverNothingThatWasPutBack(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		w.start()
		w.post("a", "1")
		w.settled(time.Minute)
		p := o.pause("a", acts.All)
		w.post("a", "2")
		j, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []botmesh.Record{
			{ID: "m1~dead1", RequeueOf: "e1.1", Message: botmesh.Message{Text: "again"}},
			{ID: "m1~replay", ReplayOf: "e1.1", Message: botmesh.Message{Text: "and again"}},
		} {
			r.Type, r.Chat = botmesh.TypeMessage, key("a")
			if _, err := j.Publish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		o.resume(p, false, 0)
		w.settled(5 * time.Minute)
		o.expect("resumed", "a", "1", "again", "and again")
	})
}
