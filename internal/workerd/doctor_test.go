package workerd_test

import (
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/streams"
)

// A worker says what botmesh doctor and streams plan do, of the servers that it has.
func TestAWorkerExaminesItsServers(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken)
	var diff streams.Diff
	if status, text := f.ask(t, http.MethodGet, "/v1/streams/plan", "", &diff); status != http.StatusOK || text != "[]\n" {
		t.Errorf("got %d %s, want no difference", status, text)
	}
	var found []doctor.Finding
	if status, text := f.ask(t, http.MethodGet, "/v1/doctor", "", &found); status != http.StatusOK {
		t.Fatalf("got %d %s, want findings", status, text)
	}
	seen := map[string][]doctor.Finding{}
	for _, one := range found {
		seen[one.Check] = append(seen[one.Check], one)
	}
	for _, check := range []string{"streams", "copies", "records", "memory", "replicas", "ingresses", "clocks", "chats"} {
		if of := seen[check]; of == nil || doctor.Worst(of) != doctor.Fine {
			t.Errorf("%s: got %v, want it looked at and fine", check, of)
		}
	}
	if seen["platforms"] == nil {
		t.Errorf("got %v, want the platform asked", found)
	}
}
