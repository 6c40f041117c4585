package outbox

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

func TestOpenRefusesABadConfig(t *testing.T) {
	t.Parallel()
	bad := Config{
		Bot: "B", Senders: []provider.Sender{&process{}, &process{}}, Hold: -1, RetryFirst: 2, RetryMax: 1, GiveUp: -1, IdleChats: -1,
		InDoubt: map[string]Policy{"test": 7},
	}
	_, err := Open(t.Context(), bad)
	if err == nil {
		t.Fatal("error: got none, want one")
	}
	for _, word := range []string{"Stream", "Bot", "Incarnation", "Hold", "RetryMax", "GiveUp", "IdleChats", "InDoubt", "two senders"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error: got %q, want it to name %s", err, word)
		}
	}
}

func TestOpenReadsTheEpoch(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	_, err := Open(t.Context(), Config{Bot: "b", Stream: server.Stream("PLAIN", jet.MemoryConfig{})})
	if err == nil || !strings.Contains(err.Error(), epochKey) {
		t.Errorf("a stream without an epoch: got error %v, want one that names %s", err, epochKey)
	}
	made := server.Stream("MADE", jet.MemoryConfig{Metadata: map[string]string{epochKey: "e7"}})
	o, err := Open(t.Context(), Config{Bot: "b", Stream: made})
	if err != nil || o.Epoch() != "e7" {
		t.Errorf("epoch: got %v, error %v, want e7", o, err)
	}
}

// SPEC O1 O8, DESIGN C3: the ids of parts are made from the letter's and their place.
func TestLetterNamesItsParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.process("a")
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.FixedZone("", 3600))
	id := botmesh.LetterID(chatA, "j1", 7)
	ids := func(l botmesh.Letter) (ids []string) {
		for _, p := range l.Parts {
			rest, _ := strings.CutPrefix(p.ID, id)
			ids = append(ids, rest+" "+p.Send.Text)
		}
		return ids
	}

	l, err := a.Letter(id, chatA, []botmesh.Send{{Text: "x,y"}, {Text: "z"}}, at, map[string]string{"traceparent": "t"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/0.0 x", "/0.1 y", "/1.0 z"}, ids(l)); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	again, _ := a.Letter(id, chatA, []botmesh.Send{{Text: "x,y"}, {Text: "z"}}, at, map[string]string{"traceparent": "t"})
	if !reflect.DeepEqual(l, again) {
		t.Errorf("the same arguments: got %v, want %v", again, l)
	}

	eager := botmesh.EagerLetterID(chatA, "j1", 7, 12)
	l, err = a.Letter(eager, chatA, []botmesh.Send{{Text: "x,y"}}, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/e12.0 x", "/e12.1 y"}, ids(l)); diff != "" {
		t.Errorf("eager parts (-want +got):\n%s", diff)
	}

	if _, err := a.Letter(eager, chatA, []botmesh.Send{{Text: "x"}, {Text: "y"}}, at, nil); err == nil {
		t.Error("an eager letter of two sends: got no error, want one")
	}
	if _, err := a.Letter(id, chatA, nil, at, nil); err == nil {
		t.Error("a letter of nothing: got no error, want one")
	}
	if _, err := a.Letter(id, botmesh.ChatKey{Provider: "other", Chat: "a"}, []botmesh.Send{{Text: "x"}}, at, nil); err == nil || !strings.Contains(err.Error(), `no sender for provider "other": set the token`) {
		t.Errorf("a provider without sender: got %v, want to be told what to set", err)
	}
}

// A chat may look like an eager letter's end.
func TestLetterOfAChatThatLooksEager(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		botmesh.LetterID(botmesh.ChatKey{Provider: "p", Chat: "c", Participant: "e1"}, "j", 7): false,
		"p.c/j.7":      false,
		"p.c/j.7/e0":   true,
		"p.c/j.7/e":    false,
		"p.c/e1/j.7":   false,
		"p.c/j.7/e12x": false,
	} {
		if got := isEager(id); got != want {
			t.Errorf("eager %q: got %v, want %v", id, got, want)
		}
	}
}

