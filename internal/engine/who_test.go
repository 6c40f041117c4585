package engine_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// Who is there answers who asks, each for its own bot, and no more once it ended.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	l, err := config.Load(config.Input{Environ: []string{"BOTMESH_NATS_URL=" + natstest.Start(t)}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := engine.Dial(t.Context(), l.Config, "botmesh-ingress test", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	natstest.Until(t, "connected", func() bool { return conn.Healthy() == nil })
	who := func() []string {
		t.Helper()
		all, err := engine.Who[string](t.Context(), conn, "demo")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		return all
	}
	if got := who(); got != nil {
		t.Errorf("got %q, want nobody", got)
	}
	answer := func(bot, is string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- engine.Answer(ctx, conn, bot, func() any { return is }) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	first, second, other := answer("demo", "first"), answer("demo", "second"), answer("shop", "other")
	defer second()
	defer other()
	natstest.Until(t, "both answer", func() bool { return slices.Equal(who(), []string{"first", "second"}) })
	first()
	if got := who(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("got %q, want the one that is left", got)
	}
}
