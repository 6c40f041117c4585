package private

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Server {
	t.Helper()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "bot_turns_total 1\n") })
	s, err := Start(Config{Listen: "127.0.0.1:0", Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client keeps no connection, so that nothing is left when a test ends.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func expect(t *testing.T, s *Server, path string, code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != code || !strings.Contains(string(body), text) {
		t.Errorf("%s: got %d %q, want %d with %q", path, resp.StatusCode, body, code, text)
	}
}

// SPEC W3
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	expect(t, s, "/healthz", http.StatusOK, "ok")
	expect(t, s, "/readyz", http.StatusServiceUnavailable, "starting")
	expect(t, s, "/metrics", http.StatusOK, "bot_turns_total 1")
	expect(t, s, "/statusz", http.StatusOK, "{}")

	away := errors.New("nats is away")
	s.Watch(Probes{Ready: func(context.Context) error { return away }, Status: func() any { return map[string]int{"slots": 3} }})
	expect(t, s, "/healthz", http.StatusOK, "ok") // SPEC W3: not the servers' health
	expect(t, s, "/readyz", http.StatusServiceUnavailable, "nats is away")
	expect(t, s, "/statusz", http.StatusOK, `"slots": 3`)

	s.Watch(Probes{})
	expect(t, s, "/readyz", http.StatusOK, "ok\n")
	s.Watch(Probes{Note: func() string { return "standby" }})
	expect(t, s, "/readyz", http.StatusOK, "ok\nstandby\n")
	s.Drain()
	expect(t, s, "/readyz", http.StatusServiceUnavailable, "draining")
	expect(t, s, "/healthz", http.StatusOK, "ok")
}

func TestReadyIsAskedWithinABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Server
		s.Watch(Probes{Ready: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		began := time.Now()
		if err := s.ready(t.Context()); err == nil {
			t.Error("got ready, want not")
		}
		if got := time.Since(began); got != askTime {
			t.Errorf("got an answer after %v, want %v", got, askTime)
		}
	})
}

// SPEC W3: a program whose own loop hangs is not healthy.
func TestBeatThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s Server
		hang := make(chan struct{})
		var hanging atomic.Bool
		s.Watch(Probes{Beat: func() {
			if hanging.Load() {
				<-hang
			}
		}})
		go s.beat(ctx)

		time.Sleep(time.Minute)
		synctest.Wait()
		if err := s.healthy(); err != nil {
			t.Errorf("while it beats: got %v, want healthy", err)
		}
		hanging.Store(true)
		time.Sleep(beatLate + 2*beatEvery)
		synctest.Wait()
		if err := s.healthy(); err == nil || !strings.Contains(err.Error(), "stands still since") {
			t.Errorf("while it hangs: got %v, want since when", err)
		}
		hanging.Store(false)
		close(hang)
		time.Sleep(2 * beatEvery)
		synctest.Wait()
		if err := s.healthy(); err != nil {
			t.Errorf("when it goes on: got %v, want healthy", err)
		}
		cancel()
		synctest.Wait()
	})
}

// SPEC W3: a program that has no loop to ask is healthy as long as it answers.
func TestWithoutABeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s Server
		s.Watch(Probes{})
		go s.beat(ctx)
		time.Sleep(10 * beatLate)
		synctest.Wait()
		if err := s.healthy(); err != nil {
			t.Errorf("got %v, want healthy", err)
		}
		cancel()
		synctest.Wait()
	})
}

func TestStartOnATakenAddress(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := Start(Config{Listen: s.Addr()}); err == nil || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("got %v, want an error that names the address", err)
	}
}
