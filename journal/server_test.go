package journal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natsd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/streams"
)

func dial(t *testing.T, url string) *jet.Conn {
	t.Helper()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	eventually(t, "a connection", func() bool { return conn.Healthy() == nil })
	return conn
}

// eventually waits for an observed condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("no %s within 20 s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// onServer makes the journal's streams as a program does and opens them.
func onServer(t *testing.T, conn *jet.Conn, s Sizing) *Journal {
	t.Helper()
	s.Bot = testBot
	if err := streams.Ensure(t.Context(), conn.JetStream(), streams.Create, Streams(s)); err != nil {
		t.Fatal(err)
	}
	return open(t, conn.Stream(InboxStream(testBot)), conn.Stream(DeadStream(testBot)))
}

// SPEC: J2 J9, DESIGN §3
func TestServerKeepsTheJournalsPromises(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	a := onServer(t, conn, Sizing{})
	b := open(t, conn.Stream(InboxStream(testBot)), conn.Stream(DeadStream(testBot)))
	if a.Epoch() != b.Epoch() || a.Epoch() == "" {
		t.Fatalf("epochs: got %q and %q, want one", a.Epoch(), b.Epoch())
	}
	long := botmesh.ChatKey{Provider: "telegram", Chat: strings.Repeat("ü ", 60), Participant: "p"}
	odd := botmesh.ChatKey{Provider: "telegram", Chat: "a.b.> *", Participant: "1"}
	for _, c := range []botmesh.ChatKey{chat("1"), long, odd} {
		first := mustPublish(t, a.Publisher, message(c, "id <\r\n> "+c.Chat[:1], "hi"))
		again := mustPublish(t, b.Publisher, message(c, "id <\r\n> "+c.Chat[:1], "hi"))
		if first.Duplicate || !again.Duplicate || again.Seq != first.Seq {
			t.Errorf("%s twice: got %+v and %+v, want one record", c, first, again)
		}
		entries, err := b.Read(t.Context(), c, 0, 10)
		if err != nil || len(entries) != 1 || entries[0].Err != nil {
			t.Fatalf("%s: got %v and %v, want one record", c, entries, err)
		}
		got := entries[0].Record
		if got.Chat != c || got.ID != "id <\r\n> "+c.Chat[:1] || got.Seq != first.Seq || got.Epoch != a.Epoch() || got.Stored.IsZero() {
			t.Errorf("got %+v, want the record of %s as it was", got, c)
		}
	}
	status := message(chat("1"), "s", "")
	status.Type = botmesh.TypeStatus
	mustPublish(t, a.Publisher, status)
	var seqs []uint64
	for _, n := range pullSome(t, a, 3) {
		seqs = append(seqs, n.Seq)
		if n.Chat == (botmesh.ChatKey{}) || n.ID == "" || n.Delivered != 1 {
			t.Errorf("got nudge %+v, want chat, id and one delivery", n)
		}
	}
	if want := []uint64{1, 2, 3}; !slices.Equal(seqs, want) {
		t.Errorf("nudges: got %v, want %v and no status", seqs, want)
	}
	nudges, err := conn.JetStream().Consumer(t.Context(), InboxStream(testBot), "nudges-"+a.Epoch())
	if err != nil {
		t.Fatal(err)
	}
	if got := nudges.CachedInfo().Config; !got.HeadersOnly || got.AckWait != 15*time.Second || got.MaxAckPending != -1 || got.MaxDeliver != -1 {
		t.Errorf("consumer: got %+v, want headers only and no limits", got) // DESIGN N1
	}
	if all, err := a.List(t.Context(), Filter{Since: time.Now().Add(-time.Hour)}); err != nil || len(all) != 3 {
		t.Errorf("list: got %d and %v, want 3", len(all), err)
	}
}

func pullSome(t *testing.T, j *Journal, n int) []Nudge {
	t.Helper()
	var of []Nudge
	if err := j.Pull(t.Context(), n, 5*time.Second, func(n Nudge) { of = append(of, n) }); err != nil {
		t.Error(err)
	}
	return of
}

