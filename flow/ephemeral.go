package flow

import (
	"encoding/json"
	"time"
)

// defaultTTL is how long a flow that is not kept waits after it was handed over, if
// nothing else says so.
const defaultTTL = 5 * time.Minute

// Ephemeral makes a flow that is not kept: it lives with the process that began it. What
// becomes of it when another one gets its chat, in a deploy or after a crash, the bot
// decides for all of its flows. By default it is forgotten, and the user's message is one
// like any other; it may also go on there, within ttl of its last question. A ttl of zero
// is the flow's [Timeout], or else what the bot says, or five minutes.
//
// Of flows that call each other the outermost decides.
func Ephemeral(ttl time.Duration) Option {
	return optionFunc(func(o *options) { o.ephemeral, o.ttl = true, ttl })
}

// Brief says of a position that its flow is not kept.
type Brief struct {
	// Forward says that another process may go on, until Until. Without it, Until is when
	// nobody waits for the conversation any more.
	Forward bool      `json:"forward,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	// Lost says that another process had the chat, and the flow may not go on.
	Lost bool `json:"lost,omitempty"`
}

// Brief is what is noted of a position of the flow at the end of a turn, nil if the flow
// is kept. A ttl is used where the flow has none of its own.
func (f *Flow[S]) Brief(p Position, now time.Time, forward bool, ttl time.Duration) *Brief {
	if !f.ephemeral {
		return nil
	}
	if !forward {
		return &Brief{}
	}
	for _, d := range []time.Duration{f.ttl, f.options.timeout.after, ttl, defaultTTL} {
		if d > 0 {
			ttl = d
			break
		}
	}
	until := now.Add(ttl).Round(0).UTC()
	for in := &p; in != nil; in = in.In { // never before the wait's own time is up
		if in.Due.After(until) {
			until = in.Due
		}
	}
	return &Brief{Forward: true, Until: until}
}

// Fits reports whether a conversation that waits at p goes on here just as in the build
// that asked: the flow is the same, or the question that is open is, under its name or a
// former one. Of a script it is known only if the flow is the same.
func (f *Flow[S]) Fits(p Position) bool {
	if p.Flow != f.name {
		return false
	}
	s := f.step(p.Step)
	var state S
	if s == nil || json.Unmarshal(p.State, &state) != nil {
		return false
	}
	if called, ok := s.body.(caller); ok && p.In != nil {
		return called.flow().Fits(*p.In)
	}
	q, ok := s.body.(*question[S])
	return p.Shape == f.shape() || ok && p.Wait == fingerprint(p.Step, q.spec)
}

// Here is true: all that a flow needs is in its position.
func (f *Flow[S]) Here(*Turn, Position) bool { return true }

// IsLost reports whether a flow waits at p that may not go on.
func (p *Position) IsLost() bool { return p != nil && p.Brief != nil && p.Brief.Lost }
