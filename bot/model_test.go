package bot_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
)

// model is the form bot with a counter, as a reader of the package doc knows it.
type model struct {
	step   string // of the flow that waits, empty if none does
	name   string
	visits int
	tapped string // the payload of the last Yes
}

// next is what one text leads to.
func (m *model) next(seq uint64, text string) []string {
	switch text {
	case "/visit":
		m.visits++
		return []string{fmt.Sprintf("visit %d", m.visits)}
	case "/nope":
		return []string{"unknown command: /nope"}
	case "/form":
		m.step, m.name = "name", ""
		return []string{"Name?"}
	case "/other":
		return []string{"please finish form first, or /cancel"} // only while form waits
	case "/cancel":
		if m.step == "" {
			return []string{"nothing to cancel"}
		}
		m.step = ""
		return []string{"cancelled"}
	}
	switch m.step {
	case "name":
		m.step, m.name = "sure", text
		m.tapped = fmt.Sprintf("~%s:yes", base36(seq))
		return []string{"Sure?"}
	case "sure":
		if text != "yes" {
			return []string{"Please answer yes or no.\nSure?"}
		}
		m.step = ""
		return []string{m.name + ": true"}
	}
	return []string{"said: " + text}
}

// tap is what the last Yes button leads to.
func (m *model) tap() []string {
	switch {
	case m.step == "sure":
		m.step = ""
		return []string{m.name + ": true"}
	case m.step == "name":
		return []string{"that button is no longer in use\nName?"}
	}
	return []string{"that button is no longer in use"}
}

func base36(n uint64) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	s := ""
	for ; n > 0; n /= 36 {
		s = string(digits[n%36]) + s
	}
	return s
}

// SPEC: H3 H10. Any talk goes as the model says, and each of its records decides
// the same when it is run again, as after a crash.
func TestATalkGoesAsTheModelSays(t *testing.T) {
	t.Parallel()
	b := formBot().Command("/visit", countVisit)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{}
		var state []byte
		seq := uint64(0)
		turn := func(r botmesh.Record, want []string) {
			run := botmesh.Run{Record: r, State: state, Try: 1}
			out, err := b.Turn(t.Context(), run, nil)
			if err != nil {
				t.Fatalf("%+v: got error %v", r.Message, err)
			}
			if again, err := b.Turn(t.Context(), run, nil); err != nil || !cmp.Equal(out, again) {
				t.Fatalf("%+v, run again: got %+v, %v, want %+v", r.Message, again, err, out)
			}
			var got []string
			for _, s := range out.Sends {
				got = append(got, s.Text)
			}
			if !cmp.Equal(got, want) {
				t.Fatalf("%+v: got %q, want %q", r.Message, got, want)
			}
			state = out.State
			if idle := m.step == "" && m.visits == 0; (state == nil) != idle {
				t.Fatalf("got state %q of a chat that is idle and unknown: %t", state, idle)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				text := rapid.SampledFrom([]string{"/visit", "/nope", "/form", "/other", "/cancel", "Ana", "yes", "perhaps"}).Draw(t, "text")
				if text == "/other" && m.step == "" {
					t.Skip("the model has one flow")
				}
				seq++
				turn(botmesh.Record{Seq: seq, Type: botmesh.TypeMessage, Message: botmesh.Message{Text: text}}, m.next(seq, text))
			},
			"press": func(t *rapid.T) {
				if m.tapped == "" {
					t.Skip("no button yet")
				}
				seq++
				turn(botmesh.Record{Seq: seq, Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: m.tapped}}, m.tap())
			},
		})
	})
}
