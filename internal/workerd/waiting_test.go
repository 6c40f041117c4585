package workerd

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// queue is a journal and what came of it, written by hand.
type queue struct {
	*testing.T
	waiting
	rows map[botmesh.ChatKey]checkpoint.Row
	ids  int
}

func newQueue(t *testing.T, server *jet.Memory) *queue {
	epoch := jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}
	q := &queue{T: t, rows: map[botmesh.ChatKey]checkpoint.Row{}}
	var err error
	q.journal, err = journal.Open(t.Context(), journal.Config{Bot: "demo", Inbox: server.Stream("INBOX", epoch), Dead: server.Stream("DEAD", epoch), AckWait: time.Hour})
	q.must(err)
	q.must(q.journal.Pull(t.Context(), 1, time.Millisecond, func(journal.Nudge) {}))
	q.outbox, err = outbox.Open(t.Context(), outbox.Config{
		Bot: "demo", Stream: server.Stream("OUTBOX", epoch), Incarnation: "r/1", Senders: []provider.Sender{takes{}},
	})
	q.must(err)
	q.pauses, err = acts.OpenPauses(t.Context(), acts.PausesConfig{Config: acts.Config{Stream: server.Stream("ACTS", epoch), Bot: "demo"}})
	q.must(err)
	q.store = &checkpoint.Memory{}
	return q
}

// takes is a platform that takes all.
type takes struct{}

func (takes) ID() string                          { return "telegram" }
func (takes) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (takes) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	return provider.Sent{MessageID: c.Part}, nil
}

func (q *queue) must(err error) {
	q.Helper()
	if err != nil {
		q.Fatal(err)
	}
}

func (q *queue) comes(chat botmesh.ChatKey) (seq uint64) {
	q.Helper()
	q.ids++
	placed, err := q.journal.Publish(q.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: fmt.Sprint("m", q.ids), Chat: chat})
	q.must(err)
	return placed.Seq
}

func (q *queue) pause(chat botmesh.ChatKey, on bool, scope acts.Scope) {
	q.Helper()
	is, err := q.pauses.Get(q.Context(), chat)
	q.must(err)
	is.Chat, is.On, is.Scope = chat, on, scope
	_, err = q.pauses.Set(q.Context(), is)
	q.must(err)
}

// applies has a chat's checkpoint say that all up to a record is applied.
func (q *queue) applies(chat botmesh.ChatKey, seq uint64, says *botmesh.Letter) {
	q.Helper()
	cp := checkpoint.Checkpoint{Chat: chat, Epoch: "e1", Cursor: seq}
	if says != nil {
		cp.Effects = &checkpoint.Effects{Letter: says}
	}
	value, err := cp.Encode()
	q.must(err)
	q.rows[chat], err = q.store.Swap(q.Context(), chat.Key(), q.rows[chat], value, fmt.Sprint(seq, time.Now()), 0)
	q.must(err)
}

// wants compares for how many minutes the oldest record waits.
func (q *queue) wants(when string, minutes int) {
	q.Helper()
	oldest, err := q.oldest(q.Context())
	q.must(err)
	if got := age(oldest) / 60; got != int64(minutes) {
		q.Errorf("%s: got %d minutes, want %d", when, got, minutes)
	}
}

// The oldest message that waits is found behind those of a chat that is paused or on hold,
// however many others came and were answered meanwhile. One that was applied waits until
// what it says is settled.
//
// SPEC: W2
func TestAPausedChatHidesNobody(t *testing.T) {
	for _, scope := range []acts.Scope{acts.All, acts.Delivery} {
		synctest.Test(t, func(t *testing.T) {
			server := jet.NewMemory()
			defer server.Close()
			q := newQueue(t, server)
			paused, waits := botmesh.ChatKey{Provider: "telegram", Chat: "1"}, botmesh.ChatKey{Provider: "telegram", Chat: "2"}
			q.pause(paused, true, scope)
			q.comes(paused)
			time.Sleep(time.Minute)
			q.wants("only a paused one", 0)
			many := uint64(0)
			for range 2*waitingPage + 10 {
				many = q.comes(botmesh.ChatKey{Provider: "telegram", Chat: "3"})
			}
			q.applies(botmesh.ChatKey{Provider: "telegram", Chat: "3"}, many, nil)
			q.wants("all others are answered", 0)
			seq := q.comes(waits)
			time.Sleep(2 * time.Minute)
			q.wants("not run", 2)
			letter, err := q.outbox.Letter(botmesh.LetterID(waits, "e1", seq), waits, []botmesh.Send{{Text: "x"}}, time.Now(), nil)
			q.must(err)
			q.applies(waits, seq, &letter)
			q.wants("not flushed", 2)
			at, err := q.outbox.Append(t.Context(), letter, 0)
			q.must(err)
			q.wants("not delivered", 2)
			q.comes(paused)
			d := q.outbox.Deliver(t.Context(), waits)
			d.Put(at, letter)
			_, err = d.Wait(t.Context(), at)
			q.must(err)
			_, err = d.Close(t.Context())
			q.must(err)
			q.wants("settled", 0)
			q.pause(waits, true, scope)
			q.wants("two are paused", 0)
			q.pause(paused, false, scope)
			q.wants("only the other is", 3)
			q.pause(waits, false, scope)
			q.wants("none is", 3)
		})
	}
}
