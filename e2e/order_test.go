package e2e

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/e2e/platform"
)

// everyone is the load that exactness is proven with.
var everyone = load{chats: 64, messages: 50}

// SPEC: J1 J4 J5 T1 T2 O2 O4 DESIGN I1 I2 I4
func TestEveryChatIsAnsweredInOrderAndOnce(t *testing.T) { // alone: it loads the machine
	s := started(t, nil)
	want, err := everyone.run(s.within(time.Minute), s)
	if err != nil {
		t.Fatal(err)
	}
	s.verify(want)
	if got, want := s.stored(inbox), uint64(everyone.chats*everyone.messages); got != want {
		t.Errorf("got %d records, want %d", got, want)
	}
}

// SPEC: J2 J3
func TestWebhookPostedTwiceToDifferentIngressIsOneRecord(t *testing.T) { // alone: it loads the machine
	s := started(t, nil)
	l := everyone
	l.twice = func(ctx context.Context, u platform.Update, n int) error {
		if n%10 != 0 {
			return s.Deliver(ctx, s.URLs(), u)
		}
		var both errgroup.Group
		for _, url := range s.URLs() {
			both.Go(func() error { return s.Deliver(ctx, []string{url}, u) })
		}
		return both.Wait()
	}
	want, err := l.run(s.within(time.Minute), s)
	if err != nil {
		t.Fatal(err)
	}
	s.verify(want)
	if got, want := s.stored(inbox), uint64(l.chats*l.messages); got != want {
		t.Errorf("got %d records, want %d", got, want)
	}
}

// A repeat that comes after the journal's duplicate window is a record of its own;
// the chat's recent ids alone keep it from having an effect.
//
// SPEC: J2 DESIGN C10
func TestWebhookPostedAgainAfterTheDuplicateWindowHasNoEffect(t *testing.T) { // alone: it loads the machine
	s := started(t, map[string]string{"BOTMESH_DUPLICATE_WINDOW": "100ms"})
	var late errgroup.Group
	l := everyone
	l.twice = func(ctx context.Context, u platform.Update, n int) error {
		if err := s.Deliver(ctx, s.URLs()[:1], u); err != nil || n%10 != 0 {
			return err
		}
		late.Go(func() error {
			select {
			case <-time.After(time.Second):
				return s.Deliver(ctx, s.URLs()[1:], u)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return nil
	}
	want, err := l.run(s.within(time.Minute), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(); err != nil {
		t.Fatal(err)
	}
	s.verify(want)
	messages, twice := l.chats*l.messages, l.chats*l.messages/10
	if got, want := s.stored(inbox), uint64(messages+twice); got != want {
		t.Errorf("got %d records, want all %d messages and %d repeats: the window was to miss them", got, messages, twice)
	}
	if got := s.sum(s.Workers, "bot_records_duplicate_total"); got != float64(twice) {
		t.Errorf("got %g records known by their ids, want %d", got, twice)
	}
}
