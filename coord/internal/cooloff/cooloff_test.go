package cooloff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/coord/internal/cooloff"
)

// A name cools off for as long as it was told to, and no other does.
func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n cooloff.Names
		if n.Left("a") > 0 {
			t.Error("a new name cools off")
		}
		n.Add("a", time.Minute)
		began := time.Now()
		if got := n.Left("a"); got != time.Minute || n.Left("b") > 0 {
			t.Errorf("got %s left, want a minute, and none of another name", got)
		}
		for _, w := range []struct {
			name string
			want time.Duration
		}{{"b", 0}, {"a", time.Minute}} {
			if err := n.Wait(t.Context(), w.name, nil); err != nil {
				t.Error(err)
			}
			if got := time.Since(began); got != w.want {
				t.Errorf("waited %s for %s, want %s", got, w.name, w.want)
			}
		}
	})
}

// A wait ends with its context, and when the coordinator is closed.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n cooloff.Names
		n.Add("a", time.Hour)
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if err := n.Wait(ctx, "a", nil); !errors.Is(err, why) {
			t.Errorf("got %v, want the context's cause", err)
		}
		closed := make(chan struct{})
		close(closed)
		if err := n.Wait(t.Context(), "a", closed); err != nil {
			t.Errorf("got %v of one that is closed, want no error", err)
		}
	})
}
