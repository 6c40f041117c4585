package flow

import (
	"time"

	"github.com/botmesh-go/botmesh"
)

// SettleOption is what [Settle] returns: an option of a step, or of a whole flow.
type SettleOption interface {
	Option
	StepOption
}

// Settle bounds the runs of a step in place of the worker's setting (BOTMESH_SETTLE): of
// one that asks a slow model or shop, a longer time than handlers have otherwise; of one
// that must not keep its chat waiting, a shorter one. As an option of [New] it is for
// every step that has none of its own; those of flows that it calls have theirs.
//
//	flow.Script(f, Answer, answer, flow.Settle(3*time.Minute))
//
// It is counted from where the run began. A run that goes through several steps has the
// longest of theirs. It is cut off past it, its context ends, nothing of it takes effect
// but what it kept or sent at once, and it is tried again. d is above zero and at most
// [botmesh.MaxSettle]. Meanwhile the chat's next messages wait; see [Meanwhile]. It
// prolongs no deploy: a worker that is asked to stop hands the chat over.
func Settle(d time.Duration) SettleOption { return settle{d: d, set: true} }

// settle is how long the runs of a step may take. The zero settle says nothing.
type settle struct {
	d   time.Duration
	set bool
}

func (s settle) apply(o *options)         { o.settle = s }
func (s settle) applyStep(o *stepOptions) { o.settle = s }

func (s settle) wrong() bool { return s.set && (s.d <= 0 || s.d > botmesh.MaxSettle) }

// Settle bounds this run by d, at most [botmesh.MaxSettle], zero standing for the worker's
// bound; see [botmesh.Settler]. It is for those who run bots: a step has [Settle], a
// handler that package bot holds bot.Settle.
func (t *Turn) Settle(d time.Duration) {
	if settler, ok := t.midway.(botmesh.Settler); ok {
		settler.Settle(min(d, botmesh.MaxSettle))
	}
}

// settle tells how long the step that m has come to may take. One that calls a flow and
// says nothing leaves it to that one.
func (m *move[S]) settle() {
	s := m.s.settle
	if !s.set {
		s = m.f.options.settle
	}
	if _, calls := m.s.body.(caller); !calls || s.set {
		m.c.Settle(s.d)
	}
}
