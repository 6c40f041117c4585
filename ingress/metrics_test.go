package ingress

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/telemetrytest"
	"github.com/botmesh-go/botmesh/provider"
)

// A silent session never answers.
type silent string

func (s silent) ID() string                           { return string(s) }
func (silent) Exclusive() bool                        { return true }
func (silent) Parse([]byte) ([]botmesh.Record, error) { return nil, nil }
func (silent) Run(ctx context.Context, _ provider.Sink) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// nobody is never elected.
type nobody struct{ coord.Elector }

func (nobody) Campaign(ctx context.Context, _ string) (coord.Leadership, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// An alert compares who leads with what is open, and both with 0: a series that is not
// there is no 0 to it, and what never opened would be told to nobody.
//
// SPEC: W2
func TestWhatIsNotLedOrOpenIsMeasuredFromTheStart(t *testing.T) {
	telemetrytest.Metrics(t)
	synctest.Test(t, func(t *testing.T) {
		for id, elector := range map[string]coord.Elector{"unelected": nobody{}, "unshared": nil} {
			h, err := NewHolder(HolderConfig{Session: silent(id), Journal: &fakeJournal{}, Elector: elector})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- h.Run(ctx) }()
			synctest.Wait()
			got := telemetrytest.Metrics(t)
			if open, there := got["bot.sessions.open{bot.provider="+id+"}"]; open != 0 || !there {
				t.Errorf("%s: got %v open, there %v, want 0", id, open, there)
			}
			if _, there := got["bot.leader{bot.provider="+id+"}"]; there != (elector != nil) {
				t.Errorf("%s: got a leader measured: %v, want it where one is elected", id, there)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
