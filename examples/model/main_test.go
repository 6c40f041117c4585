package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// A model that answers differently each time, and is down when it is asked third.
func TestAModelIsAskedOnceForEachAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines []line
		if err := json.NewDecoder(r.Body).Decode(&lines); err != nil || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("asked with key %q and %v, %v", r.Header.Get("Idempotency-Key"), lines, err)
		}
		n := asked.Add(1)
		if n == 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if err := json.NewEncoder(w).Encode(line{"bot", fmt.Sprintf("answer %d to %d lines", n, len(lines))}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	p := flowtest.Play(t, model(server.URL))
	p.User("hello").Bot("answer 1 to 1 lines")
	p.CrashOn("and?").Bot("answer 2 to 3 lines").HandOver(model(server.URL))
	p.Flaky("still there?", 1).Bot("answer 4 to 5 lines")
	p.User("/forget").Bot("forgotten").User("hello").Bot("answer 5 to 1 lines")
	if n := asked.Load(); n != 5 {
		t.Errorf("the model was asked %d times, want 5", n)
	}
}
