package flow

import "github.com/botmesh-go/botmesh"

// OnChanged decides how a chat goes on that waits at a step which this build does not have
// any more, and which no step [Was]: Goto leads on, with the state as it is, End ends the
// flow. gone is the name of that step. What the user has just said is in c, and is no
// answer to anything. Without it the chat is stranded: [ErrStranded].
func (f *Flow[S]) OnChanged(handler func(c *C[S], gone string) Next) {
	if f.changed != nil {
		f.fault("OnChanged is set twice")
	}
	f.changed = handler
}

// goneStep is a step of an earlier build, whose body is OnChanged.
func (f *Flow[S]) goneStep(id string) *step[S] {
	if f.changed == nil {
		return nil
	}
	return &step[S]{id: id, body: gone[S]{f.changed, id}}
}

type gone[S any] struct {
	changed func(c *C[S], gone string) Next
	id      string
}

func (b gone[S]) enter(c *C[S], _ *Position) (Next, error) { return b.changed(c, b.id), nil }

func (b gone[S]) answer(c *C[S], _ *Position, _ botmesh.Message) (Next, error) {
	return b.changed(c, b.id), nil
}

func (b gone[S]) again(c *C[S], _ *Position, hint string) (Next, error) {
	if hint != "" {
		c.Say(hint)
	}
	return b.changed(c, b.id), nil
}
