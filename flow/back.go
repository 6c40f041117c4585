package flow

import (
	"errors"
	"slices"
)

// ErrFirst says that there is no question to go back to.
var ErrFirst = errors.New("flow: there is no question before this one")

// Back asks the question before the open one, with the state as it was then. The
// error is [ErrFirst] if there is none, or it was too many questions ago.
func (f *Flow[S]) Back(t *Turn, p Position) (*Position, error) {
	m, err := f.resume(t, p)
	if err != nil {
		return nil, err
	}
	if called, ok := m.s.body.(caller); ok && p.In != nil {
		in, err := called.flow().Back(t, *p.In)
		if err == nil {
			m.p.In = in
			end, _, err := m.follow(waits, nil)
			return end, err
		}
		if !errors.Is(err, ErrFirst) {
			return nil, err
		}
	}
	switch n := len(p.Trail); {
	case f.back > 0 && len(p.Heard) > 0:
		p = p.unheard()
	case n > 0:
		trail := p.Trail[:n-1]
		p = p.Trail[n-1]
		p.Trail = trail
	default:
		return nil, ErrFirst
	}
	return f.AskAgain(t, p.askedAt(t.run.Record.Seq), "")
}

// left is the trail of what is asked after p, with p at its end.
func (p Position) left(most int) []Position {
	if most == 0 {
		return nil
	}
	trail := slices.Clone(p.Trail)
	p.Trail = nil
	trail = append(trail, p)
	return trail[max(0, len(trail)-most):]
}

// askedAt is p with its open question asked by another record, so that buttons of
// an earlier time are stale.
func (p Position) askedAt(seq uint64) Position {
	p.Asked, p.Tries = seq, 0
	if p.In != nil {
		in := p.In.askedAt(seq)
		p.In = &in
	}
	return p
}
