package outbox

import (
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
)

// What the platform takes, and then can not deliver, blocks the chat like a refusal: for
// all that is said before the user does something again, on any replica.
//
// SPEC: O5 O6
func TestAChatIsBlockedByWhatIsToldLater(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		a.say("1", "j1.1")
		for range 2 { // a run that is repeated
			if err := b.Block(w.Context(), chatA, "j1.1", "131026 undeliverable"); err != nil {
				t.Fatal(err)
			}
		}
		a.say("2", "j1.1") // from what it knew before
		b.say("3", "j1.1")
		a.say("4", "j1.2") // the user is back
		if err := b.Block(w.Context(), chatA, "j1.1", "131026 undeliverable"); err != nil {
			t.Fatal(err)
		}
		b.say("5", "j1.2") // the old news concerns it no more
		if err := b.Block(w.Context(), chatA, "", "131026 undeliverable"); err != nil {
			t.Fatal(err)
		}
		a.say("6", "")
		for _, heard := range []string{"j1.10", "j1.9"} { // news of an older letter come late
			if err := b.Block(w.Context(), chatA, heard, "131026 undeliverable"); err != nil {
				t.Fatal(err)
			}
		}
		a.say("7", "j1.10")
		want(w, "calls", w.called(), []string{"a:1", "a:4", "b:5", "a:6"})
	})
}

// SPEC: O6
func TestAPartIsFoundByItsID(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		a.say("1", "j1.1")
		eager, err := a.Letter(botmesh.EagerLetterID(chatA, "j1", 9, 0), chatA, []botmesh.Send{{Text: "2,3"}}, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.out, err = a.Append(w.Context(), eager, w.out); err != nil {
			t.Fatal(err)
		}
		first := botmesh.LetterID(chatA, "j1", 1)
		for part, want := range map[string]string{first + "/0.0": "1", eager.ID + ".0": "2", eager.ID + ".1": "3", first + "/0.1": "", first: "", "": ""} {
			f, l, err := a.Find(w.Context(), chatA, part)
			switch {
			case want == "":
				if !errors.Is(err, botmesh.ErrNotFound) {
					t.Errorf("%q: got %+v, %v, want no such part", part, f, err)
				}
			case err != nil || f.Part.Send.Text != want || f.Letter != l.ID || (f.Receipt != nil) != (want == "1"):
				t.Errorf("%q: got %+v, %v, want the part %q and its receipt", part, f, err, want)
			}
		}
	})
}
