package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// The tests in this file and the next ones each try one way to misread the rules
// of the chain.

// DESIGN D1: a claim that does not say how far all is settled hides it.
func TestClaimCarriesThePosition(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.process("a"), w.process("b"), w.process("c")
		one, _ := a.append("1")
		a.deliver(one)
		two, _ := a.append("2,3")
		b.setRule(func(o op) fate {
			if o.writes(kindReceipt) {
				time.Sleep(time.Millisecond) // 3 is called meanwhile
				return die
			}
			return pass
		})
		defer b.background(two)()
		time.Sleep(time.Second)
		three, _ := a.append("4")
		c.setRule(when(entries(kindClaim), die))
		endC := c.background(three)
		time.Sleep(2 * hold) // c has claimed, and died
		defer endC()
		want(w, "chain", w.kinds(), "a:claim a:receipt! b:claim b:receipt c:claim")
		w.process("d").deliver(three)
		want(w, "calls", w.called(), []string{"a:1", "b:2", "b:3", "d:3", "d:4"})
	})
}

// DESIGN D1: a claim keeps what is known of the next part's calls.
func TestClaimCarriesTriesAndNotBefore(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.process("a"), w.process("b"), w.process("c")
		later := func(context.Context, string) error { return provider.Retry(errTook, time.Minute) }
		a.answer, c.answer = later, later
		seq, _ := a.append("1")
		a.deliver(seq)
		time.Sleep(time.Minute)
		b.setRule(when(entries(kindClaim), die))
		defer b.background(seq)()
		c.deliver(seq)
		want(w, "tries", w.lastEntry().Tries, 2)
		want(w, "chain", w.kinds(), "a:claim a:retry! b:claim c:claim c:retry!")
	})
}

// DESIGN D1: of two that saw the same free end, one owns the chain. HOLE H5
func TestClaimIsACompareAndSet(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, l := a.append("1")
		a.answer = func(ctx context.Context, _ string) error { return sleep(ctx, time.Second) }
		both := make(chan struct{})
		b.setRule(func(o op) fate {
			if o.writes(kindClaim) && o.expect == 0 {
				<-both // b read the empty chain; now a claims and calls
			}
			return pass
		})
		endB := b.background(seq)
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		synctest.Wait()
		close(both)
		a.wait(d, seq)
		a.end(d)
		synctest.Wait()
		endB()
		want(w, "calls", w.called(), []string{"a:1"})
	})
}

// DESIGN D1: the position is that of the entry which the compare-and-set names, not
// of one that was read before.
func TestClaimTakesThePositionItNames(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, _ := a.append("1")
		read := make(chan struct{})
		b.setRule(func(o op) fate {
			if o.writes(kindClaim) && o.expect == 0 {
				<-read
			}
			return pass
		})
		endB := b.background(seq)
		a.deliver(seq)
		two, _ := a.append("2")
		close(read) // b claims behind an end that is no longer one
		synctest.Wait()
		endB()
		b.deliver(two)
		want(w, "calls", w.called(), []string{"a:1", "b:2"})
	})
}

// DESIGN D1: no answer to a claim is not a yes.
func TestClaimWithoutAnswerIsNotWon(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, _ := a.append("1")
		a.setRule(when(entries(kindClaim), drop))
		endA := a.background(seq)
		time.Sleep(time.Second)
		want(w, "calls", w.called(), []string(nil))
		b.answer = func(ctx context.Context, _ string) error { return sleep(ctx, time.Second) }
		b.deliver(seq)
		a.setRule(nil)
		time.Sleep(2 * hold)
		endA()
		want(w, "calls", w.called(), []string{"b:1"})
	})
}

// DESIGN D1: a claim whose answer was lost is won by a read that shows its id.
func TestClaimIsWonByARead(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1")
		first := true
		a.setRule(func(o op) fate {
			if o.writes(kindClaim) && first {
				first = false
				return lose
			}
			return pass
		})
		a.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1"})
		want(w, "chain", w.kinds(), "a:claim a:receipt!")
	})
}

// A conflict proves nothing: a server may answer so to a correct write.
func TestClaimOutlivesAFalseConflict(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1")
		lies := 3
		a.setRule(func(o op) fate {
			if o.name == "publish" && lies > 0 {
				lies--
				return lie
			}
			return pass
		})
		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:receipt!")
	})
}

