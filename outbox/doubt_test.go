package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// took answers a call of one part: the platform takes it, and the process is no
// more. The receipt of the part before is written by then.
func took(p *process, part string) func(context.Context, string) error {
	return func(ctx context.Context, called string) error {
		if called == part {
			_ = sleep(ctx, time.Millisecond)
			p.w.mu.Lock()
			p.w.taken = append(p.w.taken, called)
			p.w.mu.Unlock()
			p.kill()
		}
		return nil
	}
}

// SPEC O7: a part in doubt is sent again, and its receipt says so. Of what a dead
// owner may have called the parts that exist are in doubt, at most two.
//
// Elsewhere what a process had called and not noted when it died was sent again, and
// nobody was told.
//
// FAULT: 22 https://github.com/MervinPraison/PraisonAI/issues/2328
func TestInDoubtResend(t *testing.T) {
	for _, tc := range []struct {
		text, dies, receipts string
		second               string
	}{
		{text: "1", dies: "1", receipts: "1/0.0:delivered?"},
		{text: "1,2,3", dies: "1", receipts: "1/0.0:delivered? 1/0.1:delivered? 1/0.2:delivered"},
		{text: "1,2,3", dies: "3", receipts: "1/0.0:delivered 1/0.1:delivered 1/0.2:delivered?"},
		{text: "1", dies: "1", second: "2", receipts: "1/0.0:delivered? 2/0.0:delivered?"},
	} {
		t.Run(fmt.Sprintf("%s dies in %s then %s", tc.text, tc.dies, tc.second), func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.process("a"), w.process("b")
				seq, _ := a.append(tc.text)
				a.answer = took(a, tc.dies)
				defer a.background(seq)()
				if tc.second != "" {
					seq, _ = b.append(tc.second)
				}
				b.deliver(seq)
				want(w, "receipts", w.receipts(), tc.receipts)
				last, _ := b.append("9") // nobody had called it: the doubt is over
				b.deliver(last)
				want(w, "doubt", w.lastEntry().Receipt.InDoubt, false)
			})
		})
	}
}

// SPEC O7: a part in doubt is held, and the chat goes on. What was not announced was
// not called.
//
// FAULT: 22 https://github.com/MervinPraison/PraisonAI/issues/2328
func TestInDoubtHold(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", holding), w.process("b", holding)
		seq, _ := a.append("1,2,3")
		a.answer = took(a, "2")
		defer a.background(seq)()
		b.deliver(seq)
		want(w, "calls", w.called(), []string{"a:1", "a:2", "b:3"})
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:held? 1/0.2:delivered")
		want(w, "chain", w.kinds(), "a:claim a:attempt a:receipt a:attempt b:claim b:receipt b:attempt b:receipt!")
	})
}

// SPEC O7: an operator is told of a part before its receipt says that it is held. Where
// that fails the part is put off, and not called again.
func TestAHeldPartIsSetAsideFirst(t *testing.T) {
	bubble(t, func(w *world) {
		g := grave{refuse: 1}
		a := w.process("a", holding, g.set)
		a.answer = func(context.Context, string) error { a.answer = nil; return errTook }
		seq, l := a.append("1,2")
		a.deliver(seq)
		want(w, "receipts", w.receipts(), "")
		time.Sleep(a.cfg.RetryFirst)
		a.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:held? 1/0.1:delivered")
		want(w, "calls", w.called(), []string{"a:1", "a:2"})
		if len(g.dead) != 1 || !g.dead[0].Held || !g.dead[0].InDoubt || g.dead[0].Part.ID != l.Parts[0].ID {
			t.Errorf("got %+v, want the first part, held", g.dead)
		}
	})
}

// SPEC O7: an owner of a channel that holds which died without announcing a call
// leaves nothing in doubt.
func TestClaimAloneIsNoDoubtWhereAttemptsAreWritten(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", holding), w.process("b", holding)
		seq, _ := a.append("1")
		a.setRule(when(entries(kindClaim), die))
		defer a.background(seq)()
		b.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:delivered")
	})
}

// A channel that is made to hold holds also what an owner may have called that
// still resent.
func TestHoldAfterAnOwnerThatResends(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a"), w.process("b", holding)
		seq, _ := a.append("1,2,3")
		a.answer = took(a, "1")
		defer a.background(seq)()
		b.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:held? 1/0.1:held? 1/0.2:delivered")
	})
}

