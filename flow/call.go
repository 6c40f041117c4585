package flow

import (
	"fmt"

	"github.com/botmesh-go/botmesh"
)

// maxDepth bounds how deep flows may call each other.
const maxDepth = 16

// Call adds a step that is a flow of its own. Going there begins sub with the state
// that begin makes; when sub ends, handler gets the state that it ended with, and
// returns where to go on.
//
// The two flows are one conversation: sub need not be registered with a bot, and
// one that begins at no question of its own can end at once.
func Call[S, R any](f *Flow[S], id Step[S], sub *Flow[R], begin func(S) R, handler func(c *C[S], result R) Next, opts ...StepOption) {
	f.calls = append(f.calls, sub)
	f.add(id, []string{"call " + sub.name}, opts, func(*stepOptions) body[S] {
		return &call[S, R]{id, sub, begin, handler}
	})
}

// caller is the body of a step that calls a flow, whatever its types.
type caller interface{ flow() Definition }

type call[S, R any] struct {
	id      Step[S]
	sub     *Flow[R]
	begin   func(S) R
	handler func(c *C[S], result R) Next
}

func (b *call[S, R]) flow() Definition { return b.sub }

func (b *call[S, R]) enter(c *C[S], p *Position) (Next, error) {
	if c.depth == maxDepth {
		return Next{}, fmt.Errorf("flows that call each other: more than %d", maxDepth)
	}
	c.depth++
	defer func() { c.depth-- }()
	p.Wait = fingerprint(string(b.id), "call "+b.sub.name)
	in, result, err := b.sub.start(c.Turn, b.begin(c.State))
	return b.went(c, p, in, result, err)
}

func (b *call[S, R]) answer(c *C[S], p *Position, _ botmesh.Message) (Next, error) {
	if !b.called(p) {
		return b.enter(c, p)
	}
	in, result, err := b.sub.answer(c.Turn, *p.In)
	return b.went(c, p, in, result, err)
}

func (b *call[S, R]) again(c *C[S], p *Position, hint string) (Next, error) {
	if !b.called(p) {
		return b.enter(c, p)
	}
	in, result, err := b.sub.askAgain(c.Turn, *p.In, hint)
	return b.went(c, p, in, result, err)
}

// called is false if an earlier build asked a question here, or called another flow.
func (b *call[S, R]) called(p *Position) bool { return p.In != nil && p.In.Flow == b.sub.name }

// went waits where the called flow does, or goes on with its result.
func (b *call[S, R]) went(c *C[S], p *Position, in *Position, result R, err error) (Next, error) {
	if err != nil {
		return Next{}, err
	}
	p.In = in
	if in != nil {
		return waits, nil
	}
	return anew(c, b.id, b.handler(c, result)), nil
}

// anew makes the rejection of a step without a question of its own the step's new
// beginning.
func anew[S any](c *C[S], id Step[S], next Next) Next {
	if next.kind != nextReject {
		return next
	}
	c.Say(next.hint)
	return c.Goto(id)
}
