package rediscoord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// everything is what both coordinators do.
type everything interface {
	coord.Coordinator
	coord.Elector
	coord.Locker
	coord.Viewer
}

// SPEC: T16. Redis and memory do the same, step by step: whatever is asked of one is
// asked of the other, and both show the same.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hub := &coord.MemoryHub{}
	pair := &pair{t: t}
	for i := range 3 {
		replica := "replica-" + strconv.Itoa(i)
		m, err := coord.NewMemory(hub, coord.Config{Replica: replica, TurnWait: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close(context.Background()) })
		r := join(t, rediscoord.Config{Client: dial(t, server), Replica: replica, TurnWait: patience})
		release(t, take(t, r, coord.Request{Key: "warm"}))
		pair.replicas = append(pair.replicas, [2]everything{m, r})
	}
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		p := *pair
		p.rt, p.key = rt, "key-"+strconv.Itoa(runs)
		p.ended = [2]chan ended{make(chan ended, 10), make(chan ended, 10)}
		defer p.end()
		rt.Repeat(map[string]func(*rapid.T){
			"take": p.take, "release": p.release, "withdraw": p.withdraw,
			"lead": p.tryLead, "step down": p.stepDown, "confirm": p.confirm,
			"lock": p.lock, "renew lock": p.renewLock, "unlock": p.unlock,
			"": p.check,
		})
	})
}

// pair is a fleet in memory and one on Redis that do the same; [0] is memory's.
type pair struct {
	t        *testing.T
	rt       *rapid.T
	key      string
	replicas [][2]everything

	holder  [2]coord.Turn
	waiters []waiter
	ended   [2]chan ended // Takes that returned
	takes   int
	late    bool // Redis did not answer in time, on a busy machine: this run proves nothing
	leader  [2]coord.Leadership
	locks   [][2]coord.Lock // all that were taken
}

type waiter struct {
	take   int
	cancel context.CancelFunc
}

type ended struct {
	take int
	outcome
}

func (p *pair) replica(rt *rapid.T) [2]everything {
	return rapid.SampledFrom(p.replicas).Draw(rt, "replica")
}

// same compares what two calls gave.
func (p *pair) same(what string, of [2]any) {
	p.rt.Helper()
	if diff := cmp.Diff(of[0], of[1]); diff != "" && !p.late {
		p.rt.Fatalf("%s (-memory +Redis):\n%s", what, diff)
	}
}

// sameErrors compares errors by what callers tell apart.
func (p *pair) sameErrors(what string, errs [2]error) bool {
	p.rt.Helper()
	var kinds [2]any
	for i, err := range errs {
		p.late = p.late || errors.Is(err, botmesh.ErrUnknown) || errors.Is(err, botmesh.ErrRefused)
		var lost *botmesh.LeaseLostError
		var passed *coord.PassedError
		switch {
		case err == nil:
			kinds[i] = "done"
		case errors.As(err, &lost):
			kinds[i] = *lost
		case errors.As(err, &passed):
			kinds[i] = *passed
		case errors.Is(err, coord.ErrHeld):
			kinds[i] = "held"
		case errors.Is(err, context.Canceled):
			kinds[i] = "canceled"
		default:
			kinds[i] = fmt.Sprintf("%T: %v", err, err)
		}
	}
	p.same(what, kinds)
	return errs[0] == nil && errs[1] == nil
}

// named is a previous holder by its replica.
func named(before coord.Previous) coord.Previous {
	before.Incarnation, _, _ = strings.Cut(before.Incarnation, "/")
	return before
}

// granted compares two turns.
func (p *pair) granted(got [2]outcome) {
	p.rt.Helper()
	if p.sameErrors("take", [2]error{got[0].err, got[1].err}) {
		m, r := got[0].turn, got[1].turn
		p.same("previous", [2]any{named(m.Previous()), named(r.Previous())})
		p.same("waiting", [2]any{m.Waiting(), r.Waiting()})
		p.holder = [2]coord.Turn{m, r}
	}
}

func (p *pair) take(rt *rapid.T) {
	if len(p.waiters) > 6 {
		rt.Skip("the line is long")
	}
	replica, place := p.replica(rt), rapid.Uint64Range(0, 9).Draw(rt, "place")
	ctx, cancel := context.WithCancel(p.t.Context())
	p.takes++
	take := p.takes
	p.waiters = append(p.waiters, waiter{take, cancel})
	for i, c := range replica {
		waits := make(chan struct{})
		go func() {
			turn, err := c.Take(ctx, coord.Request{Key: p.key, Place: place, Waiting: func() { close(waits) }})
			p.ended[i] <- ended{take, outcome{turn, err}}
		}()
		if p.holder[0] != nil {
			<-waits
		}
	}
	if p.holder[0] == nil {
		p.await(1)
	}
}

