package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// chatN is one of many chats of an account.
func chatN(account string, n int) botmesh.ChatKey {
	return botmesh.ChatKey{Provider: account, Chat: fmt.Sprint(n)}
}

// post appends a chat's first letter.
func (p *process) post(chat botmesh.ChatKey, text string) uint64 {
	p.w.Helper()
	l, err := p.Letter(botmesh.LetterID(chat, "j1", 1), chat, []botmesh.Send{{Text: text}}, time.Now(), nil)
	if err != nil {
		p.w.Fatal(err)
	}
	seq, err := p.Append(p.w.Context(), l, 0)
	if err != nil {
		p.w.Fatal(err)
	}
	return seq
}

// insist delivers a chat's letters tenure by tenure, as the nudge that stands for
// them comes again, until they are settled. It counts the tenures.
func (p *process) insist(chat botmesh.ChatKey, upTo uint64) (tenures int) {
	for {
		tenures++
		d := p.Deliver(p.w.Context(), chat)
		s, err := d.Wait(p.w.Context(), upTo)
		if _, cerr := d.Close(p.w.Context()); err != nil || cerr != nil {
			p.w.Errorf("%s: got errors %v and %v, want none", chat, err, cerr)
		}
		if s.Settled >= upTo {
			return tenures
		}
		<-time.After(time.Until(s.NotBefore))
	}
}

// limiter is a Limiter by two functions.
type limiter struct {
	allow func(Demand) time.Duration
	stop  func(d Demand, account bool, pause time.Duration)
}

func (l limiter) Allow(_ context.Context, d Demand) time.Duration { return l.allow(d) }
func (l limiter) Stop(_ context.Context, d Demand, account bool, pause time.Duration) {
	l.stop(d, account, pause)
}

// A part over the limits is put off by an entry that is free: nobody sleeps for it,
// no try is spent, and whoever has the chat then goes on, as one who waited.
//
// SPEC: O4 O5. DESIGN: D5 D6
func TestPartsOverTheLimitsArePutOff(t *testing.T) {
	bubble(t, func(w *world) {
		var asked []string
		pauses := []time.Duration{0, 7 * time.Second, 0, time.Hour}
		limits := limiter{allow: func(d Demand) time.Duration {
			asked = append(asked, fmt.Sprintf("%s/%s:%v", d.Account, d.Limits.Address, d.Waited))
			pause := pauses[0]
			pauses = pauses[1:]
			return pause
		}}
		a := w.process("A", func(c *Config) { c.Limiter = limits })
		b := w.process("B", func(c *Config) { c.Limiter = limits })
		seq, _ := a.append("1,2,3")
		began := time.Now()
		s := a.deliver(seq)
		want(w, "passed", time.Since(began), 0)
		want(w, "not before", s.NotBefore.Sub(began), 7*time.Second)
		want(w, "chain", w.kinds(), "A:claim A:receipt A:wait!")
		want(w, "tries", w.lastEntry().Tries, 0)
		<-time.After(7 * time.Second)
		b.deliver(seq)
		want(w, "called", fmt.Sprint(w.called()), "[A:1 B:2]")
		want(w, "chain", w.kinds(), "A:claim A:receipt A:wait! B:claim B:receipt B:wait!")
		want(w, "asked", fmt.Sprint(asked), "[test/a:false test/a:false test/a:true test/a:false]")
	})
}

// On a channel that holds what is in doubt, the call that was not made is not in doubt.
//
// SPEC: O5 O7
func TestPartsThatAreHeldBackAreNotInDoubt(t *testing.T) {
	bubble(t, func(w *world) {
		pause := time.Minute
		a := w.process("A", holding, func(c *Config) {
			c.Limiter = limiter{allow: func(Demand) time.Duration { return pause }}
		})
		seq, _ := a.append("1")
		a.deliver(seq)
		want(w, "chain", w.kinds(), "A:claim A:wait!")
		<-time.After(pause)
		pause = 0
		a.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:delivered")
	})
}

// A letter that would wait for too long is dead, whoever wants it to wait.
func TestWaitingHasAnEnd(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("A", func(c *Config) {
			c.Limiter = limiter{allow: func(Demand) time.Duration { return 25 * time.Hour }}
		})
		seq, _ := a.append("1")
		a.deliver(seq)
		want(w, "receipts", w.receipts(), "1/0.0:permanent")
	})
}

// What the platform says is told to the limiter, with whom it concerns.
//
// SPEC: O5
func TestTheLimiterHearsOfPauses(t *testing.T) {
	bubble(t, func(w *world) {
		answers := []error{provider.Retry(errors.New("429"), time.Minute), provider.RetryAll(errors.New("all"), time.Hour), errors.New("lost"), nil}
		var told []string
		a := w.process("A", func(c *Config) {
			c.Limiter = limiter{
				allow: func(Demand) time.Duration { return 0 },
				stop: func(d Demand, all bool, p time.Duration) {
					told = append(told, fmt.Sprintf("%s:%v:%v", d.Limits.Address, all, p))
				},
			}
		})
		a.answer = func(context.Context, string) error {
			err := answers[0]
			answers = answers[1:]
			return err
		}
		seq, _ := a.append("1")
		a.insist(chatA, seq)
		want(w, "told", fmt.Sprint(told), "[a:false:1m0s a:true:1h0m0s]")
	})
}

