package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// inboxByName is the journal as a server has it: whatever stream has the name now.
type inboxByName struct {
	jet.Stream
	w *world
	// before is called before the next read of a chat's records.
	before atomic.Pointer[func()]
}

func (s *inboxByName) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	if do := s.before.Swap(nil); do != nil {
		(*do)()
	}
	return s.w.stream("INBOX").Range(ctx, subject, from, limit)
}

func (s *inboxByName) Info(ctx context.Context) (jet.Info, error) {
	return s.w.stream("INBOX").Info(ctx)
}

// The journal is made anew between a nudge and the read of its record. What is read
// stands at sequences of the old one and is not taken for it: nothing is run out of
// its order, nor under an id of the old journal.
//
// DESIGN: C5 I2. HOLE: H6.
func TestARecordOfANewJournalIsNotTakenForOneOfTheOld(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var inbox *inboxByName
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind != "INBOX" || inbox != nil {
				return s
			}
			inbox = &inboxByName{Stream: s, w: w}
			return inbox
		}
		var ran list[string]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			ran.add(fmt.Sprintf("%s of %s.%d", r.Record.Message.Text, r.Record.Epoch, r.Record.Seq))
			return o, nil
		}
		w.start()
		w.post("a", "zero")
		w.settled(time.Minute)
		before := func() {
			time.Sleep(time.Millisecond) // no two records are of one moment
			w.recreate("e2")
			for _, text := range []string{"one", "two", "three"} {
				w.post("a", text)
			}
		}
		inbox.before.Store(&before)
		w.post("a", "lost with the old journal")
		w.waitFor(func() bool { return inbox.before.Load() == nil })
		time.Sleep(time.Second)
		w.start()
		w.settled(time.Minute)
		want := []string{"zero of e1.1", "one of e2.1", "two of e2.2", "three of e2.3"}
		if diff := cmp.Diff(want, ran.all()); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		w.judge("a", 4, false)
	})
}

// A replica that was told to stop before the journal was made anew commits once more,
// after the sweep of the new one. It looks before it leaves, and another sweep finds
// what it left.
//
// DESIGN: C5.
func TestWhatADrainLeavesUnderAnOldJournalIsSwept(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		first := true
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind != "INBOX" || !first {
				return s
			}
			first = false
			return &inboxByName{Stream: s, w: w}
		}
		w.platform.rule = func(string, string, int) error { return provider.Retry(errNo, time.Minute) }
		w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			time.Sleep(5 * time.Second) // within Drain
			return o, nil
		}
		a := w.start()
		w.post("a", "x")
		w.waitFor(func() bool { return w.bot.ran() == 1 })
		a.stop()
		w.recreate("e2")
		w.start() // sweeps: nothing is left as yet
		<-a.done
		w.platform.mu.Lock()
		w.platform.rule = nil
		w.platform.mu.Unlock()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 1 })
		w.settled(10 * time.Minute)
		w.judge("a", 1, false)
	})
}

// unswept is a store that the mark of a sweep never reaches.
type unswept struct{ jet.Stream }

func (s unswept) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	if strings.HasSuffix(p.Subject, "._swept") {
		return jet.Ack{}, botmesh.ErrRefused
	}
	return s.Stream.Publish(ctx, p)
}

// The journal is made anew, and its replica dies, before it was ever noted which journal
// is swept: what it left is found all the same.
//
// DESIGN: C5.
func TestAJournalMadeAnewAtOnceIsSwept(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind != "CP" {
				return s
			}
			return unswept{s}
		}
		w.platform.rule = func(string, string, int) error { return provider.Retry(errNo, time.Minute) }
		a := w.start()
		w.post("a", "x")
		w.waitFor(func() bool { return w.bot.ran() == 1 })
		time.Sleep(time.Second)
		a.gate.kill()
		w.recreate("e2")
		w.wrap, w.platform.rule = nil, nil
		w.start()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 1 })
		w.settled(10 * time.Minute)
		w.judge("a", 1, false)
	})
}
