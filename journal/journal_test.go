package journal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Bot: "Demo", AckWait: -1})
	if got, want := len(unwrap(err)), 2; err == nil || got != want {
		t.Errorf("got %v, want %d joined problems", err, want)
	}
	server := jet.NewMemory()
	_, err = Open(t.Context(), Config{
		Bot:   testBot,
		Inbox: server.Stream(InboxStream(testBot), jet.MemoryConfig{}),
		Dead:  server.Stream(DeadStream(testBot), jet.MemoryConfig{}),
	})
	if err == nil {
		t.Error("a stream without epoch: got no error")
	}
}

func unwrap(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return nil
}

// DESIGN N3: a lagging replica holds a prefix.
func TestReadIsAPrefix(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	for _, id := range []string{"1", "2", "3", "4"} {
		mustPublish(t, j.Publisher, message(chat("1"), id, id))
		mustPublish(t, j.Publisher, message(chat("2"), "other"+id, id))
	}
	if got, want := texts(t, j, chat("1"), 0), []string{"1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := texts(t, j, chat("1"), 3), []string{"3", "4"}; !slices.Equal(got, want) {
		t.Errorf("after 3: got %q, want %q", got, want)
	}
	f := &faulty{Stream: j.inbox}
	f.rangeOf = func(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
		return f.Stream.Range(ctx, subject, from, min(limit, 2)) // two records behind
	}
	j.inbox = f
	if got, want := texts(t, j, chat("1"), 0), []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("lagging: got %q, want %q", got, want)
	}
}

func TestAnUnreadableRecordKeepsItsPlace(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	mustPublish(t, j.Publisher, message(chat("1"), "1", "a"))
	m, err := encode(testBot, message(chat("1"), "2", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"garbage", `{"v":99}`} {
		m.Data = []byte(data)
		m.Header.Set(headerMsgID, "demo:telegram:"+data[:3])
		if _, err := j.inbox.Publish(t.Context(), jet.Publish{Msg: m}); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, j.Publisher, message(chat("1"), "4", "d"))
	entries, err := j.Read(t.Context(), chat("1"), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []error{nil, ErrUnreadable, ErrNewer, nil}
	if len(entries) != len(want) {
		t.Fatalf("got %d entries, want %d", len(entries), len(want))
	}
	for i, e := range entries {
		if !errors.Is(e.Err, want[i]) || e.Record.Seq != uint64(i+1) || e.Record.Chat != chat("1") {
			t.Errorf("entry %d: got %d of %s and %v, want %v", i, e.Record.Seq, e.Record.Chat, e.Err, want[i])
		}
	}
}

// DESIGN N3, HOLE H18
func TestAbsenceIsBelievedOnlyWhenProven(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	j := openMemory(t, server, "e1")
	stream := server.Stream(InboxStream(testBot), jet.MemoryConfig{})
	for _, id := range []string{"1", "2", "3"} {
		mustPublish(t, j.Publisher, message(chat("1"), id, id))
	}
	mustPublish(t, j.Publisher, message(chat("2"), "4", "4"))
	mustPublish(t, j.Publisher, message(chat("1"), "5", "5"))
	for _, seq := range []uint64{2, 3, 5} {
		stream.Remove(seq)
	}
	lagging := &faulty{Stream: stream, // the leader has not applied 1 and says so
		next: func(context.Context, string, uint64) (jet.Stored, error) { return jet.Stored{}, botmesh.ErrNotFound },
		info: func(context.Context) (jet.Info, error) {
			return jet.Info{Metadata: map[string]string{epochKey: "e1"}}, nil
		},
	}
	down := &faulty{Stream: stream, next: func(context.Context, string, uint64) (jet.Stored, error) {
		return jet.Stored{}, botmesh.ErrRefused
	}}
	replaced := &faulty{Stream: stream, info: func(context.Context) (jet.Info, error) {
		return jet.Info{LastSeq: 9, Metadata: map[string]string{epochKey: "e2"}}, nil
	}}
	// The record is applied between two questions: not there, then the stream
	// reaches so far. Only a question asked after that counts.
	asked := 0
	racing := &faulty{Stream: stream}
	racing.next = func(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
		if asked++; asked == 1 {
			return jet.Stored{}, botmesh.ErrNotFound
		}
		return stream.Next(ctx, subject, from)
	}
	for name, c := range map[string]struct {
		inbox jet.Stream
		seq   uint64
		there bool
		want  error
	}{
		"there":                 {inbox: stream, seq: 1, there: true},
		"deleted":               {inbox: stream, seq: 2},
		"deleted at the end":    {inbox: stream, seq: 5},
		"beyond the end":        {inbox: stream, seq: 6, want: ErrNotProven},
		"another chat's":        {inbox: stream, seq: 4, want: ErrEpochChanged},
		"leader behind":         {inbox: lagging, seq: 1, want: ErrNotProven},
		"leader away":           {inbox: down, seq: 1, want: botmesh.ErrRefused},
		"stream replaced":       {inbox: replaced, seq: 5, want: ErrEpochChanged},
		"applied while proving": {inbox: racing, seq: 1, there: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := &Journal{Publisher: &Publisher{bot: testBot, inbox: c.inbox}, epoch: "e1"}
			there, err := look.Prove(t.Context(), chat("1"), c.seq)
			if there != c.there || !errors.Is(err, c.want) {
				t.Errorf("got %v and %v, want %v and %v", there, err, c.there, c.want)
			}
		})
	}
}

func TestNudgesReachOneOfManyAndComeAgain(t *testing.T) { // SPEC: J6
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := jet.NewMemory()
		a, b := openMemory(t, server, "e1"), openMemory(t, server, "e1")
		long := botmesh.ChatKey{Provider: "telegram", Chat: string(make([]byte, 200))}
		mustPublish(t, a.Publisher, message(chat("1"), "1", "hi"))
		mustPublish(t, a.Publisher, message(long, "2", "hi"))
		status := message(chat("1"), "3", "")
		status.Type = botmesh.TypeStatus
		mustPublish(t, a.Publisher, status) // HOLE H21: never a nudge
		got := pullAll(t, a)
		if len(got) != 2 || got[0].Chat != chat("1") || got[1].Chat != long || got[0].ID != "1" || got[0].Epoch != "e1" || got[0].Seq != 1 {
			t.Fatalf("got %+v, want the two records", got)
		}
		if again := pullAll(t, b); len(again) != 0 {
			t.Errorf("another process: got %d nudges, want none while they are out", len(again))
		}
		if err := got[0].Ack(); err != nil {
			t.Error(err)
		}
		pass(16 * time.Second) // AckWait is 15 s
		again := pullAll(t, b)
		if len(again) != 1 || again[0].Seq != 2 || again[0].Delivered != 2 {
			t.Fatalf("after AckWait: got %+v, want the second record again", again)
		}
		if err := again[0].Nak(time.Minute); err != nil {
			t.Error(err)
		}
		pass(30 * time.Second)
		if early := pullAll(t, b); len(early) != 0 {
			t.Errorf("before its time: got %+v, want none", early)
		}
		if err := got[1].Ack(); err != nil { // late, of the first delivery
			t.Error(err)
		}
		pass(time.Minute)
		if late := pullAll(t, b); len(late) != 0 {
			t.Errorf("settled by a late Ack: got %+v, want none", late)
		}
		if waiting, out, err := a.Pending(t.Context()); waiting != 0 || out != 0 || err != nil {
			t.Errorf("pending: got %d, %d and %v, want none", waiting, out, err)
		}
	})
}

