package dispatcher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/journal"
)

// telling makes the bot of a world tell chat b of each message of chat a, and count the
// messages of the user. Commands are passed on as they are.
func telling(w *world) {
	w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		if r.Record.Type == botmesh.TypeCommand {
			return botmesh.Outcome{State: r.State, Sends: r.Record.Sends}, nil
		}
		if r.Record.Chat != key("a") {
			return o, nil
		}
		fields, err := m.User(ctx)
		if err != nil {
			return o, err
		}
		var n int
		if raw := fields["messages"]; raw != nil {
			if err := json.Unmarshal(raw, &n); err != nil {
				return o, err
			}
		}
		o.User = map[string]json.RawMessage{"messages": json.RawMessage(fmt.Sprint(n + 1))}
		o.Commands = []botmesh.Command{{Chat: key("b"), Sends: []botmesh.Send{{Text: "a wrote " + r.Record.Message.Text}}}}
		return o, nil
	}
}

// kept returns what is kept of a user.
func (w *world) kept(user string) map[string]json.RawMessage {
	w.t.Helper()
	m, err := w.stream("CP").Last(w.t.Context(), "$KV.BOT_demo_CP."+checkpoint.UserKey("fake", user))
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := checkpoint.DecodeUser(m.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Values()
}

// judgeTold checks what two messages of chat a came to: in b, and of the user.
func (w *world) judgeTold(want ...string) {
	w.t.Helper()
	got := w.platform.texts("b")
	if once := slices.Compact(slices.Clone(got)); cmp.Diff(want, once) != "" || len(got) > len(once)+1 {
		w.t.Errorf("chat b was told %q, want %q\n%s", got, want, w.dump())
	}
	if got := string(w.kept("user")["messages"]); got != fmt.Sprint(len(want)) {
		w.t.Errorf("got %s messages of the user, want %d\n%s", got, len(want), w.dump())
	}
}

// A command to another chat and a change of a user are effects of their commit: whatever
// call the replica dies before or after, or whose answer is lost, each is there once.
//
// SPEC: C7. DESIGN: C3 C4 C9. HOLE: H20.
func TestWhatARunDoesToOthersIsDoneOnce(t *testing.T) {
	t.Parallel()
	var calls []string
	begin := 0
	play(t, func(w *world) {
		telling(w)
		r := w.start()
		begin = len(r.gate.log())
		w.post("a", "one")
		w.settled(time.Minute)
		calls = r.gate.log()
		w.judgeTold("a wrote one")
	})
	for n := begin; n < len(calls); n++ {
		for _, v := range []verdict{refuse, drop, lose, falsely, crashBefore, crashAfter} {
			if (v == lose || v == falsely) && (calls[n] == "ack" || calls[n] == "nak") {
				continue // a mark has no answer
			}
			t.Run(fmt.Sprintf("%s/%d %s", v, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					telling(w)
					a := w.start()
					a.gate.set(at(n, v))
					w.post("a", "one")
					w.waitFor(func() bool { return len(a.gate.log()) > n })
					if v == crashBefore || v == crashAfter {
						w.start()
					}
					w.settled(5 * time.Minute)
					w.post("a", "two")
					w.settled(5 * time.Minute)
					w.judgeTold("a wrote one", "a wrote two")
				})
			})
		}
	}
}

// A command whose replica died longer ago than the journal's duplicate window is looked
// for before it is published again.
//
// DESIGN: C3 C9. HOLE: H20.
func TestAnOldCommandIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		telling(w)
		a := w.start()
		a.gate.set(func(_ int, call string) verdict {
			if call == "inbox publish in" {
				return crashAfter
			}
			return pass
		})
		w.post("a", "one")
		w.waitFor(a.gate.isDead)
		time.Sleep(10 * time.Minute)
		w.start()
		w.settled(5 * time.Minute)
		w.judgeTold("a wrote one")
		j, err := journal.Open(t.Context(), journal.Config{Bot: "demo", Inbox: w.stream("INBOX"), Dead: w.stream("DEAD")})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := j.Read(t.Context(), key("b"), 0, 10); err != nil || len(got) != 1 {
			t.Errorf("got %d records in chat b (%v), want one", len(got), err)
		}
	})
}

