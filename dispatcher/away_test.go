package dispatcher_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/dispatcher"
)

// A journal that is away for long is logged when it goes and when it is back.
func TestAnAbsentJournalIsLoggedOnce(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var out strings.Builder
		r := w.start(func(c *dispatcher.Config) { c.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
		for range 2 {
			r.gate.away(true)
			time.Sleep(time.Minute) // virtual
			r.gate.away(false)
			time.Sleep(time.Minute)
		}
		r.drain()
		for _, want := range []string{"the journal can not be reached", "the journal is reached again"} {
			if got := strings.Count(out.String(), want); got != 2 {
				t.Errorf("%q: got %d lines, want 2, one for each time\n%s", want, got, &out)
			}
		}
	})
}

// away makes the engines refuse everything, or no longer.
func (g *gate) away(away bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = away
}
