package dispatcher_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// A chat that only a newer build can serve is given back, then parked where an operator
// sees it, and goes on when such a build is there, without anybody's help.
//
// DESIGN: N8. HOLE: H16.
func TestAChatOfANewerBuildIsParkedUntilOneComes(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		newer := w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.post("a", "one")
		w.settled(time.Minute)
		newer.drain()
		older := w.start(func(c *dispatcher.Config) { c.Deploy, c.ParkAfter = 1, 3*time.Minute })
		w.post("a", "two")
		w.post("b", "one")
		time.Sleep(2 * time.Minute)
		if got := older.d.Status().Parked; len(got) != 0 {
			t.Errorf("got %+v parked after two minutes, want none before three", got)
		}
		time.Sleep(2 * time.Minute)
		got := older.d.Status().Parked
		if len(got) != 1 || got[0].Chat != "fake/a" || time.Since(got[0].Since).Round(time.Minute) != 4*time.Minute {
			t.Errorf("got %+v parked, want fake/a, since four minutes", got)
		}
		w.judge("b", 1, false)
		w.judge("a", 1, false)
		w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.settled(20 * time.Minute) // also the older one may get its nudge a few times more
		w.judge("a", 2, false)
		w.waitFor(func() bool { return len(older.d.Status().Parked) == 0 })
	})
}

// A parked chat is parked no more when the journal has dropped what waited there, though
// nobody comes by with it.
func TestAParkedChatOfWhichNothingWaitsIsForgotten(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		older, _ := w.elder(func(c *dispatcher.Config) { c.Retention = 2 * 24 * time.Hour })
		w.post("a", "two")
		w.waitFor(func() bool { return len(older.d.Status().Parked) == 1 })
		w.stream("INBOX").(*jet.MemoryStream).Remove(2)
		time.Sleep(24 * time.Hour)
		if got := older.d.Status().Parked; len(got) != 1 {
			t.Errorf("got %+v parked after a day, want the chat for as long as its record may be there", got)
		}
		time.Sleep(25 * time.Hour)
		if got := older.d.Status().Parked; len(got) != 0 {
			t.Errorf("got %+v parked after two days, want none", got)
		}
	})
}

// during is a checkpoint store: something happens when a chat's checkpoint was read, before
// the answer is there.
type during struct {
	jet.Stream
	next *atomic.Pointer[func()]
}

func (d during) Last(ctx context.Context, subject string) (jet.Stored, error) {
	s, err := d.Stream.Last(ctx, subject)
	if strings.Contains(subject, key("a").Key()) {
		if f := d.next.Swap(nil); f != nil {
			(*f)()
		}
	}
	return s, err
}

// A chat that is served here while somebody looks whether it was elsewhere is parked no more.
func TestAParkedChatIsServedDuringALook(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		var next atomic.Pointer[func()]
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind == "CP" {
				return during{s, &next}
			}
			return s
		}
		older, _ := w.elder()
		w.post("a", "two")
		w.waitFor(func() bool { return len(older.d.Status().Parked) == 1 })
		w.stream("INBOX").(*jet.MemoryStream).Remove(2) // nobody comes by with it
		time.Sleep(time.Minute)
		looked := make(chan struct{})
		serve := func() {
			defer close(looked)
			w.post("a", "/cancel")
			w.settled(time.Minute)
		}
		next.Store(&serve)
		<-looked
		time.Sleep(time.Second)
		if got := older.d.Status().Parked; len(got) != 0 {
			t.Errorf("got %+v parked, want none", got)
		}
	})
}

// What leads out is looked for once, however many records are before it: each of them is
// read for its run, and for that look.
func TestTheWayOutBehindManyRecordsIsLookedForOnce(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.begun("a")
		const many = 640
		for range many {
			w.post("a", "?")
		}
		w.post("a", "/cancel")
		older, _ := w.elder()
		w.settled(10 * time.Minute)
		reads := 0
		for _, call := range older.gate.log() {
			if strings.HasPrefix(call, "inbox range") {
				reads++
			}
		}
		if want := 2*many/32 + 10; reads > want {
			t.Errorf("got %d reads of %d records, want at most %d", reads, many, want)
		}
		if got := w.platform.texts("a"); len(got) != 2 || got[1] != "cancelled" {
			t.Errorf("got %q, want the end of the conversation", got)
		}
	})
}

// While builds run beside each other, as in a deploy that takes its time, a chat that the
// newer one serves is none that waits for it: the older one, which is told of each message
// first here, gives it back for a moment, however long that goes on.
//
// DESIGN: N8. HOLE: H16.
func TestAChatThatANewerBuildServesIsNotParked(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		newer := w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.post("a", "one")
		w.settled(time.Minute)
		older := w.start(func(c *dispatcher.Config) { c.Deploy, c.ParkAfter = 1, 3*time.Minute })
		given := func() (n int) {
			for _, call := range older.gate.log() {
				if call == "nak" {
					n++
				}
			}
			return n
		}
		for n := range 10 {
			newer.gate.deafen()
			older.gate.hear()
			time.Sleep(time.Minute)
			before, posted := given(), time.Now()
			w.post("a", "more")
			w.waitFor(func() bool { return given() > before })
			older.gate.deafen()
			newer.gate.hear()
			w.waitFor(func() bool { return len(w.platform.texts("a")) == n+2 })
			if took := time.Since(posted); took > 15*time.Second {
				t.Fatalf("answer %d took %s, want it soon", n+2, took)
			}
			if got := older.d.Status().Parked; len(got) != 0 {
				t.Fatalf("got %+v parked after answer %d, want none of what is served", got, n+2)
			}
		}
	})
}

// So is a chat with a record that only a newer build can read: what is before it runs, what
// is behind it waits, and nothing is written meanwhile.
//
// DESIGN: N8.
func TestAChatWithARecordOfANewerBuildIsParked(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		older := w.start(func(c *dispatcher.Config) { c.ParkAfter = 3 * time.Minute })
		w.post("a", "one")
		_, err := w.stream("INBOX").Publish(t.Context(), jet.Publish{Msg: jet.Msg{
			Subject: "bot.in.demo." + key("a").Key(), Header: nats.Header{nats.MsgIdHdr: {"demo:fake:n"}, "Bot-Type": {"message"}}, Data: []byte(`{"v":99}`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		w.post("a", "two")
		time.Sleep(time.Minute)
		before := w.checkpoint("a")
		time.Sleep(time.Hour)
		if got := older.d.Status().Parked; len(got) != 1 || time.Since(got[0].Since) < time.Hour || !strings.Contains(got[0].Why, "99") {
			t.Errorf("got %+v parked, want the chat since the beginning, with the reason", got)
		}
		w.judge("a", 1, false)
		if now := w.checkpoint("a"); now.Fence != before.Fence || now.Cursor != 1 || len(w.dead()) != 0 {
			t.Errorf("got the checkpoint %+v, before that %+v, and dead letters %+v, want nothing written", now, before, w.dead())
		}
	})
}