// Two chats that answer each other end: their records are set aside, and neither chat is
// blocked.
//
// DESIGN: C9. HOLE: H20.
func TestCommandsDoNotGoRoundForEver(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			other := key("a")
			if r.Record.Chat == other {
				other = key("b")
			}
			if r.Record.Message.Text != "stop" && r.Record.Hops < 20 {
				o.Commands = []botmesh.Command{{Chat: other, Sends: []botmesh.Send{{Text: "your turn"}}}}
			}
			return o, nil
		}
		w.start()
		w.post("a", "begin")
		w.settled(5 * time.Minute)
		w.post("a", "stop")
		w.settled(5 * time.Minute)
		// The first record and eight commands, the last of which can send no further.
		if a, b := len(w.platform.texts("a")), len(w.platform.texts("b")); a != 5 || b != 4 {
			t.Errorf("got %d answers in a and %d in b, want 5 and 4\n%s", a, b, w.dump())
		}
		if dead := w.dead(); len(dead) != 1 {
			t.Errorf("got %d records set aside, want the one that would have gone on", len(dead))
		}
	})
}

// What is sent in another chat is stored in UTF-8 before it goes there, and its spans stay
// with their words.
func TestSpansOfACommandStayWithTheirWords(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		given := botmesh.Send{Text: "\xff\xff bold", Spans: []botmesh.Span{{From: 3, To: 7, Style: botmesh.StyleBold}}}
		told := make(chan botmesh.Send, 10)
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, _ botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Type == botmesh.TypeCommand {
				told <- r.Record.Sends[0]
				return botmesh.Outcome{Ignored: true}, nil
			}
			return botmesh.Outcome{Commands: []botmesh.Command{{Chat: key("b"), Sends: []botmesh.Send{given}}}}, nil
		}
		w.start()
		w.post("a", "1")
		w.settled(time.Minute)
		s := <-told
		if len(s.Spans) != 1 || s.Text[s.Spans[0].From:s.Spans[0].To] != "bold" {
			t.Errorf("got %q with %v, want its last word bold", s.Text, s.Spans)
		}
		if given.Text != "\xff\xff bold" || given.Spans[0].From != 3 {
			t.Errorf("got %q with %v left with the bot, want it as it was", given.Text, given.Spans)
		}
	})
}

// What a commit can not hold is a failed try with a reason, and the chat goes on.
//
// SPEC: J8 X2.
func TestWhatARunMayNotDoToOthers(t *testing.T) {
	t.Parallel()
	to := func(c botmesh.ChatKey, sends ...botmesh.Send) botmesh.Outcome {
		return botmesh.Outcome{Commands: []botmesh.Command{{Chat: c, Sends: sends}}}
	}
	user := func(name, value string) botmesh.Outcome {
		return botmesh.Outcome{User: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	say := botmesh.Send{Text: "x"}
	for why, o := range map[string]botmesh.Outcome{
		"does not match":   to(botmesh.ChatKey{Provider: "No!", Chat: "1"}, say),
		"nothing to send":  to(key("b")),
		"want its URL":     {Sends: []botmesh.Send{{Media: &botmesh.Media{Kind: botmesh.MediaImage, Ref: "a platform's"}}}},
		"a host":           to(key("b"), say, botmesh.Send{Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: "https:"}}),
		"want at most 64":  {Commands: make([]botmesh.Command, 65)},
		"commands of one":  to(key("b"), botmesh.Send{Text: strings.Repeat("x", 300<<10)}),
		"is no JSON":       user("a", "{"),
		"want 1 to 100":    user("", "1"),
		"kept of the user": user("a", `"`+strings.Repeat("x", 70<<10)+`"`),
		"a record of none": {User: map[string]json.RawMessage{"a": nil}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, _ botmesh.Outcome) (botmesh.Outcome, error) {
					return o, nil
				}
				w.start()
				p, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
				if err != nil {
					t.Fatal(err)
				}
				r := botmesh.Record{Type: botmesh.TypeMessage, ID: "1", Chat: key("a"), User: "user"}
				if why == "a record of none" {
					r.User = ""
				}
				if _, err := p.Publish(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				w.settled(5 * time.Minute)
				if dead := w.dead(); len(dead) != 1 || !strings.Contains(dead[0].Error, why) {
					t.Errorf("got %+v set aside, want one with %q", dead, why)
				}
			})
		})
	}
}

