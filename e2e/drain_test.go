package e2e

import (
	"testing"
	"time"
)

// Each process is asked to end, once it did starts again, and the next one follows,
// as in a deploy.
//
// SPEC: H8 W3 T3 J1
func TestRollingRestartRepeatsAndLosesNothing(t *testing.T) { // alone: it loads the machine
	s := started(t, nil)
	steady := load{chats: 64, messages: 50, pause: 100 * time.Millisecond}.begin(s.within(time.Minute), s)
	for _, r := range s.Replicas() {
		s.ReadDoubt(t.Context(), r)
		code, err := r.Term(s.within(20 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 {
			t.Errorf("got exit code %d from %s, want 0", code, r.Name)
		}
		if err := r.Start(s.within(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	s.verify(want)
	if doubt, late := s.Doubt(t.Context()); doubt.Counted > late {
		t.Errorf("got %d sends in doubt, want none: a drain leaves nothing open", doubt.Counted)
	}
}