func pullAll(t *testing.T, j *Journal) []Nudge {
	t.Helper()
	var of []Nudge
	if err := j.Pull(t.Context(), 100, 10*time.Millisecond, func(n Nudge) { of = append(of, n) }); err != nil {
		t.Error(err)
	}
	return of
}

// HOLE H6
func TestAPullThatFailsLooksAtTheEpoch(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	j := openMemory(t, server, "e1")
	epoch, known := "e1", error(nil)
	j.inbox = &faulty{Stream: j.inbox, info: func(context.Context) (jet.Info, error) {
		return jet.Info{Metadata: map[string]string{epochKey: epoch}}, known
	}}
	pullAll(t, j)
	server.Close() // every pull fails from now on
	pull := func() error { return j.Pull(t.Context(), 1, time.Millisecond, func(Nudge) {}) }
	if err := pull(); err == nil || errors.Is(err, ErrEpochChanged) {
		t.Errorf("same epoch: got %v, want another error", err)
	}
	epoch = "e2"
	if err := pull(); !errors.Is(err, ErrEpochChanged) {
		t.Errorf("another epoch: got %v, want ErrEpochChanged", err)
	}
	known = botmesh.ErrRefused
	if err := pull(); err == nil || errors.Is(err, ErrEpochChanged) {
		t.Errorf("nobody can say: got %v, want another error", err)
	}
}

func TestWhatNamesNoChatIsSetAside(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	for _, subject := range []string{"bot.in.demo.telegram.=hdeadbeef", "bot.in.demo.x"} {
		odd := jet.Msg{Subject: subject, Data: []byte("what is this")}
		if _, err := j.inbox.Publish(t.Context(), jet.Publish{Msg: odd}); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, j.Publisher, message(chat("1"), "1", "hi"))
	if got := pullAll(t, j); len(got) != 1 || got[0].Chat != chat("1") {
		t.Errorf("got %+v, want the record alone", got)
	}
	if _, out, err := j.Pending(t.Context()); out != 1 || err != nil {
		t.Errorf("got %d unsettled and %v, want the record alone", out, err)
	}
	letters, err := j.DeadLetters(t.Context(), Filter{})
	if err != nil || len(letters) != 2 {
		t.Fatalf("got %d dead letters and %v, want 2", len(letters), err)
	}
	for i, l := range letters {
		if !errors.Is(l.Entry.Err, ErrUnreadable) || l.Entry.Record.Seq != uint64(i+1) || l.Error == "" {
			t.Errorf("got %+v, want record %d with its error", l, i+1)
		}
	}
}

// Who looks at a backlog learns since when its first record waits, of those that are not
// settled, and nothing where none waits.
func TestBacklogSaysSinceWhenTheOldestWaits(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	if b, err := j.Backlog(t.Context()); !errors.Is(err, botmesh.ErrNotFound) {
		t.Errorf("got %+v, %v before anybody pulled, want ErrNotFound", b, err)
	}
	mustPublish(t, j.Publisher, message(chat("1"), "1", "one"))
	mustPublish(t, j.Publisher, message(chat("2"), "2", "two"))
	nudges := pullAll(t, j)
	for settled := range len(nudges) {
		b, err := j.Backlog(t.Context())
		if err != nil || !b.Oldest.Equal(nudges[settled].Stored) || b.Unsettled != uint64(2-settled) {
			t.Errorf("with %d settled: got %+v, %v, want the oldest since %v", settled, b, err, nudges[settled].Stored)
		}
		if err := nudges[settled].Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := j.Backlog(t.Context()); err != nil || !b.Oldest.IsZero() {
		t.Errorf("with all settled: got %+v, %v, want no oldest", b, err)
	}
}
