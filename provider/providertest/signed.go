package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// SignedBody checks that r's signature covers the raw body: one changed byte is
// answered 401, and so is the same JSON written anew.
func SignedBody(t *testing.T, r provider.Receiver, samples []Sample) {
	t.Helper()
	rewritten, h := 0, open(t, r)
	for _, s := range samples {
		if err := r.Verify(s.Header, s.Body); err != nil {
			t.Fatalf("%s: got %v, want the sample signed", s.Name, err)
		}
		for i := range s.Body {
			if i >= 1<<10 && i < len(s.Body)-1<<10 {
				continue // of a long body the ends will do
			}
			body := bytes.Clone(s.Body)
			body[i] ^= 1
			h.refused(t, s.Header, body, fmt.Sprintf("%s with byte %d of the body changed", s.Name, i))
		}
		var v any
		if json.Unmarshal(s.Body, &v) != nil {
			continue // a form
		}
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(body, s.Body) {
			continue
		}
		rewritten++
		h.refused(t, s.Header, body, s.Name+" with its JSON written anew")
	}
	h.holds(t, "nothing signed", nil)
	if rewritten == 0 {
		t.Error("got no sample whose JSON differs when it is written anew, want one")
	}
}

// Stale checks that a receiver whose clock is more than tolerance off the time at
// which s was signed answers it 401, early as late, and journals it within.
func Stale(t *testing.T, at func(now time.Time) provider.Receiver, s Sample, signed time.Time, tolerance time.Duration) {
	t.Helper()
	for off, good := range map[time.Duration]bool{
		-tolerance - time.Second: false, -tolerance: true, 0: true, tolerance: true, tolerance + time.Second: false,
	} {
		h, want := open(t, at(signed.Add(off))), s.Want
		if good {
			h.accepted(t, s)
		} else {
			want = nil
			h.refused(t, s.Header, s.Body, off.String()+" off")
		}
		h.holds(t, off.String()+" off", want)
	}
}
