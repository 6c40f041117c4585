package acts_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	chat  = botmesh.ChatKey{Provider: "telegram", Chat: "7"}
	other = botmesh.ChatKey{Provider: "telegram", Chat: "8"}
)

// stream is the bot's on a real server.
func stream(t *testing.T) acts.Config {
	t.Helper()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: natstest.Start(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if _, err := conn.JetStream().CreateStream(t.Context(), acts.Stream("demo", 1)); err != nil {
		t.Fatal(err)
	}
	return acts.Config{Stream: conn.Stream(acts.StreamName("demo")), Bot: "demo"}
}

func TestTheLogKeepsWhatWasDoneInOrder(t *testing.T) {
	t.Parallel()
	log, err := acts.NewLog(stream(t))
	if err != nil {
		t.Fatal(err)
	}
	var want []acts.Act
	for _, a := range []acts.Act{
		{By: "ana", Verb: "chats pause", Chat: &chat},
		{By: "bo", Verb: "leases break", Of: "lead provider:x"},
		{ID: "same", By: "ana", Verb: "chats resume", Chat: &chat},
		{ID: "same", By: "ana", Verb: "chats resume", Chat: &chat}, // repeated since an answer was lost
		{By: "ana", Verb: "chats pause", Chat: &other},
	} {
		a, err := log.Write(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || want[len(want)-1].ID != a.ID {
			want = append(want, a)
		}
	}
	for _, c := range []struct {
		of   *botmesh.ChatKey
		want []acts.Act
	}{{nil, want}, {&chat, []acts.Act{want[0], want[2]}}, {&other, want[3:]}} {
		got, err := log.List(t.Context(), c.of, jet.Window{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(acts.Act{}, "At")); diff != "" {
			t.Errorf("acts of %v (-want +got):\n%s", c.of, diff)
		}
	}
}

// DESIGN N9: every process knows of a pause soon, and one that starts knows at once.
func TestAPauseIsKnownEverywhereAndAfterARestart(t *testing.T) {
	t.Parallel()
	cfg := stream(t)
	open := func() *acts.Pauses {
		p, err := acts.OpenPauses(t.Context(), acts.PausesConfig{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := open(), open()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	set, err := a.Set(t.Context(), acts.Pause{ID: "1", Chat: chat, On: true, By: "ana", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the other process knows", func() bool { return b.Known(chat).StopsTurns() })
	if got := open().Paused(); len(got) != 1 || got[0].Chat != chat {
		t.Errorf("a process that starts: got %+v, want the pause", got)
	}
	if _, err := b.Set(t.Context(), acts.Pause{Chat: chat, On: true}); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("a second pause: got %v, want a conflict", err)
	}
	set.On, set.Epoch, set.Through, set.Keep = false, "e", 9, 7
	if _, err := a.Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the other process knows it is over", func() bool { return !b.Known(chat).On })
	for seq, want := range map[uint64]bool{6: true, 7: false, 9: true, 10: false} {
		if got := b.Known(chat).PassesOver("e", seq); got != want {
			t.Errorf("passes over %d: got %v, want %v", seq, got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("after the end: got %v, want no error", err)
	}
}

// A chat that was resumed stays so: nothing that is left of its pause ages before the
// pause itself does.
func TestAPauseThatEndedStaysEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := jet.NewMemory()
		defer server.Close()
		cfg := acts.PausesConfig{Config: acts.Config{Stream: server.Stream(acts.StreamName("demo"), jet.MemoryConfig{}), Bot: "demo"}}
		p, err := acts.OpenPauses(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		pause, err := p.Set(t.Context(), acts.Pause{ID: "1", Chat: chat, On: true})
		if err != nil {
			t.Fatal(err)
		}
		pause.On, pause.How, pause.Epoch, pause.Through = false, "skip", "e", 9
		if pause, err = p.Set(t.Context(), pause); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * 365 * 24 * time.Hour)
		if got, err := p.Get(t.Context(), chat); err != nil || got != pause {
			t.Errorf("after ten years: got %+v, %v, want %+v", got, err, pause)
		}
		again, err := acts.OpenPauses(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Known(chat); got != pause {
			t.Errorf("a process that starts after ten years: got %+v, want %+v", got, pause)
		}
	})
}
