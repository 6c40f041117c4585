package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// A worker of an older deploy must not run a chat whose checkpoint is a newer
// deploy's, also when the chat's next message comes to it.
//
// DESIGN: N8.
func TestAnOlderDeployRunsNothing(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		newer := w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.post("a", "one")
		w.settled(time.Minute)
		newer.drain()
		var ran list[string]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			ran.add(fmt.Sprintf("%s at %d, state %q", r.Record.ID, r.Record.Seq, r.State))
			return o, nil
		}
		w.start(func(c *dispatcher.Config) { c.Deploy = 1 })
		w.post("a", "two")
		time.Sleep(time.Second)
		w.post("a", "three")
		time.Sleep(time.Second)
		if got := ran.all(); len(got) > 0 {
			t.Errorf("the older deploy ran %v, want nothing", got)
		}
		w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 3 })
	})
}

// A burst over the lane's bound is drained in one go: the lane was told of all of it.
//
// DESIGN: N4.
func TestABurstOverTheLanesBoundIsDrainedInOneGo(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		for range 200 {
			w.post("a", "x")
		}
		began := time.Now()
		w.start()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 200 })
		if took := time.Since(began); took > lease/3 {
			t.Errorf("200 waiting messages of one chat took %s with a bot and a platform that take no time", took)
		}
	})
}

// skewed is a stream whose server's clock was set back before a sequence.
type skewed struct {
	jet.Stream
	from uint64
	by   time.Duration
}

func (s skewed) at(m jet.Stored) jet.Stored {
	if m.Seq >= s.from {
		m.Time = m.Time.Add(-s.by)
	}
	return m
}

func (s skewed) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	ms, err := s.Stream.Range(ctx, subject, from, limit)
	for i := range ms {
		ms[i] = s.at(ms[i])
	}
	return ms, err
}

func (s skewed) Get(ctx context.Context, seq uint64) (jet.Stored, error) {
	m, err := s.Stream.Get(ctx, seq)
	return s.at(m), err
}

func (s skewed) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	m, err := s.Stream.Next(ctx, subject, from)
	return s.at(m), err
}

func (s skewed) Consumer(ctx context.Context, cfg jet.ConsumerConfig) (jet.Consumer, error) {
	c, err := s.Stream.Consumer(ctx, cfg)
	return skewedConsumer{c, s}, err
}

type skewedConsumer struct {
	jet.Consumer
	s skewed
}

func (c skewedConsumer) Pull(ctx context.Context, limit int, wait time.Duration, each func(jet.Delivery)) error {
	return c.Consumer.Pull(ctx, limit, wait, func(d jet.Delivery) {
		d.Stored = c.s.at(d.Stored)
		each(d)
	})
}

// The journal's server sets its clock back by two seconds (or another server, whose
// clock is behind, becomes the leader): an applied record that is nudged again is not
// taken for a journal that went back, and holds up nobody.
//
// HOLE: H6.
func TestAServersClockThatStepsBackIsNoJournalThatWentBack(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.wrap = func(kind string, s jet.Stream) jet.Stream {
			if kind == "INBOX" {
				return skewed{s, 2, 2 * time.Second}
			}
			return s
		}
		a := w.start()
		// The acknowledgement of the first record is lost, and the replica stops later.
		lost := 0
		a.gate.set(func(_ int, call string) verdict {
			if call == "ack" {
				lost++
				if lost <= 2 {
					return drop
				}
			}
			return pass
		})
		w.post("a", "one")
		w.post("a", "two")
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 2 })
		w.settled(10 * time.Minute)
	})
}

// Two chats whose keys begin alike, over 150 bytes, are both swept.
//
// DESIGN: C5.
func TestLongKeysThatBeginAlikeAreBothSwept(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		long := strings.Repeat("x", 147)
		w.platform.rule = func(string, string, int) error { return provider.Retry(errNo, time.Hour) }
		a := w.start()
		for _, c := range []string{long + "-a", long + "-b"} {
			w.post(c, "one")
		}
		time.Sleep(time.Minute)
		a.drain()
		w.platform.rule = nil
		w.recreate("e2")
		w.start()
		time.Sleep(3 * time.Hour)
		for _, c := range []string{long + "-a", long + "-b"} {
			if got := w.platform.texts(c); len(got) != 1 {
				t.Errorf("...%s got %v, want its answer after the journal was made anew", c[147:], got)
			}
		}
	})
}

// A state that leaves no room to note that a run failed is itself a failed run: the
// chat goes on without it.
//
// HOLE: H13.
func TestAStateThatLeavesNoRoomIsAFailedTry(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text == "large" {
				o.State = []byte(strings.Repeat("1", 775_000)) // in base64 just below the server's 1 MiB
			}
			return o, nil
		}
		w.start()
		w.post("a", "large")
		w.post("a", "one")
		w.settled(2 * time.Minute)
		w.judge("a", 1, false)
		dead := w.dead()
		if len(dead) != 1 || !strings.Contains(dead[0].Error, "too large") {
			t.Errorf("got dead letters %+v, want the one that was too large", dead)
		}
	})
}

// A journal that went back, such as one restored from an older backup: its new
// records stand below the chat's cursor. They are neither run nor acknowledged, also
// the first time they are handed out; only an operator can tell what they are.
//
// HOLE: H6.
func TestAJournalThatWentBackIsNeitherRunNorAcknowledged(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		r := w.start()
		w.post("a", "one")
		w.settled(time.Minute)
		r.drain()
		cp := w.checkpoint("a")
		cp.Cursor = 9000 // as it was before the journal was restored
		value, err := cp.Encode()
		if err != nil {
			t.Fatal(err)
		}
		row, err := natsRow(t, w, "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Swap(t.Context(), key("a").Key(), row, value, "operator", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		late := w.start()
		w.post("a", "two")
		time.Sleep(10 * time.Minute)
		for _, call := range late.gate.log() {
			if call == "ack" {
				t.Fatalf("a record of a journal that went back was acknowledged: %v", late.gate.log())
			}
		}
		w.judge("a", 1, false)
	})
}
