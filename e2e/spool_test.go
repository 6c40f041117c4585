package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// An ingress with a spool answers 200 and is ready while NATS is away. It is killed with
// all that it keeps, and again once it is back; what it answered for is in the journal
// when NATS is, once and in order.
//
// SPEC: J1
func TestKilledIngressLosesNothingOfItsSpool(t *testing.T) { // alone: it loads the machine
	s := described(t, map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_SPOOL_DIR": t.TempDir()},
		func(cfg *fleet.Config) { cfg.Ingress, cfg.Workers = 1, 2 })
	ctx := s.within(time.Minute)
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	const chats, rounds = 16, 5
	want := map[string][]string{}
	in := s.Ingress[0]
	write := func() {
		t.Helper()
		for range rounds {
			for chat := range int64(chats) {
				a, err := s.Post(ctx, in.URL, s.Message(chat+1, "/count"))
				if err != nil {
					t.Fatal(err)
				}
				if a.Status != http.StatusOK || a.Took > 2*time.Second {
					t.Fatalf("chat %d: got %d after %v, want 200 within 1.5 s", chat+1, a.Status, a.Took)
				}
				key := strconv.FormatInt(chat+1, 10)
				want[key] = append(want[key], fmt.Sprint("count: ", len(want[key])+1))
			}
		}
	}
	write()
	s.KillNATS()
	for range 2 {
		write()
		if !in.Ready(ctx) {
			t.Error("the ingress is not ready, want it to be: it stores what comes")
		}
		s.Kill(ctx, in)
		if err := in.Launch(); err != nil {
			t.Fatal(err)
		}
		if err := in.AwaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.NATS.Start(ctx); err != nil {
		t.Fatal(err)
	}
	write()
	s.verify(want)
}
