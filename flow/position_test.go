package flow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

func TestChatSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]flow.Chat{
		"nothing": {},
		"values":  {Values: map[string]json.RawMessage{"b": json.RawMessage(`1`), "a": json.RawMessage(`"x"`)}},
		"a flow": {Position: &flow.Position{
			Flow: "trip", Step: "to", State: json.RawMessage(`{"to":"<Rome>"}`), Asked: 9, Wait: "w", Shape: "s",
		}},
	} {
		b, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if (b == nil) != (name == "nothing") {
			t.Errorf("%s: got %q, want nil only for nothing", name, b)
		}
		back, err := flow.DecodeChat(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Encode()
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: encoded again: got %q, %v, want %q", name, again, err, b)
		}
	}
}

// The error says why, and nothing of what was kept, which is the user's.
//
// DESIGN: §7.
func TestChatsThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	for s, why := range map[string]string{
		`{`: "*json.SyntaxError", `[]`: "it is of kind array", `{"v":2}`: "version 2", `{}`: "version 0",
		`{"v":1,"position":31612345678}`:                     "field position is of kind number",
		`{"v":1,"position":{"due":"+31612345678"}}`:          "*time.ParseError",
		`{"v":1,"position":{"tries":31612345678.5}}`:         "field position.tries is of kind number, want int",
		`{"v":1,"values":{},"locale":{"de":"+31612345678"}}`: "field locale is of kind object, want string",
	} {
		c, err := flow.DecodeChat([]byte(s))
		if !errors.Is(err, botmesh.ErrStranded) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "31612345678") {
			t.Errorf("%s: got %+v, error %v, want ErrStranded with %q alone", s, c, err, why)
		}
	}
}

// What is written today must be read by every later build.
func TestTheEncodingIsKept(t *testing.T) {
	t.Parallel()
	const stored = `{"v":1,"position":{"flow":"trip","step":"days","state":{"to":"Rome","days":0},"asked":2,"wait":"0b5b33b0d901","shape":"b8b1ea929833"},"values":{"visits":3}}`
	f := tripFlow()
	p, err := f.Start(wrote(t, 1, "/trip"))
	pos := at(t, p, err, askTo, trip{})
	p, err = f.Answer(wrote(t, 2, "Rome"), pos)
	pos = at(t, p, err, askDays, trip{To: "Rome"})
	got, err := flow.Chat{Position: &pos, Values: map[string]json.RawMessage{"visits": json.RawMessage(`3`)}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, string(got)); diff != "" {
		t.Errorf("encoding (-stored +got):\n%s", diff)
	}
}

func FuzzDecodeChat(f *testing.F) {
	f.Add([]byte(`{"v":1,"position":{"flow":"trip","step":"to","state":{},"wait":"w","shape":"s"},"values":{"a":1}}`))
	f.Add([]byte(`{"v":1,"values":{"a":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := flow.DecodeChat(b)
		if err != nil {
			return
		}
		once, err := c.Encode()
		if err != nil {
			t.Fatalf("%q is read and can not be written: %v", b, err)
		}
		c, err = flow.DecodeChat(once)
		if err != nil {
			t.Fatalf("%q is written and can not be read: %v", once, err)
		}
		if twice, err := c.Encode(); err != nil || string(twice) != string(once) {
			t.Fatalf("got %q, %v, want %q again", twice, err, once)
		}
	})
}

// DESIGN §7: fingerprints are of the wait, not of wording.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	type other struct {
		To, Days string
	}
	base := flow.New[trip]("trip")
	flow.Ask(base, askTo, ask.Choice[size]("s", "m"), "Where to?", end[size], flow.To(askDays))
	flow.Ask(base, askDays, ask.Int(), "How long?", end[int])
	wait, shape := prints(t, base)

	reworded := flow.New[trip]("trip", flow.Trigger("/other"))
	flow.Ask(reworded, askTo, ask.Choice[size]("m", "s").Labels("Medium", "Small"), "Which one?", end[size], flow.To(askDays), flow.Hint("Hm?"))
	flow.Ask(reworded, askDays, ask.Int().Range(1, 2), "Days?", end[int])
	if w, s := prints(t, reworded); w != wait || s != shape {
		t.Errorf("other words, order and bounds: got %s %s, want %s %s", w, s, wait, shape)
	}

	choice := flow.New[trip]("trip")
	flow.Ask(choice, askTo, ask.Choice[size]("s", "m", "l"), "Where to?", end[size], flow.To(askDays))
	flow.Ask(choice, askDays, ask.Int(), "How long?", end[int])
	if w, s := prints(t, choice); w == wait || s == shape {
		t.Errorf("another value: got %s %s, want both changed", w, s)
	}

	way := flow.New[trip]("trip")
	flow.Ask(way, askTo, ask.Choice[size]("s", "m"), "Where to?", end[size])
	flow.Ask(way, askDays, ask.Int(), "How long?", end[int])
	if w, s := prints(t, way); w != wait || s == shape {
		t.Errorf("another way on: got %s %s, want only the shape changed", w, s)
	}

	state := flow.New[other]("trip")
	endOther := func(c *flow.C[other], _ size) flow.Next { return c.End() }
	flow.Ask(state, "to", ask.Choice[size]("s", "m"), "Where to?", endOther, flow.To[other]("days"))
	flow.Ask(state, "days", ask.Int(), "How long?", func(c *flow.C[other], _ int) flow.Next { return c.End() })
	if w, s := prints(t, state); w != wait || s == shape {
		t.Errorf("another state: got %s %s, want only the shape changed", w, s)
	}

	kind := flow.New[trip]("trip")
	flow.Ask(kind, askTo, ask.Text(), "Where to?", end[string], flow.To(askDays))
	flow.Ask(kind, askDays, ask.Int(), "How long?", end[int])
	if w, s := prints(t, kind); w == wait || s == shape {
		t.Errorf("another kind of answer: got %s %s, want both changed", w, s)
	}
}

// prints are the fingerprints of a flow's first wait and of the flow.
func prints(t *testing.T, f flow.Definition) (wait, shape string) {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := f.Start(wrote(t, 1, "go"))
	if err != nil {
		t.Fatal(err)
	}
	return p.Wait, p.Shape
}
