package flow

import (
	"slices"

	"github.com/botmesh-go/botmesh"
)

// Arm sets a timer when the run has ended well, in place of an armed one of the same
// name. When it is due the handler of its kind runs, which is its name up to the first
// slash: on whichever replica is alive, in order with the chat's messages.
func (t *Turn) Arm(timer botmesh.Timer) {
	if t.muted {
		return
	}
	t.arm = append(without(t.arm, timer.Name), timer)
}

// Disarm takes a timer back when the run has ended well. One that is not armed is no
// error; one that fires all the same has no effect.
func (t *Turn) Disarm(name string) {
	if t.muted {
		return
	}
	t.arm, t.disarm = without(t.arm, name), append(t.disarm, name)
}

func without(timers []botmesh.Timer, name string) []botmesh.Timer {
	return slices.DeleteFunc(timers, func(t botmesh.Timer) bool { return t.Name == name })
}

// Timer is the timer that fired, in a turn of one.
func (t *Turn) Timer() botmesh.Timer { return t.run.Timer }

// Timers are what the run armed and took back so far.
func (t *Turn) Timers() (arm []botmesh.Timer, disarm []string) {
	return slices.Clone(t.arm), slices.Clone(t.disarm)
}
