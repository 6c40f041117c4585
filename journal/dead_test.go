package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func deadOf(t *testing.T, j *Journal, f Filter) []DeadLetter {
	t.Helper()
	letters, err := j.DeadLetters(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return letters
}

// SPEC: J8
func TestARecordIsSetAsideOnceWithAllItHas(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	a, b := openMemory(t, server, "e1"), openMemory(t, server, "e1")
	long := botmesh.ChatKey{Provider: "telegram", Chat: strings.Repeat("x", 151)}
	r := message(long, "id 1", "hi")
	r.User, r.Raw, r.Trace = "u", []byte(`{"a":1}`), map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	mustPublish(t, a.Publisher, message(chat("1"), "0", "before"))
	placed := mustPublish(t, a.Publisher, r)
	d := Dead{Chat: long, Epoch: "e1", Seq: placed.Seq, Tries: 5, Error: "no\nsuch thing: ü"}
	for _, j := range []*Journal{a, b, a} {
		if err := j.SetAside(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	got := deadOf(t, b, Filter{})
	if len(got) != 1 || got[0].At.IsZero() {
		t.Fatalf("got %+v, want one dead letter with its time", got)
	}
	r.Epoch, r.Seq, got[0].At = "e1", placed.Seq, time.Time{}
	want := DeadLetter{Seq: 1, Kind: DeadRecord, Chat: long, Tries: 5, Error: d.Error, Entry: Entry{Record: r}, Trace: r.Trace}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("dead letter (-want +got):\n%s", diff)
	}
}

// What this build can not read is kept as it stands, for one that can.
func TestAnUnreadableRecordIsSetAsideAsItStands(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	m, err := encode(testBot, message(chat("1"), "1", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	m.Data = []byte(`{"v":9,"new":true}`)
	m.Header.Set("Bot-New", "x")
	if _, err := j.inbox.Publish(t.Context(), jet.Publish{Msg: m}); err != nil {
		t.Fatal(err)
	}
	if err := j.SetAside(t.Context(), Dead{Chat: chat("1"), Epoch: "e1", Seq: 1, Error: "too new"}); err != nil {
		t.Fatal(err)
	}
	kept, err := j.dead.Last(t.Context(), "bot.dead.demo.telegram.1.e1-1")
	if err != nil {
		t.Fatal(err)
	}
	if string(kept.Data) != `{"v":9,"new":true}` || kept.Header.Get("Bot-New") != "x" || kept.Header.Get(headerID) != "1" || kept.Header.Get(headerMsgID) != "" {
		t.Errorf("got %q with %v, want body and headers as they stood", kept.Data, kept.Header)
	}
	if got := deadOf(t, j, Filter{}); !errors.Is(got[0].Entry.Err, ErrNewer) {
		t.Errorf("got %v, want ErrNewer", got[0].Entry.Err)
	}
}

func TestARecordThatIsGoneIsSetAsideWithoutBody(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	j := openMemory(t, server, "e1")
	mustPublish(t, j.Publisher, message(chat("1"), "1", "hi"))
	mustPublish(t, j.Publisher, message(chat("1"), "2", "another"))
	server.Stream(InboxStream(testBot), jet.MemoryConfig{}).Remove(1)
	for _, d := range []Dead{
		{Chat: chat("1"), Epoch: "e1", Seq: 1, Error: "x"},
		{Chat: chat("1"), Epoch: "e0", Seq: 2, Error: "of another epoch"},
	} {
		if err := j.SetAside(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	got := deadOf(t, j, Filter{Chat: chat("1")})
	if len(got) != 2 || !errors.Is(got[0].Entry.Err, ErrUnreadable) || got[1].Entry.Record.Epoch != "e0" || got[1].Entry.Record.ID != "" {
		t.Fatalf("got %+v, want both, without a body", got)
	}
	for _, d := range []Dead{{Epoch: "e1", Seq: 1}, {Chat: chat("1"), Seq: 1}, {Chat: chat("1"), Epoch: "e.*", Seq: 1}} {
		if err := j.SetAside(t.Context(), d); err == nil {
			t.Errorf("%+v: got no error", d)
		}
	}
	err := j.SetAside(t.Context(), Dead{Chat: chat("1"), Epoch: "e1", Seq: 9, Error: "x"})
	if !errors.Is(err, ErrNotProven) {
		t.Errorf("beyond the end: got %v, want ErrNotProven", err)
	}
}

func TestAPartIsSetAsideOnce(t *testing.T) { // SPEC: O5
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	letter := botmesh.LetterID(chat("-1 x"), "e1", 7)
	d := DeadPart{
		Chat: chat("-1 x"), Part: letter + "/0.1", Send: botmesh.Send{Text: "bye"}, Tries: 3, Error: "blocked",
		Trace: map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
	eager := d
	eager.Part = botmesh.EagerLetterID(d.Chat, "e1", 7, 0) + ".1"
	for _, part := range []DeadPart{d, d, eager} {
		if _, err := j.SetAsidePart(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	got := deadOf(t, j, Filter{})
	if len(got) != 2 {
		t.Fatalf("got %d dead letters, want 2", len(got))
	}
	want := DeadLetter{Seq: 1, At: got[0].At, Kind: DeadSend, Chat: d.Chat, Tries: 3, Error: "blocked", Part: d.Part, Send: d.Send, Trace: d.Trace}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("dead letter (-want +got):\n%s", diff)
	}
	if got[1].Part != eager.Part {
		t.Errorf("got part %q, want %q", got[1].Part, eager.Part)
	}
	for _, part := range []string{"", "telegram.2/e1.7/0.1", d.Chat.Key() + "/", d.Chat.Key() + "/e1.7/*"} {
		d.Part = part
		if _, err := j.SetAsidePart(t.Context(), d); err == nil {
			t.Errorf("part %q: got no error", part)
		}
	}
}

// DESIGN C3: expected last subject sequence 0. A conflict is settled by looking.
func TestSettingAsideIsSettled(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(n int, done func() error) error{
		"answer lost": func(n int, done func() error) error {
			if n > 1 {
				return done()
			}
			if err := done(); err != nil {
				return err
			}
			return botmesh.ErrUnknown
		},
		"refused": func(n int, done func() error) error {
			if n > 1 {
				return done()
			}
			return botmesh.ErrRefused
		},
		"false conflict": func(n int, done func() error) error {
			if n > 2 {
				return done()
			}
			return botmesh.ErrConflict
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := openMemory(t, jet.NewMemory(), "e1")
				mustPublish(t, j.Publisher, message(chat("1"), "1", "hi"))
				n := 0
				f := &faulty{Stream: j.dead}
				f.publish = func(ctx context.Context, p jet.Publish) (ack jet.Ack, err error) {
					n++
					err = answer(n, func() error {
						ack, err = f.Stream.Publish(ctx, p)
						return err
					})
					return ack, err
				}
				j.dead = f
				if err := j.SetAside(t.Context(), Dead{Chat: chat("1"), Epoch: "e1", Seq: 1}); err != nil {
					t.Error(err)
				}
				if got := deadOf(t, j, Filter{}); len(got) != 1 {
					t.Errorf("got %d dead letters, want 1", len(got))
				}
			})
		})
	}
}

// A dead letter that was forgotten is gone for good: who sets it aside again, since a
// flush is repeated, meets the mark in its place.
//
// HOLE: H14
func TestAForgottenDeadLetterStaysAway(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	mustPublish(t, j.Publisher, message(chat("1"), "1", "hi"))
	for range 2 {
		if err := j.SetAside(t.Context(), Dead{Chat: chat("1"), Epoch: "e1", Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if n, oldest, err := j.DeadCount(t.Context()); err != nil || n > 0 == oldest.IsZero() {
			t.Errorf("got a count of %d since %v (%v), want both or neither", n, oldest, err)
		}
		for _, l := range deadOf(t, j, Filter{}) {
			if err := j.Forget(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		if n, _, err := j.DeadCount(t.Context()); err != nil || n != 0 {
			t.Errorf("got a count of %d (%v), want none", n, err)
		}
	}
	if got := deadOf(t, j, Filter{}); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

// Who set a part aside first is known however often that is repeated, and after the dead
// letter was forgotten.
//
// SPEC: O5
func TestWhoSetAPartAsideFirstIsKnown(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	part := DeadPart{Chat: chat("1"), Part: botmesh.LetterID(chat("1"), "e1", 1) + "/0.0"}
	for _, by := range []string{"e1.2", "e1.5", "", "e1.7"} {
		part.By = by
		if first, err := j.SetAsidePart(t.Context(), part); err != nil || first != "e1.2" {
			t.Errorf("by %q: got %q and error %v, want e1.2", by, first, err)
		}
		for _, l := range deadOf(t, j, Filter{}) {
			if by != "" {
				continue // once only, in between
			}
			if err := j.Forget(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// However many dead letters were handled, or are of another kind: those that are left
// are found, up to the limit, the oldest or the newest.
func TestTheLimitCountsOnlyDeadLettersThatAreListed(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	want := map[DeadKind][]uint64{}
	for seq := range uint64(12) {
		d := Dead{Chat: chat("1"), Epoch: "e0", Seq: seq + 1}
		if err := j.SetAside(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		part := DeadPart{Chat: d.Chat, Part: botmesh.LetterID(d.Chat, "e0", seq+1) + "/0.0"}
		if _, err := j.SetAsidePart(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range deadOf(t, j, Filter{}) {
		if i%8 < 2 {
			want[l.Kind] = append(want[l.Kind], l.Seq)
			want[""] = append(want[""], l.Seq)
		} else if err := j.Forget(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for kind, left := range want {
		for limit := 1; limit <= len(left); limit++ {
			for newest, want := range map[bool][]uint64{false: left[:limit], true: left[len(left)-limit:]} {
				var got []uint64
				for _, l := range deadOf(t, j, Filter{Kind: kind, Limit: limit, Newest: newest}) {
					got = append(got, l.Seq)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d of kind %q, newest %v (-want +got):\n%s", limit, kind, newest, diff)
				}
			}
		}
	}
}

// A part that is held is no dead letter: it is listed and counted by itself, once, and
// what else is set aside of the part has its own place.
//
// SPEC: O7
func TestAPartThatIsHeldIsListedByItself(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	d := DeadPart{Chat: chat("1"), Part: botmesh.LetterID(chat("1"), "e1", 1) + "/0.0", Send: botmesh.Send{Text: "paid"}, Tries: 1, Held: true}
	expect := func(held, dead int) {
		t.Helper()
		for want, count := range map[*int]func(context.Context) (int, time.Time, error){&held: j.HeldCount, &dead: j.DeadCount} {
			if n, oldest, err := count(t.Context()); err != nil || n != *want || n > 0 == oldest.IsZero() {
				t.Errorf("got a count of %d since %v (%v), want %d", n, oldest, err, *want)
			}
		}
		of := deadOf(t, j, Filter{Kind: DeadHeld, Chat: d.Chat})
		if len(of) != held || held > 0 && (of[0].Part != d.Part || of[0].Send.Text != "paid" || of[0].Kind != DeadHeld) {
			t.Errorf("got %+v held, want %d", of, held)
		}
		if got := deadOf(t, j, Filter{}); len(got) != dead {
			t.Errorf("got %+v, want %d dead letters", got, dead)
		}
	}
	aside := func() {
		t.Helper()
		if _, err := j.SetAsidePart(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	expect(0, 0)
	aside()
	aside()
	expect(1, 0)
	d.Held = false
	aside()
	expect(1, 1)
	for _, l := range deadOf(t, j, Filter{Kind: DeadHeld}) {
		if err := j.Forget(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	d.Held = true
	aside()
	expect(0, 1)
}
