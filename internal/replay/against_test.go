package replay_test

import (
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/worker"
)

// build is a bot as it is now.
func build(t *testing.T, say func(c *bot.Context) error) replay.Config {
	t.Helper()
	runner, err := worker.New(worker.Config{Bot: bot.New().Fallback(say)})
	if err != nil {
		t.Fatal(err)
	}
	return replay.Config{Runner: runner, Tries: 2, Settle: time.Minute}
}

// ran writes the checkpoint of a chat that a worker has run up to a record.
func ran(t *testing.T, in replay.Rooms, seq uint64) {
	t.Helper()
	value, err := checkpoint.Checkpoint{Chat: key, Epoch: "e1", Cursor: seq}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Store.Swap(t.Context(), key.Key(), checkpoint.Row{}, value, rand.Text(), 0); err != nil {
		t.Fatal(err)
	}
}

func said(of ...string) (all []botmesh.Send) {
	for _, text := range of {
		all = append(all, botmesh.Send{Text: text})
	}
	return all
}

// A chat differs where the bot of now answers otherwise than the outbox says, and nowhere
// else: not by chance, by the clock, or for what it must not do.
//
// SPEC: J7
func TestAChatIsComparedWithWhatItWasAnswered(t *testing.T) {
	t.Parallel()
	echo := func(c *bot.Context) error { c.Say("you: " + c.Text()); return nil }
	for name, c := range map[string]struct {
		say  func(c *bot.Context) error
		want replay.Compared
	}{
		"same": {echo, replay.Compared{Verdict: replay.Same, Records: 2, Skipped: 1, Why: "#2 was set aside"}},
		"other words": {
			func(c *bot.Context) error { c.Say("you said: " + c.Text()); return nil },
			replay.Compared{Verdict: replay.Differs, Seq: 1, Text: "a", Then: said("you: a"), Now: said("you said: a")},
		},
		"silence": {
			func(c *bot.Context) error {
				if c.Text() != "c" {
					return echo(c)
				}
				return nil
			},
			replay.Compared{Verdict: replay.Differs, Records: 1, Skipped: 1, Why: "#2 was set aside", Seq: 3, Text: "c", Then: said("you: c")},
		},
		"failure": {
			func(*bot.Context) error { return context.Canceled },
			replay.Compared{Verdict: replay.Differs, Seq: 1, Text: "a", Then: said("you: a"), Error: context.Canceled.Error()},
		},
		"chance": {
			func(c *bot.Context) error { c.Say(rand.Text()); return nil },
			replay.Compared{Verdict: replay.Incomparable, Skipped: 1, Why: "#1 says something else each time, by chance or by the clock"},
		},
		"clock": {
			func(c *bot.Context) error { c.Say(c.Now().Format(time.Kitchen)); return nil },
			replay.Compared{Verdict: replay.Incomparable, Skipped: 1, Why: "#1 says something else each time, by chance or by the clock"},
		},
		"effect": {
			func(c *bot.Context) error {
				if c.Text() == "a" {
					_, err := flow.Do(c, "pay", func(context.Context, string) (int, error) {
						t.Error("the payment was made again")
						return 1, nil
					})
					if err != nil {
						c.Say("no luck")
						return nil
					}
				}
				return echo(c)
			},
			replay.Compared{Verdict: replay.Same, Records: 1, Skipped: 2, Why: `#1 wants to do "pay", of which no result is kept`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := openRooms(t, 1)
				for _, text := range []string{"a", "b", "c", "d"} { // nobody has run the last one
					publish(t, in.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: text, User: "5", Chat: key, Message: botmesh.Message{Text: text}})
				}
				post(t, in.Outbox, 1, "you: a")
				if err := in.Journal.SetAside(t.Context(), journal.Dead{Chat: key, Epoch: "e1", Seq: 2, Tries: 5}); err != nil {
					t.Fatal(err)
				}
				post(t, in.Outbox, 3, "you: c")
				ran(t, in.Rooms, 3)
				got, err := replay.Against(t.Context(), build(t, c.say), in.Rooms, key)
				if err != nil {
					t.Fatal(err)
				}
				c.want.Chat = key.String()
				if c.want.Seq > 0 {
					c.want.Type = botmesh.TypeMessage
				}
				if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// Where the beginning of a journal is gone, a chat is compared from the first record on that is
// answered alike; the chats that wrote last are found first.
//
// SPEC: J7
func TestAChatIsComparedFromWhereItsStateIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := openRooms(t, 1)
		before := botmesh.ChatKey{Provider: "telegram", Chat: "4"}
		publish(t, in.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: "0", Chat: before, Message: botmesh.Message{Text: "0"}})
		for _, text := range []string{"a", "b", "c"} {
			publish(t, in.Journal, botmesh.Record{Type: botmesh.TypeMessage, ID: text, User: "5", Chat: key, Message: botmesh.Message{Text: text}})
		}
		lately, err := replay.Lately(t.Context(), in.Journal, 2)
		if diff := cmp.Diff([]botmesh.ChatKey{key, before}, lately); diff != "" || err != nil {
			t.Errorf("the chats that wrote last: %v (-want +got):\n%s", err, diff)
		}
		in.server.Stream(journal.InboxStream("demo"), jet.MemoryConfig{}).Remove(1)
		post(t, in.Outbox, 2, "of what nobody knows")
		post(t, in.Outbox, 3, "you: b")
		post(t, in.Outbox, 4, "you: C")
		ran(t, in.Rooms, 4)
		got, err := replay.Against(t.Context(), build(t, func(c *bot.Context) error { c.Say("you: " + c.Text()); return nil }), in.Rooms, key)
		want := replay.Compared{
			Chat: "telegram/5", Verdict: replay.Differs, Records: 1, Skipped: 1, Why: "the journal's beginning is gone",
			Seq: 4, Type: botmesh.TypeMessage, Text: "c", Then: said("you: C"), Now: said("you: c"),
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
