package dispatcher_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Replicas whose every call may fail in every way, that die and are replaced,
// and whose coordinator forgets: no message is lost, none answered out of order, and
// no answer comes twice unless a call was in doubt.
//
// SPEC: J4 J5 J6 O3 O4 T14. DESIGN: I1 I2 I3 I4 I7 I9 I10. HOLE: H1 H2 H3 H5 H12 H19 H28.
func TestStorm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) { storm(w, seed, func() *replica { return w.start() }, func() { w.hub.Forget() }) })
		})
	}
}

// The same, with a coordinator that is away at times, until the end or not, and
// replicas that go on without it.
//
// SPEC: J4 J5 J6 O3 O4 T14. DESIGN: C6 I1 I2 I3 I4 I7.
func TestStormWithoutACoordinator(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				var away atomic.Bool
				away.Store(seed%2 == 0)
				storm(w, seed, func() *replica { return w.optimist(&away) }, func() { away.Store(!away.Load()) })
			})
		})
	}
}

// storm starts replicas, breaks them and lets mischief happen now and then.
func storm(w *world, seed uint64, start func() *replica, mischief func()) {
	t, rnd := w.t, newSource(seed)
	w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		pause := time.Duration(rnd.IntN(200)) * time.Millisecond
		time.Sleep(pause)
		switch {
		case rnd.IntN(20) == 0:
			return o, errNo
		case rnd.IntN(10) == 0:
			if err := m.Keep(ctx, []byte("kept")); err != nil {
				return o, err
			}
		}
		return o, nil
	}
	const chats, messages = 4, 12
	var doubts atomic.Int64
	w.platform.rule = func(string, string, int) error {
		if rnd.IntN(20) == 0 {
			return provider.Retry(errNo, 0)
		}
		return nil
	}
	var calm atomic.Bool
	arm := func(r *replica) {
		r.gate.set(func(_ int, call string) verdict {
			p := rnd.IntN(1000)
			v := pass
			switch {
			case calm.Load() || p >= 60:
				return pass
			case p < 4:
				v = crashBefore
			case p < 8:
				v = crashAfter
			case p < 20:
				v = refuse
			case p < 30:
				v = drop
			case p < 50:
				v = lose
			default:
				v = falsely
			}
			switch {
			case v == crashBefore || v == crashAfter:
				doubts.Add(chats) // each chat may have had a call under way
			case call == "call" && (v == lose || v == drop):
				doubts.Add(1)
			}
			if (call == "call" || call == "ack" || call == "nak") && v == falsely {
				v = pass
			}
			return v
		})
	}
	for range 3 {
		arm(start())
	}
	for i := range messages {
		for c := range chats {
			w.post(fmt.Sprint("c", c), "x")
		}
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
		if i%4 == 3 {
			mischief()
		}
		for _, r := range slices.Clone(w.replicas) {
			if r.gate.isDead() && !r.replaced {
				r.replaced = true
				arm(start())
			}
		}
	}
	calm.Store(true)
	start()
	w.settled(time.Hour)
	extra := 0
	for c := range chats {
		got := w.platform.texts(fmt.Sprint("c", c))
		once := inOrder(got)
		if diff := cmp.Diff(counts(messages), once); diff != "" {
			t.Errorf("texts of c%d (-want +got): %s\n%v", c, diff, got)
		}
		extra += len(got) - len(once)
	}
	if extra > int(doubts.Load()) {
		t.Errorf("got %d extra copies, want at most one for each of %d calls in doubt", extra, doubts.Load())
	}
	if t.Failed() {
		t.Log(w.dump())
	}
}

// inOrder drops what was seen before.
func inOrder(texts []string) []string {
	var once []string
	for _, s := range texts {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// source is a seeded source for several goroutines.
type source struct {
	c chan *rand.Rand
}

func newSource(seed uint64) source {
	s := source{make(chan *rand.Rand, 1)}
	s.c <- rand.New(rand.NewPCG(seed, 0))
	return s
}

func (s source) IntN(n int) int {
	r := <-s.c
	defer func() { s.c <- r }()
	return r.IntN(n)
}
