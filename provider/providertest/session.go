package providertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	// sessionEnds bounds how long a session takes to end, with time to spare for a
	// loaded machine: the contract says two seconds.
	sessionEnds = 10 * time.Second
	// sessionWaits bounds how long anything else of a session takes.
	sessionWaits = 30 * time.Second
	// burst is more than any platform gives at once.
	burst = 230
)

// Held is a session and the platform that it is held with.
type Held struct {
	Session provider.Session
	// Offer has the platform hold messages of one chat for the session, in order.
	Offer func(texts ...string)
	// Confirmed counts the messages that the session confirmed: they do not come again.
	Confirmed func() int
}

// Session checks that a session stores all it is given, in order; confirms nothing
// before it is stored, nor what was not; loses nothing when it is ended anywhere;
// and ends in time. Hold makes a session with a platform of its own.
func Session(t *testing.T, hold func(t testing.TB) Held) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Held){
		"StoresAllInOrder":         storesAll,
		"ConfirmsOnlyWhatIsStored": confirmsStored,
		"EndsWhileNothingComes":    endsIdle,
		"EndsInOrder":              endsInOrder,
		"LostSaysNothingMore":      lostIsSilent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, hold(t))
		})
	}
}

func texts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "message " + strconv.Itoa(i)
	}
	return all
}

func storesAll(t *testing.T, h Held) {
	want := texts(burst)
	h.Offer(want...)
	run := begin(t, h.Session, &sink{})
	run.until(t, "all are stored", func() bool { return len(run.sink.texts()) >= burst })
	if diff := cmp.Diff(want, run.sink.texts()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	run.until(t, "all are confirmed", func() bool { return h.Confirmed() == burst })
	h.Offer("one more")
	run.until(t, "what comes later is stored too", func() bool { return len(run.sink.texts()) == burst+1 })
	if err := run.end(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from Run, want the cause of its end", err)
	}
	if run.sink.answers() == 0 {
		t.Error("got no Alive, want one with each answer of the platform")
	}
}

func confirmsStored(t *testing.T, h Held) {
	want := texts(burst)
	h.Offer(want...)
	storing := make(chan struct{}, 1)
	run := begin(t, h.Session, &sink{before: func(ctx context.Context) error {
		storing <- struct{}{}
		<-ctx.Done() // the journal is away
		return context.Cause(ctx)
	}})
	select {
	case <-storing:
	case <-time.After(sessionWaits):
		t.Fatal("got nothing to store, want what the platform holds")
	}
	run.end(t)
	if got := h.Confirmed(); got != 0 {
		t.Errorf("got %d confirmed, want none: nothing was stored", got)
	}
	again := begin(t, h.Session, &sink{})
	again.until(t, "all come again", func() bool { return len(again.sink.texts()) >= burst })
	if diff := cmp.Diff(want, again.sink.texts()); diff != "" {
		t.Errorf("stored by the next session (-want +got):\n%s", diff)
	}
	again.end(t)
}

func endsIdle(t *testing.T, h Held) {
	run := begin(t, h.Session, &sink{})
	h.Offer("hello")
	run.until(t, "it is stored and more is waited for", func() bool { return h.Confirmed() == 1 })
	run.end(t)
}

func endsInOrder(t *testing.T, h Held) {
	h.Offer("hello")
	run := begin(t, h.Session, &sink{after: context.Canceled})
	if err := run.wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from Run, want the cause of its end", err)
	}
	if got := h.Confirmed(); got != 1 {
		t.Errorf("got %d confirmed, want the one that was stored: who is next need not get it", got)
	}
}

func lostIsSilent(t *testing.T, h Held) {
	h.Offer("hello")
	lost := &botmesh.LeaseLostError{Key: "provider:" + h.Session.ID(), Reason: botmesh.LossStalled}
	run := begin(t, h.Session, &sink{after: lost})
	if err := run.wait(t); !errors.Is(err, botmesh.ErrLeaseLost) {
		t.Errorf("got %v from Run, want the cause of its end", err)
	}
	if got := h.Confirmed(); got != 0 {
		t.Errorf("got %d confirmed, want nothing said after the loss", got)
	}
}

// held is a session that runs.
type held struct {
	sink *sink
	done chan error
}

func begin(t *testing.T, s provider.Session, k *sink) *held {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	k.session, k.end = s, cancel
	h := &held{sink: k, done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.done <- s.Run(ctx, k)
	}()
	t.Cleanup(func() { cancel(nil); <-ended })
	return h
}

// end tells the session to end and returns what Run did.
func (h *held) end(t *testing.T) error {
	t.Helper()
	h.sink.end(context.Canceled)
	return h.wait(t)
}

func (h *held) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.done:
		if fault := h.sink.trouble(); fault != nil {
			t.Error(fault)
		}
		return err
	case <-time.After(sessionEnds):
		t.Fatalf("got no end of the session within %v, want one within two seconds", sessionEnds)
		return nil
	}
}

// until polls for an observed condition.
func (h *held) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(sessionWaits); !ok(); {
		select {
		case err := <-h.done:
			t.Fatalf("got the end %v of the session, want that %s", err, what)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so in %v: %s", sessionWaits, what)
		}
	}
}

// sink is a journal in memory.
type sink struct {
	session provider.Session
	end     context.CancelCauseFunc     // ends the session
	before  func(context.Context) error // is asked before items are stored, if set
	after   error                       // ends the session once something is stored, if set

	mu     sync.Mutex
	stored []string
	seen   map[string]bool
	alive  int
	fault  error
}

func (k *sink) Store(ctx context.Context, items [][]byte) error {
	if k.before != nil {
		if err := k.before(ctx); err != nil {
			return err
		}
	}
	for _, item := range items {
		recs, err := k.session.Parse(item)
		if err == nil {
			err = check(k.session.ID(), recs)
		}
		k.keep(recs, err)
	}
	if k.after != nil {
		k.end(k.after)
	}
	return nil
}

// keep stores what was not stored before.
func (k *sink) keep(recs []botmesh.Record, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = errors.Join(k.fault, err)
	for _, rec := range recs {
		if k.seen[rec.ID] {
			continue
		}
		if k.seen == nil {
			k.seen = map[string]bool{}
		}
		k.seen[rec.ID] = true
		k.stored = append(k.stored, rec.Message.Text)
	}
}

func (k *sink) Alive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alive++
}

func (k *sink) texts() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.stored)
}

func (k *sink) answers() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.alive
}

// trouble is what keeps items from being journaled.
func (k *sink) trouble() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault
}
