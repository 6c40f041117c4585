// Package natstest gives tests real NATS servers: one inside the test's process,
// or a cluster of three as child processes.
package natstest

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/natsd"
)

// Start runs a server with JetStream in a folder of the test, until the test ends,
// and returns its address.
func Start(t testing.TB) (url string) {
	t.Helper()
	s, err := natsd.Start(t.Context(), natsd.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s.URL()
}

// Until polls until ok, for half a minute at most.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
