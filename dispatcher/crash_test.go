package dispatcher_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// turns returns the calls that a replica makes for two messages of one chat, the
// second with the chat in memory, and where they begin: after those of its start.
func turns(t *testing.T) (calls []string, begin int) {
	play(t, func(w *world) {
		r := w.start()
		begin = len(r.gate.log())
		w.post("a", "one")
		w.settled(time.Minute)
		w.post("a", "two")
		w.settled(time.Minute)
		calls = r.gate.log()
	})
	if len(calls)-begin < 14 {
		t.Fatalf("got %v, want the calls of two turns", calls)
	}
	return calls, begin
}

// inDoubt reports whether a crash at a call falls between the platform's taking a
// part and the receipt for it.
func inDoubt(calls []string, n int, v verdict) bool {
	return calls[n] == "call" && v == crashAfter ||
		n > 0 && calls[n-1] == "call" && calls[n] == "outbox publish rcpt" && v == crashBefore
}

// Whatever call a replica dies before or after, another brings the chat to the
// same end: both messages answered in order, once, but for the one answer whose
// call was under way.
//
// SPEC: J5 J6 T6 O7. DESIGN: the table of crashes of §5. HOLE: H1 H2 H3 H4 H5.
func TestACrashAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	calls, begin := turns(t)
	for n := begin; n < len(calls); n++ {
		for _, v := range []verdict{crashBefore, crashAfter} {
			t.Run(fmt.Sprintf("%s/%d %s", v, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					a := w.start()
					a.gate.set(at(n, v))
					for i := range 2 {
						w.post("a", "x")
						w.waitFor(func() bool {
							return a.gate.isDead() || len(a.d.Status().Lanes) == 0 && len(w.platform.texts("a")) == i+1
						})
					}
					if !a.gate.isDead() {
						t.Fatalf("never died: %v", a.gate.log())
					}
					w.start()
					w.settled(5 * time.Minute)
					made := a.gate.log()
					if made[n] != calls[n] {
						t.Fatalf("died at %q, want %q: %v", made[n], calls[n], made)
					}
					w.judge("a", 2, inDoubt(made, n, v))
				})
			})
		}
	}
}

// at is the rule that gives one call a verdict.
func at(n int, v verdict) func(int, string) verdict {
	return func(m int, _ string) verdict {
		if m == n {
			return v
		}
		return pass
	}
}

// judge checks what the chat's user saw of n messages. One answer may stand twice,
// next to itself, if its call was in doubt.
func (w *world) judge(chat string, n int, doubt bool) {
	w.t.Helper()
	got := w.platform.texts(chat)
	once := slices.Compact(slices.Clone(got))
	if diff := cmp.Diff(counts(n), once); diff != "" {
		w.t.Errorf("texts of %s (-want +got):\n%s\n%s", chat, diff, w.dump())
	}
	if extra := len(got) - len(once); extra > 0 && !doubt || extra > 1 {
		w.t.Errorf("got %v, want no answer twice\n%s", got, w.dump())
	}
}

func (w *world) waitFor(cond func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited ten minutes\n%s", w.dump())
		}
		time.Sleep(10 * time.Millisecond) // virtual
		synctest.Wait()
	}
}

// Every call of a turn may be refused, go unanswered, be done without an answer or
// be answered as a false conflict: the same replica, alive, brings the chat to the
// same end.
//
// SPEC: C5 T14. DESIGN: C3 C8.
func TestALostAnswerAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	calls, begin := turns(t)
	for n := begin; n < len(calls); n++ {
		for _, v := range []verdict{refuse, drop, lose, falsely} {
			if (v == lose || v == falsely) && (calls[n] == "ack" || calls[n] == "nak") {
				continue // a mark has no answer
			}
			t.Run(fmt.Sprintf("%s/%d %s", v, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				play(t, func(w *world) {
					a := w.start()
					a.gate.set(at(n, v))
					w.post("a", "one")
					w.settled(5 * time.Minute)
					w.post("a", "two")
					w.settled(5 * time.Minute)
					if got := len(a.gate.log()); got <= n {
						t.Fatalf("made %d calls, want more than %d", got, n)
					}
					w.judge("a", 2, calls[n] == "call" && v == lose)
				})
			})
		}
	}
}

var errNo = errors.New("no")
