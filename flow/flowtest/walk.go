package flowtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Bounds of a walk.
const (
	walks      = 100 // conversations
	walkLength = 40  // records of each
)

// junk is what a user writes who does not read the question.
var junk = []string{"", "?", "no idea", "-1", "0", "1", "7", "99999999999999999999", "yes", "no", "2026-12-24", "ana@example.com", "+49 30 123456", "12.50", strings.Repeat("long ", 200)}

// Walk plays a flow at random: presses every button, writes answers that fit and
// ones that do not, goes back, cancels and lets time pass, for two thousand records that are the
// same each time. It fails the test, with the conversation that led there, at the
// first error of a handler, way to a step that is not there, question without a
// text, or turn after which the user has nothing to go on; and, at the end, for
// steps that it never came to. Each record is run twice, as with [Player.Repeated].
//
// The answers are texts that the flow's questions take, so that the walk comes
// through; buttons it finds by itself.
func Walk(t testing.TB, f flow.Definition, answers ...string) {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatalf("the flow is not valid:\n%v", err)
	}
	if len(f.Steps()) == 0 {
		t.Fatalf("flow %s is a live conversation, whose runs can not be repeated: play it", f.Name())
	}
	seen := map[string]bool{}
	for n := range uint64(walks) {
		w := &walk{chat: newChat(alone{f, seen}), rand: rand.New(rand.NewPCG(n, n)), answers: answers}
		if err := w.play(t.Context()); err != nil {
			t.Fatalf("walk %d: %v\nthe conversation:\n%s", n, err, w.told.String())
		}
	}
	for _, step := range f.Steps() {
		if !seen[f.Name()+"/"+step] {
			t.Errorf("step %q: never reached in %d walks, with the answers %q", step, walks, answers)
		}
	}
}

// walk is one conversation at random.
type walk struct {
	chat    *chat
	rand    *rand.Rand
	answers []string
	told    strings.Builder
}

func (w *walk) play(ctx context.Context) error {
	for range walkLength {
		if w.rand.IntN(20) == 0 && len(w.chat.armed) > 0 {
			var err error
			w.told.WriteString("~\n")
			w.chat.advance(w.chat.armed[0].At.Sub(w.chat.now), func(r botmesh.Record) bool {
				err = w.turn(ctx, r)
				return err == nil
			})
			if err != nil {
				return err
			}
			continue
		}
		r := w.choose()
		fmt.Fprintf(&w.told, "> %s\n", indented(r.Message.Text+r.Message.Payload))
		if err := w.turn(ctx, w.chat.journal(r)); err != nil {
			return err
		}
	}
	return nil
}

// turn plays one record.
func (w *walk) turn(ctx context.Context, r botmesh.Record) error {
	m := &midway{}
	o, err := w.chat.run(ctx, r, 1, m)
	if err != nil {
		return err
	}
	if err := w.chat.repeat(ctx, r, 1, m, o); err != nil {
		return err
	}
	said := w.chat.commit(o, m)
	for _, s := range said {
		writeSend(&w.told, s)
		if strings.TrimSpace(s.Shown()) == "" {
			return errors.New("the bot said a message without a text or a file")
		}
	}
	if err := w.chat.askAgain(ctx, r, said); err != nil {
		return err
	}
	at, err := flow.DecodeChat(w.chat.state)
	if err != nil {
		return err
	}
	if at.Position != nil && len(said) == 0 {
		return fmt.Errorf("at step %q the flow waits, and has said nothing", at.Position.Step)
	}
	return nil
}

// choose is what the user does next.
func (w *walk) choose() botmesh.Record {
	switch n := w.rand.IntN(20); {
	case n == 0:
		return message("/cancel")
	case n == 1:
		return message("/back")
	case n < 5:
		return message(junk[w.rand.IntN(len(junk))])
	case n < 12 && len(w.chat.buttons) > 0, len(w.answers) == 0 && len(w.chat.buttons) > 0:
		return w.chat.pressed(w.chat.buttons[w.rand.IntN(len(w.chat.buttons))])
	case len(w.answers) == 0:
		return message(junk[w.rand.IntN(len(junk))])
	}
	return message(w.answers[w.rand.IntN(len(w.answers))])
}

// alone is a bot that knows one flow, which any word begins.
type alone struct {
	f    flow.Definition
	seen map[string]bool // the steps that were entered, with their flows
}

func (b alone) Turn(ctx context.Context, run botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	at, err := flow.DecodeChat(run.State)
	if err != nil {
		return botmesh.Outcome{}, err
	}
	t := flow.NewTurn(ctx, run, m)
	var p *flow.Position
	switch {
	case at.Position == nil:
		p, err = b.f.Start(t)
	case run.Record.Type == botmesh.TypeTimer:
		var effect bool
		if p, effect, err = b.f.TimeUp(t, *at.Position); err == nil && !effect {
			err = fmt.Errorf("timer %q has no effect", t.Timer().Name)
		}
	case at.Position.Stale(run.Record):
		p, err = b.f.AskAgain(t, *at.Position, "expired")
	case t.Text() == "/cancel":
		p, err = b.f.Cancel(t, *at.Position)
	case t.Text() == "/back":
		if p, err = b.f.Back(t, *at.Position); errors.Is(err, flow.ErrFirst) {
			p, err = b.f.AskAgain(t, *at.Position, "first")
		}
	default:
		p, err = b.f.Answer(t, *at.Position)
	}
	for _, step := range t.Path() {
		b.seen[step] = true
	}
	if err != nil {
		return botmesh.Outcome{}, err
	}
	if t.CallsHuman() {
		t.Say("a person")
	}
	t.Watch(at.Position, p)
	out := botmesh.Outcome{Sends: slices.Clone(t.Sends())}
	out.Arm, out.Disarm = t.Timers()
	out.State, err = flow.Chat{Position: p}.Encode()
	return out, err
}
