package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// full is a checkpoint with something in every field.
func full() checkpoint.Checkpoint {
	at := time.Date(2026, 12, 1, 10, 0, 0, 123456789, time.UTC)
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "-100123", Participant: "55"}
	change := checkpoint.User{}.Change("55", "e1.6", at, map[string]json.RawMessage{"name": json.RawMessage(`"Ada"`)})
	user, _ := checkpoint.User{}.With(change, at)
	return checkpoint.Checkpoint{
		Format: checkpoint.Format, Fence: 1 << 60, Epoch: "e1", Cursor: 7, CursorAt: at,
		State:  []byte{0, 1, 0xff},
		Timers: []checkpoint.Armed{{ID: "e1-7-t0", Timer: botmesh.Timer{Name: "tea", At: at.Add(time.Hour), Data: []byte("green")}}},
		During: &checkpoint.During{Record: 8, Epoch: "e1", Kept: []byte("answer"), Eager: 2, User: &user},
		Tries:  &checkpoint.Tries{Record: 8, Epoch: "e1", N: 3, NotBefore: at.Add(time.Second), Error: "boom", Deaths: 1},
		Claim:  &checkpoint.Claim{Incarnation: "r1/x", At: at},
		Effects: &checkpoint.Effects{
			At: at,
			Letter: &botmesh.Letter{ID: botmesh.LetterID(chat, "e1", 7), Chat: chat, At: at, Trace: map[string]string{"traceparent": "00-1"}, Parts: []botmesh.Part{
				{ID: "l/0.0", Send: botmesh.Send{Text: "hi", Buttons: [][]botmesh.Button{{{Label: "yes", Payload: "y"}}}}},
				{ID: "l/0.2", Send: botmesh.Send{Text: "see", Spans: []botmesh.Span{{To: 3, Style: botmesh.StyleLink, URL: "https://example.org/"}}}},
				{ID: "l/0.1", Send: botmesh.Send{Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/a.png"}}},
			}},
			Dead: &checkpoint.Dead{Seq: 7, Epoch: "e1", Tries: 5, Error: "poison"},
			Arm:  []string{"e1-7-t0"}, Disarm: []string{"e1-3-t1"},
			Commands: []checkpoint.Command{{ID: "command:1/0", Hops: 1, Command: botmesh.Command{Chat: chat, Sends: []botmesh.Send{{Text: "hi"}}}}},
			User:     &change,
		},
		Out: 9, OutEpoch: "o1", Recent: checkpoint.RecentIDs{}.With("a").With("b"), Deploy: 4,
	}
}

func TestWhatIsEncodedComesBack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]checkpoint.Checkpoint{"full": full(), "empty": {Format: 1}} {
		b, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Decode(b)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
	}
	if got, err := checkpoint.Decode(nil); err != nil || cmp.Diff(checkpoint.Checkpoint{}, got) != "" {
		t.Errorf("nothing: got %+v, %v, want the zero Checkpoint", got, err)
	}
}

// DESIGN N8. HOLE H16. Only what older builds can not honour is kept from them.
func TestOnlyWhatIsNewRaisesTheFormat(t *testing.T) {
	t.Parallel()
	link := botmesh.Send{Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleLink, URL: "https://example.org/"}}}
	bold := botmesh.Send{Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleBold}}}
	file := []botmesh.Send{{Text: "hi"}, {Media: &botmesh.Media{Kind: botmesh.MediaImage, Ref: "f"}}}
	for want, c := range map[string]checkpoint.Checkpoint{
		`{"format":1,"chat":{"provider":"","chat":""},"effects":{"at":"0001-01-01T00:00:00Z","letter":{"id":"l","chat":{"provider":"","chat":""},` +
			`"at":"0001-01-01T00:00:00Z","parts":[{"id":"p","send":{"text":"hi"}}]}}}`: {
			Effects: &checkpoint.Effects{Letter: &botmesh.Letter{ID: "l", Parts: []botmesh.Part{{ID: "p", Send: file[0]}}}},
		},
		`{"format":5,"chat":{"provider":"","chat":""},"effects":{"at":"0001-01-01T00:00:00Z","letter":{"id":"l","chat":{"provider":"","chat":""},` +
			`"at":"0001-01-01T00:00:00Z","parts":[{"id":"p","send":{"text":"hi","spans":[{"from":0,"to":2,"style":"link","url":"https://example.org/"}]}}]}}}`: {
			Effects: &checkpoint.Effects{Letter: &botmesh.Letter{ID: "l", Parts: []botmesh.Part{{ID: "p", Send: link}}}},
		},
		`{"format":5,`: {Effects: &checkpoint.Effects{Commands: []checkpoint.Command{{Command: botmesh.Command{Sends: []botmesh.Send{link, file[1]}}}}}},
		`{"format":1,"chat":{"provider":"","chat":""},"effects"`: {Effects: &checkpoint.Effects{Letter: &botmesh.Letter{Parts: []botmesh.Part{{Send: bold}}}}},
		`{"format":4,"chat"`: {Effects: &checkpoint.Effects{Letter: &botmesh.Letter{Parts: []botmesh.Part{{Send: file[0]}, {Send: file[1]}}}}},
		`{"format":4,`:       {Effects: &checkpoint.Effects{Commands: []checkpoint.Command{{Command: botmesh.Command{Sends: file}}}}},
		`{"format":3,"chat"`: {Effects: &checkpoint.Effects{Commands: []checkpoint.Command{{Command: botmesh.Command{Sends: file[:1]}}}}},
		`{"format":1,`:       {State: []byte("x"), Effects: &checkpoint.Effects{Dead: &checkpoint.Dead{}}},
		`{"format":2,`:       {Timers: []checkpoint.Armed{{ID: "a"}}},
		`{"format":3,`:       {Effects: &checkpoint.Effects{User: &checkpoint.UserChange{}}},
	} {
		if b, err := c.Encode(); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("got %s, %v, want it to begin with %s", b, err, want)
		}
	}
}

