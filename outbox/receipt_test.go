package outbox

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// written is what p published as entries of a kind.
func written(p *process, k kind) []op {
	return slices.DeleteFunc(slices.Clone(p.ops()), func(o op) bool { return !o.writes(k) })
}

// DESIGN D4: an entry whose answer was lost is sent again as it was, free mark and
// pause included, whatever came meanwhile.
func TestRepeatedEntryIsIdentical(t *testing.T) {
	for _, k := range []kind{kindReceipt, kindRetry} {
		t.Run(string(k), func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a")
				one, l1 := a.append("1")
				if k == kindRetry {
					a.answer = func(context.Context, string) error { return provider.Retry(errTook, time.Minute) }
				}
				lost := 0
				a.setRule(func(o op) fate {
					if o.writes(k) && lost < 5 {
						lost++
						return drop
					}
					return pass
				})
				d := a.Deliver(w.Context(), chatA)
				d.Put(one, l1)
				synctest.Wait()
				two, l2 := a.append("2") // would make the receipt of 1 one that is not free
				d.Put(two, l2)
				a.wait(d, two)
				a.end(d)
				first := written(a, k)[:6]
				for _, o := range first {
					want(w, "entry", o.data, first[0].data)
					want(w, "place", o.expect, first[0].expect)
				}
				want(w, "free", first[0].entry.Free, true)
			})
		})
	}
}

// DESIGN D4: a receipt that can not be written is written again, and its part never
// called again. HOLE H13
func TestReceiptIsInsistedOn(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1,2,3")
		began := time.Now()
		a.setRule(func(o op) fate {
			if o.writes(kindReceipt) && time.Since(began) < time.Hour {
				return refuse
			}
			return pass
		})
		end := a.background(seq)
		time.Sleep(59 * time.Minute)
		want(w, "calls", w.called(), []string{"a:1", "a:2"}) // one delivered receipt may be outstanding
		time.Sleep(2 * time.Minute)
		end()
		want(w, "calls", w.called(), []string{"a:1", "a:2", "a:3"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered 1/0.2:delivered")
	})
}

// DESIGN D4: a tenure that was cut off leaves its receipt to the next one of the process.
func TestReceiptIsWrittenByTheNextTenure(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, l := a.append("1,2,3")
		a.setRule(when(entries(kindReceipt), drop))
		d := a.Deliver(w.Context(), chatA)
		d.Put(seq, l)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, err := d.Close(ctx)
		want(w, "close", err, context.DeadlineExceeded)
		a.setRule(nil)
		a.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "a:3"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered 1/0.2:delivered")
	})
}

// DESIGN D4: what comes of an unknown call is written before anything else is called.
func TestUnknownCallIsSettledFirst(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, _ := a.append("1,2,3")
		a.answer = func(ctx context.Context, part string) error {
			if part == "2" {
				a.answer = nil
				<-ctx.Done()
				return errTook
			}
			return nil
		}
		a.setRule(when(entries(kindRetry), drop))
		end := a.background(seq)
		time.Sleep(hold)
		want(w, "calls", w.called(), []string{"a:1", "a:2"})
		a.setRule(nil)
		time.Sleep(2 * time.Second)
		end()
		time.Sleep(a.cfg.RetryFirst)
		a.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "a:2", "a:3"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered? 1/0.2:delivered")
	})
}

// DESIGN D4: a part that the platform refused is written down before the next is
// called: a successor that calls it again would otherwise do so behind the next.
func TestRefusedPartIsSettledFirst(t *testing.T) {
	for name, answer := range map[string]error{
		"permanent": provider.Permanent(errTook),
		"retry":     provider.Retry(errTook, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.process("a")
				seq, _ := a.append("1,2,3")
				a.answer = func(ctx context.Context, part string) error {
					if part == "2" {
						return answer
					}
					return nil
				}
				a.setRule(func(o op) fate {
					if o.writes(kindRetry) || o.writes(kindReceipt) && o.entry.Receipt.Error != "" {
						return drop
					}
					return pass
				})
				end := a.background(seq)
				time.Sleep(hold)
				want(w, "calls", w.called(), []string{"a:1", "a:2"})
				a.setRule(nil)
				end()
			})
		})
	}
}