// DESIGN N3, HOLE H18
func TestServerProvesAbsence(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	j := onServer(t, conn, Sizing{})
	for i := range 3 {
		mustPublish(t, j.Publisher, message(chat("1"), fmt.Sprint(i), "hi"))
	}
	s, err := conn.JetStream().Stream(t.Context(), InboxStream(testBot))
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{2, 3} {
		if err := s.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	for seq, want := range map[uint64]bool{1: true, 2: false, 3: false} {
		if there, err := j.Prove(t.Context(), chat("1"), seq); there != want || err != nil {
			t.Errorf("%d: got %v and %v, want %v", seq, there, err, want)
		}
	}
	if _, err := j.Prove(t.Context(), chat("1"), 4); !errors.Is(err, ErrNotProven) {
		t.Errorf("4: got %v, want ErrNotProven", err)
	}
}

// HOLE H6
func TestServerStreamMadeAgainHasAnotherEpoch(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	old := onServer(t, conn, Sizing{})
	mustPublish(t, old.Publisher, message(chat("1"), "1", "hi"))
	pullSome(t, old, 1)[0].Ack()
	if err := conn.JetStream().DeleteStream(t.Context(), InboxStream(testBot)); err != nil {
		t.Fatal(err)
	}
	renewed := onServer(t, conn, Sizing{})
	if renewed.Epoch() == old.Epoch() {
		t.Fatalf("epoch: got %q twice, want another", old.Epoch())
	}
	mustPublish(t, renewed.Publisher, message(chat("1"), "1", "hi"))
	if err := old.Pull(t.Context(), 1, time.Second, func(n Nudge) { t.Errorf("got nudge %+v of the old epoch", n) }); !errors.Is(err, ErrEpochChanged) {
		t.Errorf("got %v, want ErrEpochChanged", err)
	}
	if got := pullSome(t, renewed, 1); len(got) != 1 || got[0].Epoch != renewed.Epoch() || got[0].Seq != 1 {
		t.Errorf("got %+v, want the first record of the new epoch", got)
	}
}

// HOLE H17: a consumer that was deleted begins again at its floor, never at the end.
func TestServerConsumerDeletedUnderAPull(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	j := onServer(t, conn, Sizing{})
	for i := range 3 {
		mustPublish(t, j.Publisher, message(chat("1"), fmt.Sprint(i), "hi"))
	}
	for _, n := range pullSome(t, j, 2) {
		if err := n.Ack(); err != nil {
			t.Error(err)
		}
	}
	if err := conn.JetStream().DeleteConsumer(t.Context(), InboxStream(testBot), "nudges-"+j.Epoch()); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, j.Publisher, message(chat("1"), "3", "hi"))
	seen := map[uint64]bool{}
	eventually(t, "nudge of what was not acknowledged", func() bool {
		// An error means: try again.
		_ = j.Pull(t.Context(), 4, 50*time.Millisecond, func(n Nudge) { seen[n.Seq] = true })
		return seen[3] && seen[4]
	})
}

// SPEC: J1: a server that restarts under publishes loses and doubles nothing that
// was confirmed, and what was not is settled by the same call again.
func TestServerRestartsUnderPublishes(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	start := func() *natsd.Server {
		s, err := natsd.Start(t.Context(), natsd.Config{Dir: dir, Port: port})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	server := start()
	conn := dial(t, server.URL())
	j := onServer(t, conn, Sizing{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const chats, each = 8, 60
	var all sync.WaitGroup
	var published sync.WaitGroup // the first half of every chat
	published.Add(chats)
	for c := range chats {
		all.Go(func() {
			for i := range each {
				if i == each/2 {
					published.Done()
				}
				text := fmt.Sprint(i)
				if _, err := j.PublishAll(ctx, []botmesh.Record{message(chat(fmt.Sprint(c)), fmt.Sprint(c, "-", i), text)}); err != nil {
					t.Errorf("chat %d, record %d: %v", c, i, err)
					return
				}
			}
		})
	}
	published.Wait()
	server.Shutdown()
	server = start()
	t.Cleanup(func() { server.Shutdown() })
	all.Wait()
	for c := range chats {
		got := texts(t, j, chat(fmt.Sprint(c)), 0)
		var want []string
		for i := range each {
			want = append(want, fmt.Sprint(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("chat %d: got %q, want each once and in order", c, got)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestServerAwayIsNeverASuccess(t *testing.T) { // SPEC: J1
	t.Parallel()
	server, err := natsd.Start(t.Context(), natsd.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, server.URL())
	j := onServer(t, conn, Sizing{})
	server.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = j.Publish(ctx, message(chat("1"), "1", "hi"))
	if !errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, botmesh.ErrUnknown) {
		t.Errorf("got %v, want ErrRefused or ErrUnknown", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want it to say that the time was up", err)
	}
}

// What the streams promise is what the server keeps.
func TestServerTakesTheStreams(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	onServer(t, conn, Sizing{Retention: time.Hour, Duplicates: 100 * time.Millisecond})
	inbox, err := conn.JetStream().Stream(t.Context(), InboxStream(testBot))
	if err != nil {
		t.Fatal(err)
	}
	got := inbox.CachedInfo().Config
	if got.Retention != jetstream.LimitsPolicy || got.MaxAge != time.Hour || got.Duplicates != 100*time.Millisecond || got.MaxBytes != -1 ||
		got.MaxMsgs != -1 || got.MaxMsgsPerSubject != -1 || !got.AllowDirect || !got.AllowMsgTTL || !got.AllowMsgSchedules {
		t.Errorf("inbox: got %+v", got)
	}
	dead, err := conn.JetStream().Stream(t.Context(), DeadStream(testBot))
	if err != nil {
		t.Fatal(err)
	}
	if got := dead.CachedInfo().Config; got.Discard != jetstream.DiscardNew || got.MaxAge != 30*24*time.Hour {
		t.Errorf("dead letters: got %+v", got)
	}
}
