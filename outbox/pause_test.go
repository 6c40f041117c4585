package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/botmesh-go/botmesh"
)

// DESIGN N9: a pause that comes in the middle of a letter stops at the next call, what
// was called has its receipt, and the chain is free for whoever goes on.
func TestAPauseStopsBetweenCalls(t *testing.T) {
	bubble(t, func(w *world) {
		var paused atomic.Bool
		a, b := w.process("a", func(c *Config) {
			c.Paused = func(botmesh.ChatKey) bool { return paused.Load() }
		}), w.process("b")
		seq, l := a.append("1,2,3,4")
		a.answer = func(_ context.Context, part string) error {
			if part == "2" {
				paused.Store(true)
			}
			return nil
		}
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		if _, err := d.Wait(w.Context(), seq); !errors.Is(err, ErrPaused) {
			w.Errorf("got %v, want ErrPaused", err)
		}
		a.end(d)
		want(w, "calls", w.called(), []string{"a:1", "a:2"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered")
		if !w.lastEntry().Free {
			w.Error("got a chain that is owned, want it free")
		}
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "b:3", "b:4"})
	})
}
