package jet

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxTimeouts in a row make a connection unhealthy and force it to another server.
// A server that is cut from its peers keeps its clients connected and answers
// nothing, for as long as the cut lasts.
const maxTimeouts = 2

// health counts the publishes that timed out since the last that was answered.
type health struct {
	run atomic.Int64

	mu     sync.Mutex
	since  int       // timeouts since forced
	forced time.Time // when the connection was last forced
}

func (h *health) ok() bool { return h.run.Load() < maxTimeouts }

// answered notes that the server answered a publish, with whatever word.
func (h *health) answered() {
	if h.run.Load() != 0 {
		h.run.Store(0)
	}
}

// timedOut notes that a publish got no answer, and reports whether the connection
// is to be made anew. Of the many that time out together only the first ones count:
// what began on the connection that was left says nothing about the new one.
func (h *health) timedOut(began time.Time) (force bool) {
	run := h.run.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if run == 1 {
		h.since = 0
	}
	if began.Before(h.forced) {
		return false
	}
	if h.since++; h.since < maxTimeouts {
		return false
	}
	h.since, h.forced = 0, time.Now()
	return true
}