// DESIGN D5: nobody claims or calls before the chain's pause is over. HOLE H26
func TestNobodyCallsBeforeNotBefore(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		one, _ := a.append("1")
		a.answer = func(context.Context, string) error { return provider.Retry(errTook, time.Minute) }
		until := time.Now().Add(time.Minute)
		s := a.deliver(one)
		want(w, "put off until", s.NotBefore.Equal(until), true)
		two, l2 := a.append("2")
		for _, p := range []*process{a, b} {
			p.answer = nil
			began := time.Now()
			d := p.Deliver(w.Context(), chatA)
			d.Put(two, l2)
			s := p.wait(d, two)
			p.end(d)
			want(w, "put off until", s.NotBefore.Equal(until), true)
			want(w, "settled", s.Settled, uint64(0))
			want(w, "wait", time.Since(began), 0*time.Second)
		}
		want(w, "chain", w.kinds(), "a:claim a:retry!")
		want(w, "calls", w.called(), []string{"a:1"})

		st, err := b.Standing(w.Context(), chatA)
		want(w, "standing", err, nil)
		want(w, "put off until", st.NotBefore.Equal(until), true)
		time.Sleep(time.Minute)
		st, err = b.Standing(w.Context(), chatA)
		want(w, "standing", err, nil)
		want(w, "put off", st.NotBefore.IsZero(), true)
		b.deliver(two)
		want(w, "calls", w.called(), []string{"a:1", "b:1", "b:2"})
	})
}

// DESIGN D4 D6: the usual letter costs a claim and a receipt, and nothing is read. A letter
// of several parts has a receipt for each. What another replica delivered costs
// one read.
func TestCostOfALetter(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b")
		d := a.Deliver(w.Context(), chatA)
		a.wait(d, 0)
		for i, text := range []string{"1", "2", "3,4,5"} {
			seq, l := a.append(text)
			before := len(a.ops())
			d.Put(seq, l)
			a.wait(d, seq)
			switch got := names(a.ops()[before:]); {
			case i == 0:
				want(w, "first letter", got, []string{"last", "publish", "publish"})
			case i == 1:
				want(w, "next letter", got, []string{"publish", "publish"})
			case i == 2:
				want(w, "three parts", got, []string{"publish", "publish", "publish", "publish"})
			}
		}
		a.end(d)

		seq, l := b.append("6")
		d = b.Deliver(w.Context(), chatA)
		before := len(b.ops())
		d.Put(seq, l)
		b.wait(d, seq)
		want(w, "another replica", names(b.ops()[before:]), []string{"last", "publish", "publish"})
		b.end(d)
		want(w, "another replica", len(b.ops())-before, 3)

		seq, l = b.append("6")
		d = b.Deliver(w.Context(), chatA)
		before = len(b.ops())
		d.Put(seq, l)
		b.wait(d, seq)
		want(w, "the same again", names(b.ops()[before:]), []string{"publish", "publish"})
		b.end(d)

		// What a knew is old. It sees that by the letter before, and does not try.
		seq, l = a.append("7")
		d = a.Deliver(w.Context(), chatA)
		before = len(a.ops())
		d.Put(seq, l)
		a.wait(d, seq)
		want(w, "back again", names(a.ops()[before:]), []string{"last", "publish", "publish"})
		a.end(d)
		for _, p := range []*process{a, b} {
			want(w, "reads that any replica may answer", slices.Contains(names(p.ops()), "range"), false)
		}
	})
}

func names(ops []op) []string {
	var s []string
	for _, o := range ops {
		s = append(s, o.name)
	}
	return s
}

// DESIGN D4: a deposed leader that shows an older end of the chain does not talk a
// process out of its receipt.
func TestReceiptOutlivesADeposedLeader(t *testing.T) {
	bubble(t, func(w *world) {
		a, began := w.process("a"), time.Now()
		seq, _ := a.append("1")
		deposed := func() bool { return time.Since(began) < 5*time.Second }
		a.line.Stream = memoryAt{w.stream, func() uint64 {
			if deposed() {
				return seq
			}
			return math.MaxUint64
		}}
		a.setRule(func(o op) fate {
			if o.writes(kindReceipt) && deposed() {
				return drop
			}
			return pass
		})
		a.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered")
	})
}