// DESIGN C10. A chat that is done with leaves little behind.
func TestAnEmptyCheckpointIsSmall(t *testing.T) {
	t.Parallel()
	b, err := checkpoint.Checkpoint{Fence: 1 << 50, Epoch: "0123456789abcdef", Cursor: 1 << 40, CursorAt: time.Now()}.Encode()
	if err != nil || len(b) > 200 {
		t.Errorf("got %d bytes, %v, want at most 200: %s", len(b), err, b)
	}
}

// DESIGN N8. HOLE H16.
func TestANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	newer := []byte(`{"format":` + strconv.Itoa(checkpoint.Format+1) + `,"cursor":"not a number any more"}`)
	if _, err := checkpoint.Decode(newer); !errors.Is(err, checkpoint.ErrNewerFormat) {
		t.Errorf("got %v, want ErrNewerFormat", err)
	}
	// What a newer build adds without a new format is not in the way.
	if c, err := checkpoint.Decode([]byte(`{"format":1,"cursor":7,"mood":"good"}`)); err != nil || c.Cursor != 7 {
		t.Errorf("got %+v, %v, want cursor 7", c, err)
	}
	for _, bad := range []string{"x", "[]", `{"format":"1"}`, `{"format":1,"cursor":-1}`, `{"format":1,"recent":"AAAA"}`, `{"format":1,"recent":"?"}`} {
		if c, err := checkpoint.Decode([]byte(bad)); err == nil || errors.Is(err, checkpoint.ErrNewerFormat) {
			t.Errorf("%s: got %+v, %v, want another error", bad, c, err)
		}
	}
}

// SPEC: J2
func TestRecentIDs(t *testing.T) {
	t.Parallel()
	var r checkpoint.RecentIDs
	for i := range 200 {
		before := len(r)
		next := r.With(strconv.Itoa(i))
		if len(r) != before {
			t.Fatalf("With changed the ids it was called on")
		}
		r = next
	}
	if len(r) != checkpoint.MaxRecent {
		t.Fatalf("got %d ids, want %d", len(r), checkpoint.MaxRecent)
	}
	for i := range 200 {
		if got, want := r.Has(strconv.Itoa(i)), i >= 200-checkpoint.MaxRecent; got != want {
			t.Errorf("has %d: got %v, want %v", i, got, want)
		}
	}
	a, b := r.With("a"), r.With("b") // two ways on from the same ids
	if !a.Has("a") || a.Has("b") || b.Has("a") || !b.Has("b") {
		t.Error("two lists made from one share their memory")
	}
	if again := r.With("150"); len(again) != len(r) || !again.Has("72") || !again.Has("199") {
		t.Error("an id that came again has pushed another out")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := full().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"recent":"AAAAAAAAAAA"}`))
	f.Add([]byte(`{"format":1,"effects":{"letter":{"parts":[{}]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := checkpoint.Decode(b)
		if err != nil {
			return
		}
		// What was read is written and read again as the same.
		first, err := c.Encode()
		if err != nil {
			t.Skip() // a time out of the range of its encoding
		}
		again, err := checkpoint.Decode(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}

func FuzzRecentIDs(f *testing.F) {
	f.Add("a", "b", 3)
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		r := checkpoint.RecentIDs{}.With(a)
		for i := range min(max(n, 0), 2*checkpoint.MaxRecent) {
			r = r.With(b + strconv.Itoa(i))
		}
		text, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back checkpoint.RecentIDs
		if err := back.UnmarshalText(text); err != nil || !cmp.Equal(r, back) || len(back) > checkpoint.MaxRecent {
			t.Fatalf("got %v, %v, want %v", back, err, r)
		}
	})
}