// await takes in that Takes returned: the same of both.
func (p *pair) await(n int) {
	got := map[int]*[2]outcome{}
	for i := range 2 {
		for range n {
			e := <-p.ended[i]
			if got[e.take] == nil {
				got[e.take] = &[2]outcome{}
			}
			got[e.take][i] = e.outcome
		}
	}
	if len(got) != n && !p.late {
		p.rt.Fatalf("of %d Takes memory ended others than Redis: %v", n, got)
	}
	p.waiters = slices.DeleteFunc(p.waiters, func(w waiter) bool {
		if got[w.take] != nil {
			w.cancel()
			if !p.late {
				p.granted(*got[w.take])
			}
		}
		return got[w.take] != nil
	})
}

func (p *pair) release(rt *rapid.T) {
	if p.holder[0] == nil {
		rt.Skip("nobody holds the key")
	}
	passed := rapid.SampledFrom([]uint64{0, 0, 3, 6}).Draw(rt, "passed")
	var errs [2]error
	for i, turn := range p.holder {
		errs[i] = turn.Release(p.t.Context(), passed)
	}
	p.sameErrors("release", errs)
	p.holder = [2]coord.Turn{}
	memory, err := p.replicas[0][0].Inspect(p.t.Context(), coord.KindTurn, p.key)
	if err != nil {
		p.rt.Fatal(err)
	}
	p.await(len(p.waiters) - len(memory.Waiting))
}

func (p *pair) withdraw(rt *rapid.T) {
	if len(p.waiters) == 0 {
		rt.Skip("nobody waits")
	}
	i := rapid.IntRange(0, len(p.waiters)-1).Draw(rt, "waiter")
	p.waiters[i].cancel()
	p.await(1)
}

func (p *pair) tryLead(rt *rapid.T) {
	var got [2]coord.Leadership
	var errs [2]error
	for i, c := range p.replica(rt) {
		got[i], errs[i] = c.TryLead(p.t.Context(), p.key)
	}
	if p.sameErrors("lead", errs) {
		p.same("previous leader", [2]any{named(got[0].Previous()), named(got[1].Previous())})
		p.leader = got
	}
}

func (p *pair) stepDown(rt *rapid.T) {
	if p.leader[0] == nil {
		rt.Skip("nobody ever led")
	}
	coolOff := rapid.SampledFrom([]time.Duration{0, 0, time.Hour}).Draw(rt, "cool off")
	p.sameErrors("step down", [2]error{p.leader[0].StepDown(p.t.Context(), coolOff), p.leader[1].StepDown(p.t.Context(), coolOff)})
}

func (p *pair) confirm(rt *rapid.T) {
	if p.leader[0] == nil {
		rt.Skip("nobody ever led")
	}
	p.sameErrors("confirm", [2]error{p.leader[0].Confirm(p.t.Context()), p.leader[1].Confirm(p.t.Context())})
}

func (p *pair) lock(rt *rapid.T) {
	var got [2]coord.Lock
	var errs [2]error
	for i, c := range p.replica(rt) {
		got[i], errs[i] = c.AcquireLockFenced(p.t.Context(), p.key, time.Hour)
	}
	if p.sameErrors("lock", errs) {
		p.locks = append(p.locks, got)
	}
}

func (p *pair) renewLock(rt *rapid.T) {
	p.withLock(rt, func(c everything, token string) error { return c.RenewLock(p.t.Context(), p.key, token, time.Hour) })
}

func (p *pair) unlock(rt *rapid.T) {
	p.withLock(rt, func(c everything, token string) error { return c.ReleaseLock(p.t.Context(), p.key, token) })
}

// withLock does something with a lock that was taken once, by any replica.
func (p *pair) withLock(rt *rapid.T, do func(everything, string) error) {
	if len(p.locks) == 0 {
		rt.Skip("no lock was ever taken")
	}
	replica, lock := p.replica(rt), rapid.SampledFrom(p.locks).Draw(rt, "lock")
	p.sameErrors("lock", [2]error{do(replica[0], lock[0].Token), do(replica[1], lock[1].Token)})
}

// check compares what both show of the key.
func (p *pair) check(rt *rapid.T) {
	if p.late {
		rt.Skip("Redis did not answer in time")
	}
	for _, kind := range []coord.Kind{coord.KindTurn, coord.KindLead, coord.KindLock} {
		var views [2]any
		for i, c := range p.replicas[0] {
			v, err := c.Inspect(p.t.Context(), kind, p.key)
			if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
				p.late = true
				return
			}
			views[i] = shown(v)
		}
		p.same("view of the "+string(kind), views)
	}
}

// shown is a view without what the coordinators are free to choose.
func shown(v coord.View) coord.View {
	v.Fence, v.Since, v.Left = 0, time.Time{}, 0
	v.Holder, _, _ = strings.Cut(v.Holder, "/")
	v.Previous = named(v.Previous)
	for i := range v.Waiting {
		v.Waiting[i].Incarnation, _, _ = strings.Cut(v.Waiting[i].Incarnation, "/")
	}
	return v
}

// end leaves nobody waiting.
func (p *pair) end() {
	for _, w := range p.waiters {
		w.cancel()
	}
	for range p.waiters {
		<-p.ended[0]
		<-p.ended[1]
	}
	for i := range 2 {
		if p.holder[i] != nil {
			p.holder[i].Release(p.t.Context(), 0)
		}
		if p.leader[i] != nil {
			p.leader[i].StepDown(p.t.Context(), 0)
		}
	}
}