// A run of which something was kept sees the user as the first run did; one of which
// nothing was sees them anew.
//
// SPEC: C7.
func TestARunAgainstWhatWasKeptSeesTheSameUser(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var seen list[string]
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Chat == key("b") {
				o.User = map[string]json.RawMessage{"name": json.RawMessage(`"of b"`)}
				return o, nil
			}
			u, err := m.User(ctx)
			if err != nil {
				return o, err
			}
			seen.add(string(u["name"]))
			if r.Record.Message.Text == "keep" && r.Try == 1 {
				if err := m.Keep(ctx, []byte("k")); err != nil {
					return o, err
				}
			}
			if r.Try == 1 {
				return o, errNo
			}
			return o, nil
		}
		w.start()
		w.post("a", "keep")
		w.waitFor(func() bool { return len(seen.all()) == 1 })
		w.post("b", "x")
		w.settled(time.Minute)
		w.post("a", "again")
		w.settled(time.Minute)
		if diff := cmp.Diff([]string{"", "", `"of b"`, `"of b"`}, seen.all()); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
	})
}

// overtaken is a store in which something else happens right before the first change of a
// user is written.
type overtaken struct {
	checkpoint.Store
	before *atomic.Bool
	happen func()
}

func (s overtaken) Swap(ctx context.Context, key string, from checkpoint.Row, value []byte, nonce string, ttl time.Duration) (checkpoint.Row, error) {
	if key == checkpoint.UserKey("fake", "user") && s.before.CompareAndSwap(false, true) {
		s.happen()
	}
	return s.Store.Swap(ctx, key, from, value, nonce, ttl)
}

// A change that another chat of the user overtakes is made to what that one left.
//
// SPEC: C7. DESIGN: C4.
func TestTwoChatsOfAUserLoseNothingOfEachOther(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			o.User = map[string]json.RawMessage{r.Record.Message.Text: json.RawMessage(`1`)}
			return o, nil
		}
		w.start(func(c *dispatcher.Config) {
			c.Store = overtaken{c.Store, new(atomic.Bool), func() {
				w.post("b", "second")
				w.waitFor(func() bool { return len(w.platform.texts("b")) == 1 })
			}}
		})
		w.post("a", "first")
		w.settled(time.Minute)
		want := map[string]json.RawMessage{"first": json.RawMessage(`1`), "second": json.RawMessage(`1`)}
		if diff := cmp.Diff(want, w.kept("user")); diff != "" {
			t.Errorf("kept of the user (-want +got):\n%s", diff)
		}
	})
}

// The outbox is told what the user did last before a letter: it goes by that whether a
// chat that blocked the bot may be called again. What an operator puts back is sent in
// any case.
func TestALetterSaysWhatItsUserDidLast(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		r := w.start()
		p, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
		if err != nil {
			t.Fatal(err)
		}
		send := []botmesh.Send{{Text: "told"}}
		for i, said := range []botmesh.Record{
			{Type: botmesh.TypeCommand, Sends: send},
			{Type: botmesh.TypeMessage, User: "user", Message: botmesh.Message{Text: "hi"}},
			{Type: botmesh.TypeCommand, Sends: send},
			{Type: botmesh.TypeMembership, User: "user", Message: botmesh.Message{Text: "hi"}},
			{Type: botmesh.TypeCommand, Sends: send, RequeueOf: "x"},
			{Type: botmesh.TypeCommand, Sends: send, ReplayOf: "x"},
			{Type: botmesh.TypeMessage, User: "user", Message: botmesh.Message{Text: "hi"}, ReplayOf: "y"},
			{Type: botmesh.TypeOptOut, User: "user"},
			{Type: botmesh.TypeOptIn, User: "user"},
			{Type: botmesh.TypeCommand, Sends: send},
		} {
			said.ID, said.Chat = strconv.Itoa(i), key("a")
			if _, err := p.Publish(t.Context(), said); err != nil {
				t.Fatal(err)
			}
			w.settled(time.Minute)
		}
		letters, err := r.outbox.Letters(t.Context(), key("a"), 0, 20)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range letters {
			got = append(got, l.Letter.Heard)
			if l.Letter.By != r.coord.Incarnation() || l.Letter.Fence == 0 {
				t.Errorf("got a letter by %q under fence %d, want by %q under one", l.Letter.By, l.Letter.Fence, r.coord.Incarnation())
			}
		}
		if diff := cmp.Diff([]string{"", "e1.2", "e1.2", "e1.4", "", "", "", "e1.4", "e1.4", "e1.4"}, got); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}
