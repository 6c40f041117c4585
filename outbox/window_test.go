package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// DESIGN D2: an owner that froze between its claim and its call does not call.
func TestFrozenOwnerDoesNotCall(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, l := a.append("1")
		a.line.then = func(o op) {
			if o.writes(kindClaim) && o.expect == 0 {
				time.Sleep(2 * hold)
			}
		}
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		synctest.Wait()
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"b:1"})
		a.wait(d, seq)
		a.end(d)
		want(w, "calls", w.called(), []string{"b:1"})
	})
}

// DESIGN D2: an entry gives time from when its first append began, not from when
// it was confirmed.
func TestWindowBeginsWithTheFirstAppend(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1,2")
		a.answer = func(ctx context.Context, part string) error { return sleep(ctx, hold/3) }
		var lost time.Time
		a.setRule(func(o op) fate {
			switch {
			case lost.IsZero() && o.writes(kindReceipt):
				lost = time.Now()
				return lose
			case time.Since(lost) < hold/2:
				return refuse // that it is there comes out late
			}
			return pass
		})
		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:receipt a:claim a:receipt!")
	})
}

// DESIGN D2: a claim that could not be used in time is made again.
func TestLateClaimIsMadeAgain(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1")
		a.setRule(func(o op) fate {
			if o.writes(kindClaim) && o.expect == 0 {
				time.Sleep(hold - 1)
			}
			return pass
		})
		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:claim a:receipt!")
	})
}

// DESIGN D2 N10, HOLE H24: a machine that was suspended finds its monotonic clock where it was.
func TestSuspendedMachineDoesNotCall(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1,2,3")
		clock, suspended := a.now, time.Duration(0)
		a.now = func() moment {
			m := clock()
			m.wall = m.wall.Add(suspended)
			return m
		}
		a.setRule(func(o op) fate {
			if o.writes(kindClaim) && o.expect == seq-1 {
				suspended = time.Hour // between the claim and its answer
			}
			return pass
		})
		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:claim a:receipt a:receipt a:receipt!")
	})
}

// DESIGN D2: while a free entry is on its way its writer calls nothing.
func TestFreeEntryEndsItsWritersCalls(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		one, l1 := a.append("1")
		sent := make(chan struct{})
		a.line.then = func(o op) {
			if o.writes(kindReceipt) && o.entry.Through == one {
				close(sent)
				time.Sleep(2 * time.Second)
			}
		}
		d := a.Deliver(w.Context(), chatA)
		d.Put(one, l1)
		<-sent
		two, l2 := a.append("2")
		d.Put(two, l2)
		b.answer = func(ctx context.Context, _ string) error { return sleep(ctx, 3*time.Second) }
		b.deliver(two)
		a.wait(d, two)
		a.end(d)
		want(w, "calls", w.called(), []string{"a:1", "b:2"})
	})
}

// DESIGN D2: a free entry binds its own writer too: another claim comes first.
func TestFreeEntryBindsItsWriter(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		one, l1 := a.append("1")
		d := a.Deliver(w.Context(), chatA)
		d.Put(one, l1)
		a.wait(d, one)
		two, l2 := a.append("2")
		b.answer = func(ctx context.Context, _ string) error { return sleep(ctx, time.Second) }
		endB := b.background(two) // owns the chain, and is calling
		d.Put(two, l2)
		a.wait(d, two)
		endB()
		a.end(d)
		want(w, "calls", w.called(), []string{"a:1", "b:2"})
	})
}

// DESIGN D2: an entry that names this incarnation gives it nothing unless it knows
// that it wrote it and what it called since.
func TestReadGivesNoWindow(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a", func(c *Config) { c.IdleChats = 1 })
		seq, l := a.append("1,2,3")
		calling := make(chan struct{})
		a.answer = func(ctx context.Context, part string) error {
			a.answer = nil
			close(calling)
			<-ctx.Done()
			return errTook
		}
		a.setRule(when(entries(kindRetry), drop))
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		<-calling
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		_, err := d.Close(ended)
		want(w, "close", err, context.Canceled)
		a.setRule(nil)
		other := chatA
		other.Chat = "b"
		_, _ = a.Deliver(w.Context(), other).Close(w.Context()) // takes the only place in memory

		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:claim a:receipt a:receipt a:receipt!")
		want(w, "receipts", w.receipts(), "1/0.0:delivered? 1/0.1:delivered? 1/0.2:delivered")
	})
}

// DESIGN D2: a refused receipt ends the ownership.
func TestRefusedReceiptEndsTheOwnership(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, l := a.append("1,2,3")
		thaw := make(chan struct{})
		a.setRule(func(o op) fate {
			if o.writes(kindReceipt) {
				<-thaw
			}
			return pass
		})
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		synctest.Wait()
		b.answer = func(ctx context.Context, part string) error {
			if part == "2" {
				close(thaw)
			}
			return sleep(ctx, time.Second)
		}
		b.deliver(seq)
		a.wait(d, seq)
		a.end(d)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "b:1", "b:2", "b:3"})
	})
}
