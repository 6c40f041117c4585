package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/proc"
)

// SPEC: X1 X2 J9
func TestBadWebhooksAreRefusedAndNotJournaled(t *testing.T) {
	t.Parallel()
	s := started(t, nil)
	good := s.Message(1, "/count").Body
	refused := map[string]struct {
		secret string
		body   []byte
		status int
	}{
		"wrong secret": {"another", good, http.StatusUnauthorized},
		"no secret":    {"", good, http.StatusUnauthorized},
		"broken JSON":  {secret, good[:len(good)/2], http.StatusBadRequest},
		"not JSON":     {secret, []byte("hello"), http.StatusBadRequest},
		"over 1 MiB":   {secret, bytes.Repeat([]byte(" "), 1<<20+1), http.StatusRequestEntityTooLarge},
	}
	for name, tt := range refused {
		a, err := s.PostAs(t.Context(), s.Ingress[0].URL, tt.secret, tt.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Status != tt.status || strings.TrimSpace(a.Body) == "" {
			t.Errorf("%s: got %d %q, want %d and why", name, a.Status, a.Body, tt.status)
		}
	}
	if got := s.stored(inbox); got != 0 {
		t.Errorf("got %d records of refused webhooks, want none", got)
	}
	if got := s.sum(s.Ingress, "bot_ingress_messages_total", `outcome="unauthorized"`); got != 2 {
		t.Errorf("got %g webhooks counted as unauthorized, want 2", got)
	}
	if got := s.sum(s.Ingress, "bot_ingress_messages_total", `outcome="rejected"`); got != 3 {
		t.Errorf("got %g webhooks counted as rejected, want 3", got)
	}

	a, err := s.PostAs(t.Context(), s.Ingress[0].URL, secret, []byte(`{"update_id": 9, "a_kind_of_tomorrow": {"x": 1}}`))
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("got %d (%v) for an update of an unknown kind, want 200", a.Status, err)
	}
	if got := s.stored(inbox); got != 1 {
		t.Errorf("got %d records of an update of an unknown kind, want 1", got)
	}
	s.verify(nil)
}

// SPEC: X1
func TestMissingSettingsEndTheProgramsWithCodeTwo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ path, names string }{
		"ingress": {programs.Ingress, "BOTMESH_TELEGRAM_SECRET"},
		"worker":  {programs.Worker, "BOTMESH_TELEGRAM_TOKEN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := proc.Start(proc.Config{Name: name, Path: tt.path, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Kill)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			code, err := c.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			out := c.Output()
			if code != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(out, tt.names) {
				t.Errorf("got exit code %d and %q, want 2 and one line that names %s", code, out, tt.names)
			}
		})
	}
}

// Ingress and workers start before their servers do.
//
// SPEC: T14 W3 J1
func TestUnreachableServersAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := described(t, quick)
	for _, r := range s.Replicas() {
		if err := r.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.Replicas() {
		s.eventually(10*time.Second, r.Name+" lives and is not ready", r.AliveNotReady)
	}
	a, err := s.Post(t.Context(), s.Ingress[0].URL, s.Message(1, "/count"))
	if err == nil && a.Status != http.StatusServiceUnavailable {
		t.Errorf("got %d without a journal, want 503", a.Status)
	}
	if err := errors.Join(s.NATS.Start(s.within(10*time.Second)), s.Redis.Start(s.within(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Replicas() {
		if err := r.AwaitReady(s.within(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	s.say(2, "/count")
	s.hears(2, "count: 1", 20*time.Second)
}
