package jet

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of many publishes that time out together two force one reconnect; if the next
// server is silent too, two more that began there force the next.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h health
		timeOut := func(began time.Time, wantForce, wantOK bool) {
			t.Helper()
			if got := h.timedOut(began); got != wantForce {
				t.Errorf("force: got %v, want %v", got, wantForce)
			}
			if got := h.ok(); got != wantOK {
				t.Errorf("ok: got %v, want %v", got, wantOK)
			}
		}
		first := time.Now()
		time.Sleep(time.Second)
		timeOut(first, false, true)
		timeOut(first, true, false)
		for range 5 {
			timeOut(first, false, false)
		}
		second := time.Now()
		time.Sleep(time.Second)
		timeOut(second, false, false)
		timeOut(second, true, false)

		h.answered()
		if !h.ok() {
			t.Error("got unhealthy after an answer")
		}
		third := time.Now()
		time.Sleep(time.Second)
		timeOut(third, false, true)
		h.answered()
		timeOut(third, false, true) // two, but not in a row
	})
}
