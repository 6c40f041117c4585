// Package coordtest holds the suite that every coordinator passes.
package coordtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// Fleet is what the suite runs on: the replicas that share one memory, be it a
// hub or a Redis.
type Fleet struct {
	// Lease is the lease of every replica: long enough for a busy machine to renew
	// it, short enough to wait for. About a second.
	Lease time.Duration
	// Join starts a replica, closed when the test ends if it was not before.
	// Replica and TurnWait are as the configuration says.
	Join func(t testing.TB, cfg coord.Config) coord.Coordinator
	// Crash ends a replica as SIGKILL does: no release, no word.
	Crash func(coord.Coordinator)
	// Forget drops all that is known of all keys, as FLUSHALL does.
	Forget func(t testing.TB)
	// Evict drops what is known of one idle key, as its expiry does.
	Evict func(t testing.TB, key string)
}

// suite are the tests of the suite.
var suite = []struct {
	name string
	run  func(*testing.T, Fleet)
}{
	{"Exclusion", testExclusion},
	{"OrderByPlace", testOrderByPlace},
	{"OrderByArrival", testOrderByArrival},
	{"SameIncarnationTwice", testSameIncarnationTwice},
	{"WaitingIsTold", testWaitingIsTold},
	{"WaitingCounts", testWaitingCounts},
	{"ReleaseWakes", testReleaseWakes},
	{"Release", testRelease},
	{"Renewal", testRenewal},
	{"Previous", testPrevious},
	{"Fence", testFence},
	{"Passed", testPassed},
	{"PassedNotByArrival", testPassedNotByArrival},
	{"Crash", testCrash},
	{"CrashAfterPush", testCrashAfterPush},
	{"CrashInLine", testCrashInLine},
	{"LongDeadInLine", testLongDeadInLine},
	{"Reincarnation", testReincarnation},
	{"Alive", testAlive},
	{"Call", testCall},
	{"Cancel", testCancel},
	{"TurnWait", testTurnWait},
	{"Close", testClose},
	{"CloseInLine", testCloseInLine},
	{"Forget", testForget},
	{"ReleaseSuperseded", testReleaseSuperseded},
	{"ForgetInLine", testForgetInLine},
	{"BadRequest", testBadRequest},
	{"Model", testModel},
	{"Linearizable", testLinearizable},
	{"TryLead", testTryLead},
	{"Campaign", testCampaign},
	{"LeaderGone", testLeaderGone},
	{"CoolOff", testCoolOff},
	{"Confirm", testConfirm},
	{"CandidateGone", testCandidateGone},
	{"Lock", testLock},
	{"LockEnds", testLockEnds},
	{"LockForgotten", testLockForgotten},
	{"LockClosed", testLockClosed},
	{"Inspect", testInspect},
	{"Deaths", testDeaths},
	{"List", testList},
	{"Ended", testEnded},
	{"Break", testBreak},
}

// Run runs the suite. Fleet is called once for each test, for a fresh memory. What
// is asked of a [coord.Elector], [coord.Locker], [coord.Viewer] or [coord.Breaker] is skipped where
// the coordinator is none.
func Run(t *testing.T, fleet func(t *testing.T) Fleet) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := fleet(t)
			join := f.Join
			f.Join = func(t testing.TB, cfg coord.Config) coord.Coordinator {
				c := join(t, cfg)
				// One that has had a turn tells of waiting only once it is in line.
				release(t, take(t, c, coord.Request{Key: "warm-" + c.Incarnation()}), 0)
				return c
			}
			test.run(t, f)
		})
	}
}

// patience is how long the suite waits for what must happen.
const patience = 20 * time.Second

// take takes a turn or fails the test.
func take(t testing.TB, c coord.Coordinator, r coord.Request) coord.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	turn, err := c.Take(ctx, r)
	if err != nil {
		t.Fatalf("taking %s at %d: %v", r.Key, r.Place, err)
	}
	return turn
}

// release releases a turn or fails the test.
func release(t testing.TB, turn coord.Turn, passed uint64) {
	t.Helper()
	if err := turn.Release(t.Context(), passed); !given(err) {
		t.Fatalf("releasing: %v", err)
	}
}

// given reports whether a Release gave the turn up. One without an answer did, now
// or in the background: who comes next shows it.
func given(err error) bool {
	return err == nil || errors.Is(err, botmesh.ErrUnknown) || errors.Is(err, botmesh.ErrRefused)
}

// outcome is what a Take returned.
type outcome struct {
	turn coord.Turn
	err  error
}

// queue begins a Take that has to wait, and returns once it does.
func queue(ctx context.Context, t testing.TB, c coord.Coordinator, r coord.Request) <-chan outcome {
	t.Helper()
	waits, result := make(chan struct{}), make(chan outcome, 1)
	r.Waiting = func() { close(waits) }
	go func() {
		turn, err := c.Take(ctx, r)
		result <- outcome{turn, err}
	}()
	select {
	case <-waits:
	case got := <-result:
		t.Fatalf("taking %s at %d: did not wait, got %+v", r.Key, r.Place, got)
	case <-time.After(patience):
		t.Fatalf("taking %s at %d: neither turn nor waiting", r.Key, r.Place)
	}
	return result
}

// await returns what a queued Take returned.
func await(t testing.TB, result <-chan outcome) outcome {
	t.Helper()
	select {
	case got := <-result:
		return got
	case <-time.After(patience):
		t.Fatal("a Take did not return")
		return outcome{}
	}
}

// granted returns the turn of a queued Take.
func granted(t testing.TB, result <-chan outcome) coord.Turn {
	t.Helper()
	got := await(t, result)
	if got.err != nil {
		t.Fatalf("a queued Take failed: %v", got.err)
	}
	return got.turn
}

// lost waits until a turn's context ends and returns the reason.
func lost(t testing.TB, turn coord.Turn) botmesh.LossReason {
	t.Helper()
	select {
	case <-turn.Context().Done():
	case <-time.After(patience):
		t.Fatal("the turn goes on")
	}
	return reason(t, context.Cause(turn.Context()))
}

func reason(t testing.TB, err error) botmesh.LossReason {
	t.Helper()
	var why *botmesh.LeaseLostError
	if !errors.As(err, &why) {
		t.Fatalf("got %v, want a LeaseLostError", err)
	}
	return why.Reason
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not in %s: %s", patience, what)
		}
	}
}
