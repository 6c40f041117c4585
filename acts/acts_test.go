package acts_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
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
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(acts.Act{}, "At", "Seq")); diff != "" {
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

// The stream is lost and made anew: its messages count from one again, which is below
// what was read of the one before.
func TestAPauseOfAStreamThatWasMadeAnewIsHeeded(t *testing.T) {
	t.Parallel()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: natstest.Start(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	create := func() {
		if _, err := conn.JetStream().CreateStream(t.Context(), acts.Stream("demo", 1)); err != nil {
			t.Fatal(err)
		}
	}
	create()
	cfg := acts.PausesConfig{Config: acts.Config{Stream: conn.Stream(acts.StreamName("demo")), Bot: "demo"}}
	set := func(next acts.Pause) uint64 {
		is, err := mustOpen(t, cfg).Set(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		return is.Revision
	}
	revision := uint64(0)
	for _, on := range []bool{true, false, true} {
		revision = set(acts.Pause{Chat: chat, On: on, Revision: revision})
	}
	watcher := mustOpen(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := conn.JetStream().DeleteStream(t.Context(), acts.StreamName("demo")); err != nil {
		t.Fatal(err)
	}
	create()
	set(acts.Pause{Chat: other, On: true})
	deadline := time.After(30 * time.Second)
	for !watcher.Known(other).On || watcher.Known(chat).On {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("got %+v, want the one pause that the new stream has", watcher.Paused())
		}
	}
}

// mustOpen reads the pauses there are.
func mustOpen(t *testing.T, cfg acts.PausesConfig) *acts.Pauses {
	t.Helper()
	p, err := acts.OpenPauses(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A try had no answer and the next ones are refused: the act may be in the log.
func TestAnActThatMayBeLoggedIsUnknown(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	log, err := acts.NewLog(acts.Config{Bot: "demo", Stream: &jettest.Faulty{
		Stream: server.Stream(acts.StreamName("demo"), jet.MemoryConfig{}),
		Choose: func(jet.Publish) jettest.Fault {
			switch tries++; tries {
			case 1:
				return jettest.LostAnswer
			case 3:
				cancel()
			}
			return jettest.Refused
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(ctx, acts.Act{By: "ana", Verb: "chats pause", Chat: &chat}); !errors.Is(err, botmesh.ErrUnknown) {
		t.Errorf("got %v, want it unknown", err)
	}
}

// leaderless is a stream whose leader does not answer, while another replica does.
type leaderless struct{ jet.Stream }

func (leaderless) Get(context.Context, uint64) (jet.Stored, error) {
	return jet.Stored{}, botmesh.ErrRefused
}

func TestWhatCanNotBeReadForLongIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := jet.NewMemory()
		defer server.Close()
		var log bytes.Buffer
		stream := leaderless{server.Stream(acts.StreamName("demo"), jet.MemoryConfig{})}
		p := mustOpen(t, acts.PausesConfig{Config: acts.Config{Stream: stream, Bot: "demo"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if _, err := p.Set(t.Context(), acts.Pause{Chat: chat, On: true}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), "pauses can not be read"); got != 1 {
			t.Errorf("got %d warnings in a minute, want one:\n%s", got, log.String())
		}
	})
}
