package dispatcher_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/dispatcher"
)

// A chat that only a newer build can serve is given back, then parked where an operator
// sees it, and goes on when such a build is there, without anybody's help.
//
// DESIGN: N8. HOLE: H16.
func TestAChatOfANewerBuildIsParkedUntilOneComes(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		newer := w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.post("a", "one")
		w.settled(time.Minute)
		newer.drain()
		older := w.start(func(c *dispatcher.Config) { c.Deploy, c.ParkAfter = 1, 3*time.Minute })
		w.post("a", "two")
		w.post("b", "one")
		time.Sleep(2 * time.Minute)
		if got := older.d.Status().Parked; len(got) != 0 {
			t.Errorf("got %+v parked after two minutes, want none before three", got)
		}
		time.Sleep(2 * time.Minute)
		got := older.d.Status().Parked
		if len(got) != 1 || got[0].Chat != "fake/a" || time.Since(got[0].Since).Round(time.Minute) != 4*time.Minute {
			t.Errorf("got %+v parked, want fake/a, since four minutes", got)
		}
		w.judge("b", 1, false)
		w.judge("a", 1, false)
		w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.settled(20 * time.Minute) // also the older one may get its nudge a few times more
		w.judge("a", 2, false)
		w.waitFor(func() bool { return len(older.d.Status().Parked) == 0 })
	})
}
