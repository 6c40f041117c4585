package workerd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// dice is a bot that counts what a user writes and says something else each time. Its
// alarm goes off in an hour.
type dice struct{}

func (dice) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	if r.Record.Type != botmesh.TypeMessage {
		return botmesh.Outcome{Ignored: true}, nil
	}
	if err := m.SendNow(ctx, botmesh.Send{Text: "rolling " + rand.Text()}); err != nil {
		return botmesh.Outcome{}, err
	}
	state := append(r.State, '.')
	o := botmesh.Outcome{State: state, Sends: []botmesh.Send{{Text: fmt.Sprint(len(state), " ", rand.Text())}}}
	if len(state) == 1 {
		o.Arm = []botmesh.Timer{{Name: "alarm", At: r.Now.Add(time.Hour)}}
	}
	return o, nil
}

// dump is all that a stream holds of a subject, byte for byte.
func dump(t *testing.T, s jetstream.Stream, subject string) (all []string) {
	t.Helper()
	for seq := uint64(1); ; {
		m, err := s.GetMsg(t.Context(), seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(m.Sequence, m.Time, m.Subject, m.Header, string(m.Data)))
		seq = m.Sequence + 1
	}
}

// said waits until the chat 5 was told n messages.
func (f *fleet) said(t *testing.T, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := f.telegram.Wait(ctx, "5", n); err != nil {
		t.Fatalf("got %q, want %d messages: %v", f.telegram.Texts("5"), n, err)
	}
	return f.telegram.Texts("5")
}

func (f *fleet) jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(f.nats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// A chat whose checkpoint is lost has it back, of a bot that says something else each
// time: the outbox stays byte for byte as it was, and the next message goes on with what
// the chat remembered. A chat that has one is refused.
//
// SPEC: J7
func TestALostCheckpointIsRebuilt(t *testing.T) {
	t.Parallel()
	f := startFleetOf(t, dice{}, "BOTMESH_ADMIN_TOKEN="+adminToken)
	for n := range int64(3) {
		f.post(t, telegramtest.Text(n+1, 5, "roll"))
	}
	f.said(t, 6)
	f.atRest(t, "5")
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "5"}
	rebuild := func(o replay.Order) (replay.Rebuilt, error) {
		o.Chat = chat
		return newWorkerOf(t, f.settings, dice{}).Rebuild(t.Context(), "ana", o)
	}
	if _, err := rebuild(replay.Order{}); !errors.Is(err, replay.ErrExists) {
		t.Errorf("with a checkpoint: got %v, want that it is there", err)
	}

	js := f.jetStream(t)
	checkpoints, err := js.Stream(t.Context(), "KV_BOT_demo_CP")
	if err != nil {
		t.Fatal(err)
	}
	lose := func() {
		t.Helper()
		if err := checkpoints.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.BOT_demo_CP."+chat.Key())); err != nil {
			t.Fatal(err)
		}
	}
	lose()
	outbox, err := js.Stream(t.Context(), "BOT_demo_OUTBOX")
	if err != nil {
		t.Fatal(err)
	}
	before := dump(t, outbox, ">")
	is, err := rebuild(replay.Order{Dry: true})
	is.Cursor, is.Since = 0, time.Time{} // an alarm has a place in the journal, too
	if want := (replay.Rebuilt{Records: 3, Timers: 1, Waits: true}); err != nil || is != want {
		t.Errorf("dry: got %+v, %v, want %+v", is, err, want)
	}
	if is, err = rebuild(replay.Order{}); err != nil || is.Revision == 0 {
		t.Fatalf("got %+v, %v, want it rebuilt", is, err)
	}
	f.post(t, telegramtest.Text(4, 5, "roll"))
	texts := f.said(t, 8)
	if !strings.HasPrefix(texts[7], "4 ") {
		t.Errorf("got %q, want the fourth in a row", texts[7])
	}
	f.atRest(t, "5")
	after := dump(t, outbox, ">")
	if diff := cmp.Diff(before, after[:min(len(before), len(after))]); diff != "" {
		t.Errorf("what the outbox held (-before +after):\n%s", diff)
	}
	if got := len(f.telegram.Texts("5")); got != 8 {
		t.Errorf("got %d messages, want 8: none again", got)
	}
	if _, text := f.timeline(t, "5", ""); !strings.Contains(text, `"rebuild"`) {
		t.Errorf("the timeline does not have the rebuild: %s", text)
	}

	lose()
	inbox, err := js.Stream(t.Context(), "BOT_demo_INBOX")
	if err != nil {
		t.Fatal(err)
	}
	if err := inbox.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := rebuild(replay.Order{}); !errors.Is(err, replay.ErrPartial) {
		t.Errorf("without the first record: got %v, want that it is gone", err)
	}
	if is, err := rebuild(replay.Order{Partial: true}); err != nil || is.Records != 3 || is.Revision == 0 {
		t.Errorf("of what is left: got %+v, %v, want it rebuilt of three records", is, err)
	}
}

// A command does not wait for servers that are away for as long as a worker does, and says
// which they are.
func TestACommandSaysWhoDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	w := newWorkerOf(t, settings(t, "BOTMESH_NATS_URL=nats://127.0.0.1:1"), dice{})
	err := w.Against(ctx, nil, 1, func(replay.Compared) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "nats://127.0.0.1:1 does not answer") || !strings.Contains(err.Error(), "BOTMESH_NATS_URL") {
		t.Errorf("got %v, want who does not answer, and the setting", err)
	}
}
