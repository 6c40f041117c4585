package replay_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// mute is a platform that is never called.
type mute struct{ provider.Sender }

func (mute) ID() string                          { return "telegram" }
func (mute) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

// lagging is a stream of which a replica answers that knows its first messages alone.
type lagging struct {
	jet.Stream
	knows uint64
}

func (l lagging) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	page, err := l.Stream.Range(ctx, subject, from, limit)
	return slices.DeleteFunc(page, func(m jet.Stored) bool { return m.Seq > l.knows }), err
}

// rooms are a chat's in memory, and the server of their streams.
type rooms struct {
	replay.Rooms
	server *jet.Memory
}

// openRooms opens empty rooms in memory, the outbox as seen from a replica that knows its
// first messages alone.
func openRooms(t *testing.T, knows uint64) rooms {
	t.Helper()
	server := jet.NewMemory()
	stream := server.Stream(outbox.StreamName("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "o1"}})
	o, err := outbox.Open(t.Context(), outbox.Config{
		Stream: lagging{stream, knows}, Bot: "demo", Incarnation: "r/1", Senders: []provider.Sender{mute{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := coord.NewMemory(&coord.MemoryHub{}, coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return rooms{replay.Rooms{
		Journal: openJournal(t, server), Outbox: o, Coordinator: c,
		Store: natsstore.New(server.Stream(natsstore.Stream("demo", 1).Name, jet.MemoryConfig{}), "demo"),
	}, server}
}

// post appends the letter of a record's commit, behind the last one.
func post(t *testing.T, o *outbox.Outbox, seq uint64, sends ...string) {
	t.Helper()
	var all []botmesh.Send
	for _, s := range sends {
		all = append(all, botmesh.Send{Text: s})
	}
	l, err := o.Letter(botmesh.LetterID(key, "e1", seq), key, all, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := o.Last(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Append(t.Context(), l, last.Seq); err != nil {
		t.Fatal(err)
	}
}

// A rebuilt chat is past every record whose letter is in the outbox, also when a replica
// of it lags, and past those that joined the last one.
//
// SPEC: J7
func TestARebuiltChatSaysNothingAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rooms := openRooms(t, 1)
		b := bot.New().Burst(2 * time.Second).Fallback(func(c *bot.Context) error { c.Say(c.Text()); return nil })
		runner, err := worker.New(worker.Config{Bot: b})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"a", "b", "c", "d"} {
			time.Sleep(time.Second)
			if text == "c" {
				time.Sleep(time.Minute)
			}
			publish(t, rooms.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: text, User: "5", Chat: key, Message: botmesh.Message{Text: text}})
		}
		time.Sleep(time.Minute)
		publish(t, rooms.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: "e", User: "5", Chat: key, Message: botmesh.Message{Text: "e"}})
		post(t, rooms.Outbox, 1, "a b")
		post(t, rooms.Outbox, 3, "c d")
		is, err := replay.Rebuild(t.Context(), replay.Config{Runner: runner, Tries: 1, Settle: time.Minute}, rooms.Rooms, replay.Order{Chat: key})
		if err != nil || is.Records != 4 || is.Cursor != 4 || is.Left != 1 || is.Revision == 0 {
			t.Errorf("got %+v, %v, want it rebuilt past the fourth record, which joined the third", is, err)
		}
	})
}

// What a newer build has written and this one can not read is not taken for a record that
// had no effect.
func TestAChatOfANewerBuildIsNotRebuilt(t *testing.T) {
	t.Parallel()
	in := openRooms(t, 1)
	publish(t, in.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: "a", Chat: key})
	inbox := in.server.Stream(journal.InboxStream("demo"), jet.MemoryConfig{})
	m, err := inbox.Get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Header.Set("Nats-Msg-Id", "demo:telegram:b")
	if _, err := inbox.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: m.Subject, Header: m.Header, Data: []byte(`{"v":99}`)}}); err != nil {
		t.Fatal(err)
	}
	post(t, in.Outbox, 2, "of the newer build")
	is, err := replay.Rebuild(t.Context(), build(t, func(*bot.Context) error { return nil }), in.Rooms, replay.Order{Chat: key})
	if !errors.Is(err, replay.ErrNewer) || is.Revision != 0 {
		t.Errorf("got %+v, %v, want it refused", is, err)
	}
	ran(t, in.Rooms, 2)
	got, err := replay.Against(t.Context(), build(t, func(*bot.Context) error { return nil }), in.Rooms, key)
	if err != nil || got.Records != 1 || got.Skipped != 1 || got.Why != "#2 is of a newer build" {
		t.Errorf("compared: got %+v, %v, want the second record left out", got, err)
	}
}
