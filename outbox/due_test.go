package outbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// A run that goes on for long sends, and the platform wants a pause. Nobody waits for
// the letter: it is called when its time has come all the same, and what was sent after
// it follows.
func TestWhatIsPutOffDuringATenureIsCalledInIt(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.process("p1")
		busy := 2
		p.answer = func(context.Context, string) error {
			if busy--; busy >= 0 {
				return provider.Retry(errors.New("too many"), 3*time.Second)
			}
			return nil
		}
		d := p.Deliver(w.Context(), chatA)
		d.Put(p.append("a"))
		time.Sleep(time.Second)
		d.Put(p.append("b"))
		began := time.Now()
		want(w, "calls after a second", len(w.called()), 1)
		time.Sleep(6 * time.Second)
		want(w, "when the last was called", w.lastCall().at.Sub(began), 5*time.Second)
		p.end(d)
		want(w, "what was taken", w.taken, []string{"a", "b"})
	})
}
