package ingressd

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const token = "7:token"

// inMemory elects among the ingress of a test.
type inMemory struct {
	hub  *coord.MemoryHub
	name string
}

func (m inMemory) New() (coord.Coordinator, error) {
	return coord.NewMemory(m.hub, coord.Config{Replica: m.name})
}
func (inMemory) Ping(context.Context) error { return nil }
func (inMemory) Close() error               { return nil }

// polling are settings of an ingress that polls a Telegram of the test.
func polling(t *testing.T, env ...string) (config.Config, *telegramtest.Server) {
	t.Helper()
	tg := telegramtest.New(token)
	srv := httptest.NewServer(tg)
	t.Cleanup(srv.Close)
	return settings(t, append(env, "BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_TOKEN="+token, "BOTMESH_TELEGRAM_API_URL="+srv.URL)...), tg
}

// role is what an ingress is to its one session.
func role(in *Ingress) ingress.Role { return in.Status().Sessions[0].Role }

// SPEC: L1 L3 W3 H11
func TestOneIngressPollsAndTheOtherFollows(t *testing.T) {
	t.Parallel()
	s, tg := polling(t, "BOTMESH_NATS_URL="+natstest.Start(t))
	hub := &coord.MemoryHub{}
	told := make(chan ingress.RoleChange, 9)
	first, stop, ended := start(t, Config{Settings: s, Coordination: inMemory{hub, "first"}, OnRole: func(_ context.Context, c ingress.RoleChange) { told <- c }})
	natstest.Until(t, "the first leads and is ready", func() bool { return role(first) == ingress.Leader && first.Ready(t.Context()) == nil })
	second, _, _ := start(t, Config{Settings: s, Coordination: inMemory{hub, "second"}})
	ready(t, second)
	if got := second.Probes().Note(); role(second) != ingress.Standby || !strings.HasPrefix(got, "telegram: standby since ") {
		t.Errorf("got %v with the note %q, want a standby that says so", role(second), got)
	}
	natstest.Until(t, "both answer who asks, one as leader", func() bool {
		all, err := engine.Who[Status](t.Context(), second.conn, s.Bot)
		if err != nil {
			t.Fatal(err)
		}
		leads := func(one Status) bool { return one.Sessions[0].Role == ingress.Leader && one.Sessions[0].Open }
		return len(all) == 2 && leads(all[0]) != leads(all[1])
	})
	tg.Offer(1, telegramtest.Text(1, 7, "hi"))
	natstest.Until(t, "it is stored and confirmed", func() bool { return len(tg.Confirmed()) == 1 })
	if got := first.Status().Sessions[0]; got.LastUpdate.IsZero() || got.Fence == 0 || !got.Open {
		t.Errorf("got %+v, want an open leader with a last update", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v after a drain, want no error", err)
	}
	if began, ended := <-told, <-told; began.Role != ingress.Leader || began.Fence == 0 || ended.Role != ingress.Standby || ended.Reason != "stopped" {
		t.Errorf("got told %+v and %+v, want a leader that was stopped", began, ended)
	}
	natstest.Until(t, "the second leads", func() bool { return role(second) == ingress.Leader && second.Ready(t.Context()) == nil })
	if info, err := second.inbox.Info(t.Context()); err != nil || info.Messages != 1 {
		t.Errorf("got %d records (%v), want 1", info.Messages, err)
	}
}

// Redis is asked only by who has a session that is led.
//
// SPEC: L1 T14
func TestWhoNeedsACoordinator(t *testing.T) {
	t.Parallel()
	asked := errors.New("asked")
	for name, tt := range map[string]struct {
		env  []string
		want bool
	}{
		"webhook": {nil, false},
		"auto":    {[]string{"BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_TOKEN=" + token}, true},
		"leader":  {[]string{"BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_TOKEN=" + token, "BOTMESH_PROVIDER_SESSION=leader"}, true},
		"shared":  {[]string{"BOTMESH_TELEGRAM_MODE=polling", "BOTMESH_TELEGRAM_TOKEN=" + token, "BOTMESH_PROVIDER_SESSION=shared"}, false},
	} {
		s := settings(t, append(tt.env, "BOTMESH_NATS_URL=nats://127.0.0.1:1")...)
		in, err := New(t.Context(), Config{Settings: s, Coordination: refusing{asked}})
		if errors.Is(err, asked) != tt.want {
			t.Errorf("%s: got %v, want a coordinator asked for: %v", name, err, tt.want)
		}
		if err == nil {
			in.listener.Close()
			in.sessions.close(t.Context(), in.cfg)
			in.conn.Close()
		}
	}
}

// refusing makes no coordinator.
type refusing struct{ err error }

func (r refusing) New() (coord.Coordinator, error) { return nil, r.err }
func (refusing) Ping(context.Context) error        { return nil }
func (refusing) Close() error                      { return nil }
