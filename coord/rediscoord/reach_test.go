package rediscoord

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Redis is away when all calls have failed for a while, and back when none has for
// as long. Each letter is a second: f a call that fails, a one that is answered.
//
// SPEC: T14.
func TestReach(t *testing.T) {
	t.Parallel()
	for calls, want := range map[string]string{
		"faaaa":                ".....",      // one call
		"ffffafffff":           "..........", // an answer in between
		"ffffff":               ".....!",     // five seconds
		"f    f":               "......",     // a process that stood still
		"f    ff":              "......!",
		"ffffffaaaaaa":         ".....!!!!!!.",
		"ffffffaaafaaaaaafff":  ".....!!!!!!!!!!....",
		"ffffffa    aff":       ".....!!!!!!...",
		"ffffffaaaaaafffffffa": ".....!!!!!!......!!!",
	} {
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, got := reach{after: 5 * time.Second}, ""
				for _, c := range calls {
					if c != ' ' {
						r.note(time.Now(), map[rune]error{'f': errors.New("no answer")}[c])
					}
					got += map[bool]string{true: ".", false: "!"}[r.gone().IsZero()]
					time.Sleep(time.Second) // virtual
				}
				if got != want {
					t.Errorf("away: got %s, want %s", got, want)
				}
			})
		})
	}
}
