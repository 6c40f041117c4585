package flowtest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Repeated makes the rest of the chat a test of repetition: each record is run a
// second time, as after a crash just before its commit, and must decide the same;
// then the question that is open is asked again, and must be the same question.
// A handler, or a script in what it did for earlier answers, that looks at a clock,
// at chance or at the world outside flow.Do decides otherwise and fails the test.
// A live conversation is never run again, and is refused: play it without.
func (p *Player) Repeated() *Player {
	p.repeated = true
	return p
}

// repeat runs a record that decided o a second time and says how it went otherwise.
func (c *chat) repeat(ctx context.Context, r botmesh.Record, try int, m *midway, o botmesh.Outcome) error {
	for _, state := range [][]byte{c.state, o.State} {
		if at, err := flow.DecodeChat(state); err == nil && at.Position != nil && at.Position.Live != nil {
			return fmt.Errorf("flow %s is a live conversation, which is never run again: play it without Repeated", at.Position.Flow)
		}
	}
	kept := slices.Clone(m.kept)
	again, err := c.run(ctx, r, try, m)
	if err != nil {
		return fmt.Errorf("run a second time: got error %w", err)
	}
	if !reflect.DeepEqual(o, again) {
		return fmt.Errorf("run a second time, it decides otherwise (-first +second):\n%s", cmp.Diff(o, again))
	}
	if !bytes.Equal(kept, m.kept) {
		return fmt.Errorf("run a second time, it keeps something else: got %q, want %q", m.kept, kept)
	}
	return nil
}

// askAgain asks the question that r led to again, in a run that is thrown away, and
// says whether it is another than the one that was said.
func (c *chat) askAgain(ctx context.Context, r botmesh.Record, said []botmesh.Send) error {
	at, err := flow.DecodeChat(c.state)
	if open := at.Position.Open(); err != nil || open == nil || open.Asked != r.Seq {
		return err
	}
	r.Type, r.Message = botmesh.TypeCallback, botmesh.Message{Payload: "~0:"} // a button of no question that is open
	o, err := c.run(ctx, r, 1, &midway{})
	if err != nil {
		return fmt.Errorf("asked again: got error %w", err)
	}
	for _, again := range o.Sends {
		if !slices.ContainsFunc(said, func(s botmesh.Send) bool { return strings.HasSuffix(again.Text, s.Text) }) {
			return fmt.Errorf("asked again, the question is another: got %q, want the end of it in %q", again.Text, texts(said))
		}
	}
	return nil
}