// SPEC O7: a call without an answer is in doubt, too.
func TestUnknownCall(t *testing.T) {
	lost := func(p *process) func(context.Context, string) error {
		return func(context.Context, string) error { p.answer = nil; return errTook }
	}
	t.Run("resend", func(t *testing.T) {
		bubble(t, func(w *world) {
			a := w.process("a")
			a.answer = lost(a)
			seq, _ := a.append("1")
			s := a.deliver(seq)
			want(w, "put off for", time.Until(s.NotBefore), a.cfg.RetryFirst)
			time.Sleep(a.cfg.RetryFirst)
			a.deliver(seq)
			want(w, "receipts", w.receipts(), "1/0.0:delivered?")
			want(w, "attempts", w.lastEntry().Receipt.Attempts, 2)
		})
	})
	t.Run("hold", func(t *testing.T) {
		bubble(t, func(w *world) {
			a := w.process("a", holding)
			a.answer = lost(a)
			seq, _ := a.append("1,2")
			a.deliver(seq)
			want(w, "receipts", w.receipts(), "1/0.0:held? 1/0.1:delivered")
			want(w, "calls", w.called(), []string{"a:1", "a:2"})
		})
	})
	t.Run("panic", func(t *testing.T) {
		bubble(t, func(w *world) {
			a := w.process("a", holding)
			a.answer = func(context.Context, string) error { panic("a bug") }
			seq, _ := a.append("1")
			a.deliver(seq)
			want(w, "receipts", w.receipts(), "1/0.0:held?")
		})
	})
}

// SPEC O7: where the platform recognises a repeated call, nothing is in doubt and
// the policy is not asked.
//
// FAULT: 22 https://github.com/MervinPraison/PraisonAI/issues/2328
func TestIdempotentPlatform(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.process("a", holding), w.process("b", holding)
		a.idempotent, b.idempotent = true, true
		seq, _ := a.append("1,2")
		a.answer = took(a, "2")
		defer a.background(seq)()
		b.answer = func(context.Context, string) error { b.answer = nil; return errTook }
		b.deliver(seq)
		time.Sleep(time.Second)
		b.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:delivered 1/0.1:delivered")
		want(w, "calls", w.called(), []string{"a:1", "a:2", "b:2", "b:2"})
	})
}

// grave keeps what is set aside, and refuses as often as it is told to.
type grave struct {
	refuse int
	dead   []DeadSend
}

func (g *grave) set(c *Config) {
	c.Dead = func(_ context.Context, d DeadSend) error {
		if g.refuse > 0 {
			g.refuse--
			return errors.New("full")
		}
		g.dead = append(g.dead, d)
		return nil
	}
}

// SPEC O5: what the platform will never take is set aside, with its answer, and the
// chat goes on.
func TestPermanentIsSetAside(t *testing.T) {
	bubble(t, func(w *world) {
		var g grave
		a := w.process("a", g.set)
		a.answer = func(_ context.Context, part string) error {
			if part == "1" {
				return provider.Permanent(errors.New("blocked " + strings.Repeat("é", 500)))
			}
			return nil
		}
		seq, l := a.append("1,2")
		a.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:permanent 1/0.1:delivered")
		if len(g.dead) != 1 {
			t.Fatalf("dead letters: got %d, want 1", len(g.dead))
		}
		d := g.dead[0]
		want(w, "dead", fmt.Sprint(d.Letter, d.Seq, d.Epoch, d.Part.ID, d.Tries, d.InDoubt), fmt.Sprint(l.ID, seq, "e1", l.Parts[0].ID, 1, false))
		if len(d.Error) > maxError || !strings.HasPrefix(d.Error, "blocked é") {
			t.Errorf("error: got %q, want at most %d bytes of the answer", d.Error, maxError)
		}
	})
}

// A part is not settled before it is set aside: if that fails it is called again.
func TestSetAsideIsRetried(t *testing.T) {
	bubble(t, func(w *world) {
		g := grave{refuse: 1}
		a := w.process("a", g.set)
		a.answer = func(context.Context, string) error { return provider.Permanent(errors.New("blocked")) }
		seq, _ := a.append("1")
		s := a.deliver(seq)
		want(w, "settled", s.Settled, uint64(0))
		time.Sleep(time.Until(s.NotBefore))
		a.deliver(seq)
		want(w, "chain", w.kinds(), "a:claim a:retry! a:claim a:receipt!")
		want(w, "dead letters", len(g.dead), 1)
	})
}

// SPEC O5, DESIGN D7: the pauses double up to their bound; a platform that names one gets it; a
// letter that is too old is dead.
func TestRetries(t *testing.T) {
	bubble(t, func(w *world) {
		var g grave
		a := w.process("a", g.set, func(c *Config) { c.GiveUp = 10 * time.Minute })
		after := time.Duration(0)
		a.answer = func(context.Context, string) error { return provider.Retry(errors.New("busy"), after) }
		seq, _ := a.append("1")
		var pauses []string
		for range 12 {
			s := a.deliver(seq)
			if s.Settled == seq {
				break
			}
			pauses = append(pauses, time.Until(s.NotBefore).String())
			time.Sleep(time.Until(s.NotBefore))
			if len(pauses) == 3 {
				after = 42 * time.Second
			} else {
				after = 0
			}
		}
		want(w, "pauses", strings.Join(pauses, " "), "1s 2s 4s 42s 16s 32s 1m4s 2m0s 2m0s 2m0s")
		want(w, "receipts", w.receipts(), "1/0.0:permanent")
		want(w, "dead letters", len(g.dead), 1)
		want(w, "tries", g.dead[0].Tries, 11)
		want(w, "error", g.dead[0].Error, "given up after 10m0s: busy")
	})
}