// patient is an account that is up or down.
type patient struct {
	id    string
	mu    sync.Mutex
	down  bool
	calls int
}

func (a *patient) ID() string                        { return a.id }
func (*patient) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }
func (a *patient) Call(context.Context, provider.Call) (provider.Sent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	if a.down {
		return provider.Sent{}, provider.Retry(errors.New("no connection"), 0)
	}
	return provider.Sent{}, nil
}

func (a *patient) set(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// An account is away for ten minutes while a hundred of its chats wait: it is
// called a few times to see, no try is spent, its chats go on when it is back, and
// the other account does not notice.
//
// SPEC: O4 O5. DESIGN: D6
func TestAnAccountThatIsDownHoldsUpNoOther(t *testing.T) {
	bubble(t, func(w *world) {
		sick, sound := &patient{id: "sick", down: true}, &patient{id: "sound"}
		a := w.process("A", func(c *Config) { c.Senders = []provider.Sender{sick, sound} })
		a.random = 0.2 // as ever; else all chats come at one moment, and whose turn it is is the runtime's choice
		var group sync.WaitGroup
		const chats = 100
		began := time.Now()
		for n := range chats {
			group.Go(func() { a.insist(chatN("sick", n), a.post(chatN("sick", n), "x")) })
		}
		for n := range chats {
			<-time.After(6 * time.Second)
			before := time.Now()
			a.insist(chatN("sound", n), a.post(chatN("sound", n), "x"))
			if took := time.Since(before); took > 0 {
				w.Errorf("the other account: got a delay of %v, want none", took)
			}
		}
		sick.mu.Lock()
		if calls := sick.calls; calls > chats+60 { // all at once first, then one in ten seconds
			w.Errorf("got %d calls in ten minutes, want few", calls)
		}
		sick.mu.Unlock()
		sick.set(false)
		group.Wait()
		if took := time.Since(began); took > 13*time.Minute {
			w.Errorf("got all delivered after %v, want soon after ten minutes", took)
		}
		for n := range chats {
			receipts, _, err := a.Receipts(w.Context(), chatN("sick", n), 0, 100)
			if err != nil || len(receipts) != 1 || receipts[0].Result != botmesh.ResultDelivered || receipts[0].Attempts > 8 {
				w.Errorf("chat %d: got %+v and error %v, want it delivered in few tries", n, receipts, err)
			}
		}
	})
}

// While one call finds out whether an account is back, after half an hour, others are
// put off for a short time: they go on as soon as it is.
//
// SPEC: O5. DESIGN: D6
func TestWhoMeetsTheCallThatFindsOutWaitsShortly(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("A")
		a.answer = func(context.Context, string) error { return provider.Retry(errors.New("no connection"), 0) }
		once := func(n int) Standing {
			chat := chatN("test", n)
			d := a.Deliver(w.Context(), chat)
			s, _ := d.Wait(w.Context(), a.post(chat, "x"))
			_, _ = d.Close(w.Context())
			return s
		}
		for n := range downCalls {
			once(n)
		}
		<-time.After(30 * time.Minute)
		up := make(chan struct{})
		a.answer = func(context.Context, string) error { <-up; return nil }
		finding := make(chan Standing)
		go func() { finding <- once(downCalls) }()
		synctest.Wait()
		want(w, "pause", time.Until(once(downCalls+1).NotBefore), 10*time.Second)
		close(up)
		want(w, "settled", (<-finding).NotBefore.IsZero(), true)
		want(w, "calls", len(w.called()), downCalls+1)
	})
}

// One chat whose calls always fail does not make its account be taken for down.
func TestOneChatIsNotTheAccount(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("A", func(c *Config) { c.Down = time.Hour })
		a.answer = func(_ context.Context, part string) error {
			if part == "bad" {
				return provider.Retry(errors.New("500"), 0)
			}
			return nil
		}
		bad := chatN("test", 1)
		seq := a.post(bad, "bad")
		for range 20 {
			d := a.Deliver(w.Context(), bad)
			s, _ := d.Wait(w.Context(), seq)
			_, _ = d.Close(w.Context())
			<-time.After(time.Until(s.NotBefore))
		}
		want(w, "tenures", a.insist(chatN("test", 2), a.post(chatN("test", 2), "good")), 1)
		if got := strings.Count(strings.Join(w.called(), " "), "bad"); got != 20 {
			w.Errorf("got %d calls, want each of the 20 made", got)
		}
	})
}

// A platform that says when to come again is not down.
func TestAPlatformThatAsksForPausesIsNotDown(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("A")
		a.answer = func(context.Context, string) error { return provider.Retry(errors.New("429"), time.Hour) }
		for n := range 20 {
			seq := a.post(chatN("test", n), "x")
			d := a.Deliver(w.Context(), chatN("test", n))
			_, _ = d.Wait(w.Context(), seq)
			_, _ = d.Close(w.Context())
		}
		synctest.Wait()
		want(w, "calls", len(w.called()), 20)
	})
}
