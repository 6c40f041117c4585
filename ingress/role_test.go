package ingress

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/provider"
)

// told are the changes that a replica was told of.
type told struct {
	mu  sync.Mutex
	all []RoleChange
}

func (t *told) add(c RoleChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, c)
}

func (t *told) changes() []RoleChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

// SPEC: H11 L3. Who leads and who follows is told with fence and reason, in order, and
// neither a panic nor one who hangs keeps the session from being held, or handed on at once.
func TestLeadershipIsTold(t *testing.T) {
	t.Parallel()
	for name, suffer := range map[string]func(){
		"well":  func() {},
		"panic": func() { panic("no harm") },
		"hang":  func() { time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, first, second := &fleet{}, &told{}, &told{}
				a := f.join(t, "a", HolderConfig{OnRole: func(_ context.Context, c RoleChange) { first.add(c); suffer() }}, stays)
				synctest.Wait()
				b := f.join(t, "b", HolderConfig{OnRole: func(_ context.Context, c RoleChange) { second.add(c) }}, stays)
				synctest.Wait()
				if got := a.holder.Status(); !got.Open {
					t.Errorf("got %+v, want the session open though its leader's observer may hang", got)
				}
				fence := a.holder.Status().Fence
				before := time.Now()
				a.stop()
				synctest.Wait()
				if at := b.holder.Status().Since; !at.Equal(before) {
					t.Errorf("got the second in office after %s, want at once", at.Sub(before))
				}
				if took := time.Since(before); name == "hang" && took != 2*tellTime {
					t.Errorf("got %s for two calls that hang, want one after the other", took)
				}
				want := []RoleChange{
					{Provider: "held", Name: "provider:held", Role: Leader, Fence: fence, Reason: "elected"},
					{Provider: "held", Name: "provider:held", Role: Standby, Reason: "stopped"},
				}
				if diff := cmp.Diff(want, first.changes()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				want = []RoleChange{{Provider: "held", Name: "provider:held", Role: Leader, Fence: b.holder.Status().Fence, Reason: "elected"}}
				if diff := cmp.Diff(want, second.changes()); diff != "" {
					t.Errorf("the second was told (-want +got):\n%s", diff)
				}
				b.stop()
				time.Sleep(3 * time.Hour) // who hung is back
			})
		})
	}
}

// SPEC: H11 L4 T12. A leadership that is lost is told with the reason of the lease, one
// that is given up with that of the session.
func TestALostLeadershipIsTold(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		run func(context.Context, provider.Sink) error
		end func(t *testing.T, f *fleet)
	}{
		"superseded": {stays, func(t *testing.T, f *fleet) {
			f.hub.Forget()
			f.join(t, "b", HolderConfig{}, stays)
		}},
		"down": {func(context.Context, provider.Sink) error { return context.DeadlineExceeded }, func(*testing.T, *fleet) {}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, all := &fleet{}, &told{}
				f.join(t, "a", HolderConfig{OnRole: func(_ context.Context, c RoleChange) { all.add(c) }}, c.run)
				synctest.Wait()
				c.end(t, f)
				time.Sleep(defaultDown + time.Second)
				if got := all.changes(); len(got) < 2 || got[1].Role != Standby || got[1].Reason != reason {
					t.Errorf("got %+v, want a leader and then a standby for %s", got, reason)
				}
			})
		})
	}
}
