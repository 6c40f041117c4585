package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// replica joins a hub.
func replica(t *testing.T, hub *coord.MemoryHub, name string) *coord.MemoryCoordinator {
	t.Helper()
	c, err := coord.NewMemory(hub, coord.Config{Replica: name})
	must(t, err)
	t.Cleanup(func() { _ = c.Close(t.Context()) }) // what is left ends with the test
	return c
}

// leases asks for what is held.
func (d *desk) leases(query string) (all []admin.Lease) {
	d.t.Helper()
	w := d.ask(http.MethodGet, "/v1/leases"+query, "")
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		d.t.Fatalf("got %s, want leases: %v", w.Body, err)
	}
	return all
}

// An operator sees who holds what and takes it away, by what was seen: the next in line
// has it, whoever held it is told, and it is logged.
func TestALeaseIsBroken(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	hub := &coord.MemoryHub{}
	a, b := replica(t, hub, "a"), replica(t, hub, "b")
	d.rooms.Turns = b
	held, err := a.Take(t.Context(), coord.Request{Key: heldChat.Key()})
	must(t, err)
	_, err = a.TryLead(t.Context(), "provider:telegram")
	must(t, err)
	waits, next := make(chan struct{}), make(chan coord.Turn, 1)
	go func() {
		turn, _ := b.Take(t.Context(), coord.Request{Key: heldChat.Key(), Waiting: func() { close(waits) }})
		next <- turn
	}()
	<-waits

	all := d.leases("")
	if len(all) != 2 || all[0].Key != "telegram/7" || all[0].Holder != a.Incarnation() || all[0].Gone ||
		len(all[0].Line) != 1 || all[0].Since.IsZero() || all[1].Key != "provider:telegram" {
		t.Fatalf("got %+v, want the turn of a, for which b waits, and its lead", all)
	}
	if led := d.leases("?kind=lead"); len(led) != 1 || led[0].Kind != coord.KindLead {
		t.Errorf("got %+v, want the lead alone", led)
	}
	breaks := func(fence uint64) (int, admin.Did) {
		w := d.ask(http.MethodPost, "/v1/leases/break", fmt.Sprintf(`{"kind":"turn","key":"telegram/7","fence":%d}`, fence))
		var did admin.Did
		must(t, json.Unmarshal(w.Body.Bytes(), &did))
		return w.Code, did
	}
	if code, did := breaks(0); code != http.StatusOK || !did.DryRun {
		t.Errorf("without a fence: got %d %+v, want what would be done", code, did)
	}
	if code, _ := breaks(held.Fence() + 1); code != http.StatusConflict {
		t.Errorf("with another fence: got %d, want 409", code)
	}
	if held.Context().Err() != nil || len(next) > 0 {
		t.Fatal("the turn was taken away, and nobody asked for that")
	}
	if code, did := breaks(held.Fence()); code != http.StatusOK || did.DryRun {
		t.Errorf("got %d %+v, want it done", code, did)
	}
	turn := <-next
	if turn == nil || turn.Fence() <= held.Fence() {
		t.Fatalf("got %v, want the turn for who waited, under a higher fence", turn)
	}
	if err := held.Release(t.Context(), 0); err == nil {
		t.Error("who held it released it, want it lost")
	}
	logged, err := d.rooms.Acts.List(t.Context(), &heldChat, jet.Window{Limit: 9})
	must(t, err)
	var before admin.Lease
	if len(logged) != 1 || logged[0].Verb != "leases break" {
		t.Fatalf("got the acts %+v, want the break", logged)
	}
	must(t, json.Unmarshal(logged[0].Before, &before))
	if before.Holder != a.Incarnation() || before.Fence != held.Fence() {
		t.Errorf("got %+v logged, want who held it and under which fence", before)
	}
	must(t, turn.Release(t.Context(), 0))
	if code, _ := breaks(0); code != http.StatusConflict {
		t.Errorf("when nobody holds it: got %d, want 409", code)
	}
	all = d.leases("?kind=turn")
	if len(all) != 0 {
		t.Errorf("got %+v, want no turn", all)
	}
}

// A lead and a lock are named as they are, and nothing else is broken.
func TestWhatIsNoLeaseIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	if w := d.ask(http.MethodGet, "/v1/leases", ""); w.Code != http.StatusNotFound {
		t.Errorf("without a coordination: got %d, want 404", w.Code)
	}
	c := replica(t, &coord.MemoryHub{}, "a")
	d.rooms.Turns = c
	lock, err := c.AcquireLockFenced(t.Context(), "billing", 1<<40)
	must(t, err)
	for body, want := range map[string]int{
		`{"kind":"nothing","key":"telegram/7"}`:                               http.StatusBadRequest,
		`{"kind":"turn","key":"telegram"}`:                                    http.StatusBadRequest,
		`{"kind":"lead","key":"billing"}`:                                     http.StatusConflict,
		fmt.Sprintf(`{"kind":"lock","key":"billing","fence":%d}`, lock.Fence): http.StatusOK,
	} {
		if w := d.ask(http.MethodPost, "/v1/leases/break", body); w.Code != want {
			t.Errorf("%s: got %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	if w := d.ask(http.MethodGet, "/v1/leases?kind=nothing", ""); w.Code != http.StatusBadRequest {
		t.Errorf("of no kind: got %d, want 400", w.Code)
	}
	logged, err := d.rooms.Acts.List(t.Context(), nil, jet.Window{Limit: 9})
	must(t, err)
	if len(logged) != 1 || logged[0].Of != "lock billing" {
		t.Errorf("got the acts %+v, want that of the lock", logged)
	}
}

// unanswering breaks what it is asked to, and its answer is lost.
type unanswering struct{ *coord.MemoryCoordinator }

func (u unanswering) Break(ctx context.Context, kind coord.Kind, key string, fence uint64) error {
	if err := u.MemoryCoordinator.Break(ctx, kind, key, fence); err != nil {
		return err
	}
	return fmt.Errorf("no answer: %w", botmesh.ErrUnknown)
}

// A break whose answer was lost is settled by looking, and is no failure.
func TestABreakWithoutAnAnswerIsSettled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	c := replica(t, &coord.MemoryHub{}, "a")
	d.rooms.Turns = unanswering{c}
	held, err := c.Take(t.Context(), coord.Request{Key: heldChat.Key()})
	must(t, err)
	w := d.ask(http.MethodPost, "/v1/leases/break", fmt.Sprintf(`{"kind":"turn","key":"telegram/7","fence":%d}`, held.Fence()))
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s, want 200", w.Code, w.Body)
	}
	logged, err := d.rooms.Acts.List(t.Context(), &heldChat, jet.Window{Limit: 9})
	must(t, err)
	if len(logged) != 1 || logged[0].Failed != "" {
		t.Errorf("got %+v, want one act that did not fail", logged)
	}
}