// DESIGN D3: a dead owner's chain is claimed a Hold after its entry was first seen,
// not before. SPEC O7
func TestDeadOwnerIsWaitedFor(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, _ := a.append("1")
		a.answer = func(context.Context, string) error { a.kill(); return nil }
		defer a.background(seq)()
		time.Sleep(time.Minute) // however old the entry is, b sees it now
		began := time.Now()
		b.deliver(seq)
		want(w, "wait", w.lastCall().at.Sub(began), hold)
		want(w, "calls", w.called(), []string{"a:1", "b:1"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered?")
	})
}

// DESIGN D3: what was seen counts from when it was first seen, also by an earlier tenure.
func TestDeadOwnerIsWaitedForOnce(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, _ := a.append("1")
		a.setRule(when(entries(kindClaim), die))
		defer a.background(seq)()
		began := time.Now()
		for range 3 {
			end := b.background(seq)
			time.Sleep(4 * time.Second)
			end()
		}
		b.deliver(seq)
		want(w, "wait", w.lastCall().at.Sub(began), hold)
	})
}

// DESIGN D5: a free entry ends the wait for its writer at once.
func TestFreeEntryEndsTheWait(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		one, _ := a.append("1")
		a.answer = func(ctx context.Context, _ string) error { return sleep(ctx, 4*time.Second) }
		endA := a.background(one)
		two, _ := a.append("2")
		began := time.Now()
		b.deliver(two)
		endA()
		want(w, "calls", w.called(), []string{"a:1", "b:2"})
		if took := w.lastCall().at.Sub(began); took > 4*time.Second+hold/20 {
			w.Errorf("wait for the free entry: got %v, want at most 4s and one poll", took)
		}
	})
}

// DESIGN D5: who gives the turn up with letters left frees the chain.
func TestCloseFreesTheChain(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		seq, l := a.append("1,2,3")
		inCall := make(chan struct{})
		a.answer = func(ctx context.Context, part string) error {
			close(inCall)
			return sleep(ctx, time.Second)
		}
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		<-inCall
		s := a.end(d)
		want(w, "settled", s.Settled, uint64(0))
		want(w, "chain", w.kinds(), "a:claim a:receipt!")
		began := time.Now()
		b.deliver(seq)
		want(w, "wait", time.Since(began), 0*time.Second)
		want(w, "calls", w.called(), []string{"a:1", "b:2", "b:3"})
	})
}

// DESIGN D5: an owner that found nothing to call appends a bare free entry.
func TestCloseAppendsABareFreeEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, l := a.append("1")
		claimed := make(chan struct{})
		a.setRule(func(o op) fate {
			if o.writes(kindClaim) {
				close(claimed)
				time.Sleep(time.Second)
			}
			return pass
		})
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		<-claimed
		s := a.end(d) // before the claim was answered: nothing is called any more
		want(w, "settled", s.Settled, uint64(0))
		want(w, "chain", w.kinds(), "a:claim a:free!")
		want(w, "calls", w.called(), []string(nil))
	})
}

// A tenure that was not closed keeps no other of its process from delivering.
func TestTwoTenuresOfOneProcess(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		one, l1 := a.append("1")
		first := a.Deliver(w.Context(), chatA)
		first.Put(one, l1)
		a.wait(first, one)
		two, l2 := a.append("2,3")
		a.answer = func(ctx context.Context, _ string) error { return sleep(ctx, time.Second) }
		first.Put(two, l2)
		synctest.Wait()
		a.deliver(two) // waits for the calls of the first
		a.end(first)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "a:3"})
	})
}

// A call in flight is never cut off: that would leave its part in doubt.
func TestCloseLetsTheCallEnd(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, l := a.append("1,2")
		a.answer = func(ctx context.Context, _ string) error { return sleep(ctx, 4*time.Second) }
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		synctest.Wait()
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		_, err := d.Close(ended)
		want(w, "close", err, nil)
		want(w, "chain", w.kinds(), "a:claim a:receipt!")
		want(w, "receipts", w.receipts(), "1/0.0:delivered")
	})
}