// SPEC O2 O3, DESIGN C3, HOLE H3: a letter goes in behind the one that is expected and
// nowhere else, however often and late it is tried.
func TestAppendGoesBehindWhatIsExpected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.process("a"), w.process("b")
	one, l1 := a.append("1")
	if _, err := b.Append(t.Context(), l1, 0); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("the same again: got error %v, want a conflict", err)
	}
	two, l2 := a.append("2")
	if _, err := b.Append(t.Context(), l2, one); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("the second again: got error %v, want a conflict", err)
	}
	got, err := b.Last(t.Context(), chatA)
	if want := (Tail{two, l2.ID}); err != nil || got != want {
		t.Errorf("last: got %v, error %v, want %v", got, err, want)
	}
	got, err = b.Last(t.Context(), botmesh.ChatKey{Provider: "test", Chat: "other"})
	if err != nil || got != (Tail{}) {
		t.Errorf("last of a chat without letters: got %v, error %v, want none", got, err)
	}
	m, err := w.stream.Get(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if id := m.Header.Get(nats.MsgIdHdr); id != "" {
		t.Errorf("message id: got %q, want none: its window would end", id)
	}
	if id := m.Header.Get(headerID); id != l1.ID {
		t.Errorf("%s: got %q, want %q", headerID, id, l1.ID)
	}
	if _, err := a.Append(t.Context(), botmesh.Letter{ID: "x", Chat: chatA}, two); err == nil || errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("a letter without parts: got error %v, want a refusal", err)
	}
}

// SPEC O2: every answer to an append says what the caller has to do next.
func TestAppendAnswers(t *testing.T) {
	t.Parallel()
	for f, want := range map[fate]struct {
		err  error
		tail uint64
	}{
		refuse: {botmesh.ErrRefused, 0},
		drop:   {botmesh.ErrUnknown, 0},
		lose:   {botmesh.ErrUnknown, 1},
		lie:    {botmesh.ErrConflict, 0},
	} {
		w := newWorld(t)
		a := w.process("a")
		l, _ := a.Letter("l", chatA, []botmesh.Send{{Text: "1"}}, time.Now(), nil)
		a.setRule(when(func(o op) bool { return o.name == "publish" }, f))
		_, err := a.Append(t.Context(), l, 0)
		tail, _ := a.Last(t.Context(), chatA)
		if !errors.Is(err, want.err) || tail.Seq != want.tail {
			t.Errorf("fate %d: got error %v and the tail at %d, want %v and %d", f, err, tail.Seq, want.err, want.tail)
		}
	}
}

// A build leaves alone what a newer one wrote.
func TestNewerFormatIsNotTouched(t *testing.T) {
	for name, m := range map[string]jet.Msg{
		"letter": {Subject: subjectOf(familyLetter, "b", chatA), Data: []byte(`{"v":4}`)},
		"entry":  {Subject: subjectOf(familyReceipt, "b", chatA), Data: []byte(`{"v":2,"id":"n","free":true}`)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a")
				seq := uint64(1)
				if name == "entry" {
					seq, _ = a.append("1")
				}
				if _, err := w.stream.Publish(w.Context(), jet.Publish{Msg: m}); err != nil {
					t.Fatal(err)
				}
				before, _ := w.stream.Info(w.Context())
				d := a.Deliver(w.Context(), chatA)
				if _, err := d.Wait(w.Context(), seq); !errors.Is(err, ErrNewerFormat) {
					t.Errorf("wait: got error %v, want %v", err, ErrNewerFormat)
				}
				a.end(d)
				after, _ := w.stream.Info(w.Context())
				want(w, "messages", after.Messages, before.Messages)
			})
		})
	}
}

// A process without the chat's sender says so, and claims nothing.
func TestDeliverWithoutSender(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		b := w.process("b", func(c *Config) { c.Senders = nil })
		seq, _ := a.append("1")
		d := b.Deliver(w.Context(), chatA)
		if _, err := d.Wait(w.Context(), seq); err == nil || !strings.Contains(err.Error(), "set the token") {
			t.Errorf("wait: got %v, want to be told what to set", err)
		}
		b.end(d)
		want(w, "chain", w.kinds(), "")
	})
}

// DESIGN D6
func TestStreamsIsWhatTheProtocolNeeds(t *testing.T) {
	t.Parallel()
	all := Streams(Sizing{Bot: "demo", Replicas: 3, Retention: time.Hour})
	if len(all) != 1 {
		t.Fatalf("streams: got %d, want 1", len(all))
	}
	want := jetstream.StreamConfig{
		Name:        "BOT_demo_OUTBOX",
		Description: all[0].Description,
		Subjects:    []string{"bot.out.demo.>", "bot.rcpt.demo.>"},
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		Replicas:    3,
		MaxAge:      25 * time.Hour,
		Metadata:    map[string]string{epochKey: ""},
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if got := Streams(Sizing{Bot: "demo"})[0]; got.MaxAge != 9*24*time.Hour || got.Replicas != 1 {
		t.Errorf("defaults: got %v and %d replicas, want 216h and 1", got.MaxAge, got.Replicas)
	}
}
