package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

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
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered")
		if !w.lastEntry().Free {
			w.Error("got a chain that is owned, want it free")
		}
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "b:3", "b:4"})
	})
}

// A pause that ends while the turn lasts holds nothing up until the turn's end.
func TestAPauseEndsInATurn(t *testing.T) {
	bubble(t, func(w *world) {
		var paused atomic.Bool
		paused.Store(true)
		a := w.process("a", func(c *Config) {
			c.Paused = func(botmesh.ChatKey) bool { return paused.Load() }
		})
		seq, l := a.append("1")
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		time.Sleep(time.Minute)
		want(w, "calls in the pause", w.called(), nil)
		paused.Store(false)
		time.Sleep(2 * pauseLook)
		want(w, "calls after it", w.called(), []string{"a:1"})
		a.end(d)
	})
}
