package replay_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
)

// counter is a bot that counts, fails on demand, and ignores edits.
type counter struct{}

func (b counter) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	if r.Record.Type == botmesh.TypeEdit {
		return botmesh.Outcome{Ignored: true, State: []byte("lost"), Sends: []botmesh.Send{{Text: "never"}}}, nil
	}
	switch r.Record.Message.Text {
	case "fail":
		if err := m.SendNow(ctx, botmesh.Send{Text: "working"}); err != nil {
			return botmesh.Outcome{}, err
		}
		if err := m.Keep(ctx, append(r.Kept, 'k')); err != nil {
			return botmesh.Outcome{}, err
		}
		if r.Try < 3 {
			return botmesh.Outcome{}, errors.New("not yet")
		}
		return botmesh.Outcome{State: r.State, Sends: []botmesh.Send{{Text: "kept " + string(r.Kept)}}}, nil
	case "poison":
		return botmesh.Outcome{}, errors.New("never")
	case "hang":
		<-ctx.Done()
		return botmesh.Outcome{}, ctx.Err()
	}
	n, _ := strconv.Atoi(string(r.State)) // nothing is zero
	s := strconv.Itoa(n + 1)
	return botmesh.Outcome{State: []byte(s), Sends: []botmesh.Send{{Text: r.Now.Format(time.DateOnly) + " count: " + s}}}, nil
}

var stored = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func entry(seq uint64, typ botmesh.RecordType, id, text string) journal.Entry {
	return journal.Entry{Record: botmesh.Record{
		Epoch: "e", Seq: seq, Stored: stored, Type: typ, ID: id, Message: botmesh.Message{Text: text},
	}}
}

// SPEC J7
func TestChatFollowsTheRulesOfAWorker(t *testing.T) {
	t.Parallel()
	unreadable := entry(7, botmesh.TypeMessage, "7", "")
	unreadable.Err = journal.ErrUnreadable
	chat := replay.New(replay.Config{Runner: counter{}, Tries: 4, Settle: 10 * time.Millisecond})
	type brief struct {
		Result replay.Result
		Tries  int
		Sends  []string
	}
	var got []brief
	for _, e := range []journal.Entry{
		entry(1, botmesh.TypeMessage, "1", "hi"),
		entry(2, botmesh.TypeMessage, "1", "hi"),
		entry(3, botmesh.TypeEdit, "3", "hi"),
		entry(4, botmesh.TypeMessage, "4", "fail"),
		entry(5, botmesh.TypeMessage, "5", "poison"),
		entry(6, botmesh.TypeMessage, "6", "hang"),
		unreadable,
		entry(8, botmesh.TypeMessage, "8", "hi"),
	} {
		step, err := chat.Next(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		b := brief{Result: step.Result, Tries: step.Tries}
		for _, s := range step.Sends {
			b.Sends = append(b.Sends, s.Text)
		}
		got = append(got, b)
	}
	want := []brief{
		{replay.Applied, 1, []string{"2030-01-02 count: 1"}},
		{replay.Duplicate, 0, nil},
		{replay.Ignored, 1, nil},
		{replay.Applied, 3, []string{"working", "kept kk"}},
		{replay.SetAside, 4, nil},
		{replay.SetAside, 4, nil},
		{replay.SetAside, 0, nil},
		{replay.Applied, 1, []string{"2030-01-02 count: 2"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("steps differ (-want +got):\n%s", d)
	}
	cp := chat.Checkpoint()
	if cp.Cursor != 8 || cp.Epoch != "e" || string(cp.State) != "2" || cp.During != nil {
		t.Errorf("got the checkpoint %+v, want cursor 8, state 2 and nothing during", cp)
	}
}

func TestChatStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	chat := replay.New(replay.Config{Runner: counter{}, Tries: 4, Settle: time.Minute})
	if _, err := chat.Next(ctx, entry(1, botmesh.TypeMessage, "1", "hang")); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
