package outbox

import "time"

// moment is a point in time on both clocks of this machine. A machine that was
// suspended finds its monotonic clock where it was, an operator may set the wall
// clock back: who must stop in time goes by the later of the two, who must wait
// long enough by the one that nobody sets.
type moment struct {
	mono time.Duration
	wall time.Time
}

// newClock reads both clocks.
func newClock() func() moment {
	start := time.Now()
	return func() moment {
		now := time.Now()
		return moment{now.Sub(start), now.Round(0)}
	}
}

// atMost is the longest that may have passed since m.
func (m moment) atMost(now moment) time.Duration {
	return max(now.mono-m.mono, now.wall.Sub(m.wall))
}

// atLeast is what has certainly passed since m.
func (m moment) atLeast(now moment) time.Duration { return now.mono - m.mono }
